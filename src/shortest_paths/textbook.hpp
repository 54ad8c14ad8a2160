// Common code of the teaching rungs: access to the matrix, progress reports and stop requests.
#pragma once

#include <cstdint>
#include <string>

#include "core/stop.hpp"
#include "shortest_paths/problem.hpp"

namespace gradus::shortest_paths_detail {

/// Calls solve(matrix) with the problem's matrix, which has the type of the problem or the wider type.
template <class T, class Solve>
void with_matrix(const Problem<T>& problem, const Solve& solve) {
  if (problem.is_wide()) solve(problem.wide);
  else solve(problem.distances);
}

/// Reports progress after a step. Throws InterruptedError after a stop request.
template <class T>
void after_step(const Problem<T>& problem, const Execution& execution, std::int64_t done, std::int64_t total) {
  if (problem.stop.stop_requested())
    throw InterruptedError("stopped after " + std::to_string(done) + " of " + std::to_string(total) + " steps");
  if (execution.progress) execution.progress({"relax", done, total, {}});
}

}  // namespace gradus::shortest_paths_detail
