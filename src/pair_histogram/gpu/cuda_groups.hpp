// Sorts points into compact groups with bounding boxes for cuda_filter, which skips pairs of distant groups.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/arena.hpp"
#include "cuda/stream.hpp"

namespace gradus::pair_histogram_detail {

/// The bounding box of a group's points, in units of the plan's cells.
struct GroupBox {
  float4 middle;
  float4 half;  ///< half of the box's extents
};

/// Points in groups of filter_group_points points. The last group is padded.
struct GroupedPoints {
  const float4* places = nullptr;
  const int* order = nullptr;       ///< for each place, the row of its point; null if place and row are equal
  const GroupBox* boxes = nullptr;  ///< the boxes of the groups; null if they were not computed
};

/// Sorts `count` places along a space-filling curve. All coordinates must be within [-half, half]. Uses group_bytes()
/// of device memory. If the sort library needs more than that, the places keep their order.
GroupedPoints group_places(const float4* places, std::int64_t count, float half, cuda::Arena& memory,
                           const cuda::Stream& stream);

}  // namespace gradus::pair_histogram_detail
