// Stop requests and progress reports of the teaching rungs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/stop.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// A block of C.
struct Block {
  std::int64_t row, rows, column, columns;

  std::int64_t end_row() const { return row + rows; }
  std::int64_t end_column() const { return column + columns; }
};

/// Divides each matrix C of the batch into blocks of at most `rows` x `columns` elements. Calls multiply(a, b, c,
/// block) for each block. Between calls it reports progress and responds to a stop request. If k is large, even one
/// element may take too long, so multiply() itself may return early after a stop request.
template <class T, class Multiply>
void for_blocks(const Problem<T>& problem, const Execution& execution, std::int64_t rows, std::int64_t columns,
                const Multiply& multiply) {
  const auto honour_stop = [&](std::int64_t row) {
    if (problem.stop.stop_requested())
      core::honour_stop(problem.stop,
                        "stopped after " + std::to_string(row) + " of " + std::to_string(problem.m) + " rows");
  };
  for (std::int64_t batch = 0; batch < problem.batches; ++batch)
    for (std::int64_t row = 0; row < problem.m; row += rows) {
      if (execution.progress)
        execution.progress({"multiply", batch * problem.m + row, problem.batches * problem.m, {}});
      for (std::int64_t column = 0; column < problem.n; column += columns) {
        honour_stop(row);
        multiply(problem.a.at(batch), problem.b.at(batch), problem.c.at(batch),
                 Block{row, std::min(rows, problem.m - row), column, std::min(columns, problem.n - column)});
      }
    }
  honour_stop(problem.m);
}

/// Calls add(first, end) for consecutive ranges of k that are short enough for a timely stop. Returns early after a
/// stop request.
template <class T, class Add>
void for_depths(const Problem<T>& problem, std::int64_t operations, const Add& add) {
  const std::int64_t stretch = core::chunk_length(problem.k, operations);
  for (std::int64_t first = 0; first < problem.k; first += stretch) {
    if (first > 0 && problem.stop.stop_requested()) return;
    add(first, std::min(first + stretch, problem.k));
  }
}

}  // namespace gradus::matmul_detail
