// What the teaching rungs share: how they look at the stop request, and report progress.
#pragma once

#include <string>

#include "core/stop.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// Calls multiply(a, b, c, first row, rows) with all rows of C, matrix after matrix of the batch, some of them at a
/// time: between two calls it reports progress, and honours a stop request.
template <class T, class Multiply>
void for_rows(const Problem<T>& problem, const Execution& execution, std::int64_t at_a_time, const Multiply& multiply) {
  for (std::int64_t batch = 0; batch < problem.batches; ++batch)
    for (std::int64_t row = 0; row < problem.m; row += at_a_time) {
      core::honour_stop(problem.stop,
                        "stopped after " + std::to_string(row) + " of " + std::to_string(problem.m) + " rows");
      if (execution.progress)
        execution.progress({"multiply", batch * problem.m + row, problem.batches * problem.m, {}});
      multiply(problem.a.at(batch), problem.b.at(batch), problem.c.at(batch), row,
               std::min(at_a_time, problem.m - row));
    }
}

}  // namespace gradus::matmul_detail
