// Points of cuda_filter in an order in which each group lies close together, and the boxes around the groups: pairs of
// groups that are out of reach of each other are passed over.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/arena.hpp"
#include "cuda/stream.hpp"

namespace gradus::pair_histogram_detail {

/// The box around the points of a group, in cells of the bins.
struct GroupBox {
  float4 middle;
  float4 half;  ///< extents
};

/// Points in groups of filter_group_points; the last group is filled up.
struct GroupedPoints {
  const float4* places = nullptr;
  const int* order = nullptr;       ///< row of a place, or null: the place itself
  const GroupBox* boxes = nullptr;  ///< of the groups, or null: nothing is known of them
};

/// Sorts `count` places, which lie within `half` of zero in each column, along a curve through space. What they need on
/// the GPU is group_bytes(); where the library that sorts wants more, they stay in their order.
GroupedPoints group_places(const float4* places, std::int64_t count, float half, cuda::Arena& memory,
                           const cuda::Stream& stream);

}  // namespace gradus::pair_histogram_detail
