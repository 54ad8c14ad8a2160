// Generations one launch after the other: where each reads, and where it writes, so that the last one writes the
// result.
#pragma once

#include <cstdint>
#include <stop_token>

#include "cuda/job.hpp"
#include "cuda/portions.hpp"
#include "life/problem.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

/// Passes take turns between two grids. The last one writes to `last`, the one before to `other`.
template <class Grid>
struct Turns {
  Grid last;
  Grid other;
  std::int64_t passes;

  GRADUS_HOST_DEVICE Grid target(std::int64_t pass) const { return (passes - 1 - pass) % 2 == 0 ? last : other; }
  /// Where that pass reads, but for pass 0.
  GRADUS_HOST_DEVICE Grid source(std::int64_t pass) const { return target(pass - 1); }
};

/// Calls launch(first, number) for ranges of passes of `generations` each, with looks at the stop request between them,
/// and tells of progress. `cells_at_once`: cell updates of the first launches, which even a slow GPU does in a tenth of
/// a second.
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
