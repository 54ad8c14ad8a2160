// What the teaching rungs share: the matrix in which they work, progress, and the look at the stop request.
#pragma once

#include <cstdint>
#include <string>

#include "core/stop.hpp"
#include "shortest_paths/problem.hpp"

namespace gradus::shortest_paths_detail {

/// Calls solve(matrix) with the matrix that the problem is in: its own type's, or the wider one.
template <class T, class Solve>
void with_matrix(const Problem<T>& problem, const Solve& solve) {
  if (problem.is_wide()) solve(problem.wide);
  else solve(problem.distances);
}

/// Between two steps of `total`: reports the one, and honours a stop request.
template <class T>
void after_step(const Problem<T>& problem, const Execution& execution, std::int64_t done, std::int64_t total) {
  if (problem.stop.stop_requested())
    throw InterruptedError("stopped after " + std::to_string(done) + " of " + std::to_string(total) + " steps");
  if (execution.progress) execution.progress({"relax", done, total, {}});
}

}  // namespace gradus::shortest_paths_detail
