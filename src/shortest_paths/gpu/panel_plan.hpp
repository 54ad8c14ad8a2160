// How cuda_panels cuts a graph so that the pieces fit a GPU: for the table, and for the variant. Plain C++.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/sizes.hpp"

namespace gradus::shortest_paths_detail {

struct PanelPlan {
  std::int64_t pivot = 0;   ///< vertices in the middle of a round; 0: nothing fits
  std::int64_t slab = 0;    ///< rows that come and go at a time
  std::int64_t chunk = 0;   ///< columns of the pivot's own rows that are relaxed at a time
  std::uint64_t bytes = 0;  ///< that it takes
};

/// All sizes of the plan are multiples of this, and so are the sides of what is on the GPU.
inline constexpr std::int64_t panel_granule = 256;
/// Vertices of a round in which the pivot itself is closed.
inline constexpr int panel_closing_depth = 64;

/// Of a block's shared memory, at least.
constexpr std::uint64_t panel_shared_bytes(int element_bytes) {
  return std::uint64_t{element_bytes == 8 ? 96U : 64U} << 10;
}

/// The deepest pivot for a GPU. The deeper it is the fewer times the matrix travels, and the longer the pivot's own
/// rows take, during which no stop request is honoured: what takes an H200 some 0.2 s.
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
               4 * cuda::part_bytes(panel_closing_depth * pivot, element) +  // what closing it takes
               cuda::part_bytes(pivot * plan.chunk, element) +               // its rows as they were
               cuda::part_bytes(pivot * plan.slab, element) +                // columns of a slab, turned over
               cuda::part_bytes(plan.slab * side, element) +                 // the slab
               2 * cuda::part_bytes(plan.slab * n, element);                 // two that travel
  return plan;
}

/// The plan with the fewest rounds that fits `most_bytes`, of equal pivots no deeper than `deepest`.
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
