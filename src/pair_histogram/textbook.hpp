// The code that the teaching rungs share: the loop over the pairs of one point, the computation of a pair's slot by
// square root and division (as in `sequential`), and the division of the work into portions.
#pragma once

#include <cmath>
#include <type_traits>
#include <utility>

#include "core/stop.hpp"
#include "gradus/error.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

inline std::int64_t slot_of(const Bins& bins, double squared) {
  const double distance = std::sqrt(squared);
  if (!(distance < bins.reach())) return bins.beyond();
  if (bins.width() > 0) return 1 + static_cast<std::int64_t>(distance / bins.width());
  const std::span<const double> edges = bins.edges();
  return std::upper_bound(edges.begin(), edges.end(), distance) - edges.begin();
}

/// Returns the row of the first partner of point `row`. This is the next row or, if pairs with `others` are counted,
/// row 0 of `others`.
template <class T>
std::int64_t first_partner(const Problem<T>& problem, std::int64_t row) {
  return problem.cross ? 0 : row + 1;
}

/// Calls run(dimensions, space) with compile-time constants, so that the compiler can remove unused code.
template <class T, class Run>
void with_dimensions(const Problem<T>& problem, const Run& run) {
  if (problem.triclinic) return run(std::integral_constant<int, 3>(), std::integral_constant<Space, Space::cell>());
  const auto with_box = [&](auto dimensions) {
    if (problem.periodic) run(dimensions, std::integral_constant<Space, Space::box>());
    else run(dimensions, std::integral_constant<Space, Space::open>());
  };
  switch (problem.d()) {
    case 1: return with_box(std::integral_constant<int, 1>());
    case 2: return with_box(std::integral_constant<int, 2>());
    default: return with_box(std::integral_constant<int, 3>());
  }
}

/// Calls body(begin, end) for blocks of the second points of `row`. After a stop request, some blocks may be skipped.
template <class T, class Body>
void in_blocks(const Problem<T>& problem, std::int64_t row, const Body& body) {
  constexpr std::int64_t block = core::operations_between_polls / 16;
  const std::int64_t m = problem.m();
  for (std::int64_t begin = first_partner(problem, row); begin < m && !problem.stop.stop_requested(); begin += block)
    body(begin, std::min(begin + block, m));
}

/// Calls add(slot, second) for each pair of the point `row`. After a stop request, some pairs may be skipped.
template <class T, class Add>
void visit_pairs(const Problem<T>& problem, std::int64_t row, const Add& add) {
  with_dimensions(problem, [&](auto dimensions, auto space) {
    in_blocks(problem, row, [&](std::int64_t begin, std::int64_t end) {
      const T* const first = problem.points.row(row);
      const MatrixView<const T> others = problem.second();
      for (std::int64_t second = begin; second < end; ++second)
        add(slot_of(problem.bins, squared_distance<space>(problem, first, others.row(second), dimensions)), second);
    });
  });
}

/// Calls body(begin, end) for consecutive ranges that cover all first points. A range takes about a tenth of a second;
/// after it the function responds to stop requests and reports progress. Every range except the last holds a multiple
/// of `threads` points.
template <class T, class Body>
void in_portions(const Problem<T>& problem, const Execution& execution, int threads, const Body& body) {
  constexpr std::int64_t pairs_of_a_thread = std::int64_t{1} << 24;
  const std::int64_t n = problem.n();
  const std::int64_t total = problem.cross ? n * problem.m() : n * (n - 1) / 2;
  std::int64_t done = 0;
  const auto honour_stop = [&] {
    if (execution.stop.stop_requested())
      throw InterruptedError("stopped after " + std::to_string(done) + " of " + std::to_string(total) + " pairs");
  };
  for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
    honour_stop();
    std::int64_t pairs = 0;
    for (; end < n && (pairs < pairs_of_a_thread * threads || (end - begin) % threads != 0); ++end)
      pairs += problem.m() - first_partner(problem, end);
    body(begin, end);
    honour_stop();
    done += pairs;
    if (execution.progress) execution.progress({"pairs", done, total, {}});
  }
}

}  // namespace gradus::pair_histogram_detail
