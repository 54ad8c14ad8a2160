// For cuda_filter: sorts points into compact groups with bounding boxes, so that pairs of distant groups can be
// skipped.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/arena.hpp"
#include "cuda/stream.hpp"

namespace gradus::pair_histogram_detail {

/// The bounding box of a group's points, in the plan's cells.
struct GroupBox {
  float4 middle;
  float4 half;  ///< half extents
};

/// Points in groups of filter_group_points. The last group is padded.
struct GroupedPoints {
  const float4* places = nullptr;
  const int* order = nullptr;       ///< row of each place; null: place and row are equal
  const GroupBox* boxes = nullptr;  ///< of the groups; null: not computed
};

/// Sorts `count` places along a space-filling curve. All coordinates must be within [-half, half]. Uses group_bytes()
/// of device memory; if the sort library needs more, the places keep their order.
GroupedPoints group_places(const float4* places, std::int64_t count, float half, cuda::Arena& memory,
                           const cuda::Stream& stream);

}  // namespace gradus::pair_histogram_detail
