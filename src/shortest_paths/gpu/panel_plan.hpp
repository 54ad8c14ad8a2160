// Divides a graph into the pieces that cuda_panels keeps on a GPU. The table and the variant use the plan. This header
// is plain C++, without CUDA.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/sizes.hpp"

namespace gradus::shortest_paths_detail {

struct PanelPlan {
  std::int64_t pivot = 0;  ///< number of intermediate vertices in a round; 0 if not even the smallest round fits
  std::int64_t slab = 0;   ///< number of rows that are transferred at a time
  std::int64_t chunk = 0;  ///< number of columns of the pivot's rows that are relaxed at a time
  std::uint64_t bytes = 0;
};

/// All sizes of the plan and the sides of all matrices on the GPU are multiples of this number.
inline constexpr std::int64_t panel_granule = 256;
/// Number of intermediate vertices per round while the pivot itself is closed.
inline constexpr int panel_closing_depth = 64;

constexpr std::uint64_t panel_shared_bytes(int element_bytes) {
  return std::uint64_t{element_bytes == 8 ? 96U : 64U} << 10;
}

/// Returns the greatest number of vertices that a pivot may have on a GPU. A deeper pivot needs fewer transfers of the
/// matrix, but closing the pivot's rows takes longer. Closing the rows of the greatest pivot takes about 0.2 s on an
/// H200, and a stop request has no effect during that time.
inline std::int64_t deepest_pivot(int multiprocessors) {
  return std::clamp<std::int64_t>(std::int64_t{multiprocessors} * 62 / panel_granule, 1, 32) * panel_granule;
}

inline PanelPlan panels_of(std::int64_t n, int element_bytes, std::int64_t pivot) {
  const auto element = static_cast<std::size_t>(element_bytes);
  const std::int64_t side = (n + panel_granule - 1) / panel_granule * panel_granule;
  PanelPlan plan;
  plan.pivot = pivot;
  plan.slab = std::clamp<std::int64_t>(pivot / 4 / panel_granule, 1, 8) * panel_granule;
  plan.chunk = std::min(side, 2 * plan.slab);
  plan.bytes = 2 * cuda::part_bytes(pivot * side, element) +                 // rows of this pivot and the next
               cuda::part_bytes(pivot * pivot, element) +                    // the pivot
               4 * cuda::part_bytes(panel_closing_depth * pivot, element) +  // work space for closing the pivot
               cuda::part_bytes(pivot * plan.chunk, element) +               // previous values of the pivot's rows
               cuda::part_bytes(pivot * plan.slab, element) +                // columns of a slab, transposed
               cuda::part_bytes(plan.slab * side, element) +                 // rows of the slab
               // Two slabs in the host's form, which are being transferred.
               2 * cuda::part_bytes(plan.slab * n, element);
  return plan;
}

/// Returns the plan with the fewest rounds that fits in `most_bytes`. All pivots have the same size, which is at most
/// `deepest`.
inline PanelPlan plan_panels(std::int64_t n, int element_bytes, std::uint64_t most_bytes, std::int64_t deepest) {
  const std::int64_t granules = (n + panel_granule - 1) / panel_granule;
  for (std::int64_t rounds = 1; rounds <= granules; ++rounds) {
    const std::int64_t pivot = (granules + rounds - 1) / rounds * panel_granule;
    if (pivot > deepest) continue;
    const PanelPlan plan = panels_of(n, element_bytes, pivot);
    if (plan.bytes <= most_bytes) return plan;
    if (pivot == panel_granule) break;
  }
  return {};
}

}  // namespace gradus::shortest_paths_detail
