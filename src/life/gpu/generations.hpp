// Runs generations launch by launch. The passes alternate between two grids. The first grid is chosen such that the
// last pass writes to the grid of the result.
#pragma once

#include <cstdint>
#include <stop_token>

#include "cuda/job.hpp"
#include "cuda/portions.hpp"
#include "life/problem.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

/// Two alternating grids. The last pass writes to `last`, the pass before it to `other`.
template <class Grid>
struct Turns {
  Grid last;
  Grid other;
  std::int64_t passes;

  GRADUS_HOST_DEVICE Grid target(std::int64_t pass) const { return (passes - 1 - pass) % 2 == 0 ? last : other; }
  /// Returns the source of a pass other than pass 0.
  GRADUS_HOST_DEVICE Grid source(std::int64_t pass) const { return target(pass - 1); }
};

/// Splits the passes into consecutive ranges and calls launch(first, number) for each range. Each pass computes
/// `generations` generations. Between two ranges, polls for a stop request and reports progress. The first ranges have
/// at most `cells_at_once` cell updates each. Even a slow GPU must complete this number of updates in 0.1 s.
template <class Launch>
void for_passes(const Problem& problem, const Execution& execution, std::int64_t passes, std::int64_t generations,
                double cells_at_once, const Launch& launch) {
  const double cells = static_cast<double>(problem.cells.height) * static_cast<double>(problem.cells.width);
  Ticker tick(problem, execution);
  cuda::Portions(problem.stop, cells_at_once)
      .run(passes, cells * static_cast<double>(generations), 1, problem.gpu->stream(),
           [&](std::int64_t first, std::int64_t number) {
             tick(first * generations);
             launch(first, number);
           });
}

}  // namespace gradus::life_detail
