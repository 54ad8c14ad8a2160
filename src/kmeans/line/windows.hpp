// Proves where the borders of the best clustering can be.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "kmeans/line/values.hpp"

namespace gradus::kmeans_detail {

/// The positions that a border may have: first to last.
struct LineWindow {
  std::int32_t first = 0;
  std::int32_t last = 0;

  std::int64_t size() const { return std::int64_t{last} - first + 1; }
};

/// Returns a window for each of the borders 0 to `clusters`. Border 0 is at 0, and the last one at the number of
/// groups. The windows contain the borders of every best clustering.
std::vector<LineWindow> border_windows(const LineSums& sums, std::int64_t clusters, const std::stop_token& stop);

}  // namespace gradus::kmeans_detail
