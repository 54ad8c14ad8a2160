// Limits that all GPU variants share.
#pragma once

#include <cstdint>
#include <limits>

namespace gradus::kmeans_detail {

/// The largest number of points of a GPU variant, because kernels number points by 32 bits. A call for more points runs
/// in parts (api/on_gpus.hpp).
inline constexpr std::int64_t most_points_on_gpu = std::numeric_limits<std::int32_t>::max();

}  // namespace gradus::kmeans_detail
