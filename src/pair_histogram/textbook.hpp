// What the teaching rungs share: the loop over the pairs of one point and the bin by a square root and a division, as
// `sequential` writes them out, and the portions of the work between which a job looks up.
#pragma once

#include <cmath>
#include <type_traits>
#include <utility>

#include "core/stop.hpp"
#include "gradus/error.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// The textbook's way to a slot: the canonical rule itself.
inline std::int64_t slot_of(const Bins& bins, double squared) {
  const double distance = std::sqrt(squared);
  if (!(distance < bins.reach())) return bins.beyond();
  if (bins.width() > 0) return 1 + static_cast<std::int64_t>(distance / bins.width());
  const std::span<const double> edges = bins.edges();
  return std::upper_bound(edges.begin(), edges.end(), distance) - edges.begin();
}

/// The second points that the pairs of the first point `row` have: those after it, or all of the others.
template <class T>
std::int64_t first_partner(const Problem<T>& problem, std::int64_t row) {
  return problem.cross ? 0 : row + 1;
}

/// Calls run(dimensions, space) with both as constants: the compiler unrolls the loop over the one and leaves out
/// what the other does not need.
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

/// Calls body(begin, end) for one stretch after the other of the second points that `row` has; after a stop request
/// for some of them.
template <class T, class Body>
void in_stretches(const Problem<T>& problem, std::int64_t row, const Body& body) {
  constexpr std::int64_t stretch = core::operations_between_polls / 16;
  const std::int64_t m = problem.m();
  for (std::int64_t begin = first_partner(problem, row); begin < m && !problem.stop.stop_requested(); begin += stretch)
    body(begin, std::min(begin + stretch, m));
}

/// Calls add(slot, second) for each pair of the point `row`, as `sequential` writes it out; after a stop request for
/// some of them.
template <class T, class Add>
void visit_pairs(const Problem<T>& problem, std::int64_t row, const Add& add) {
  with_dimensions(problem, [&](auto dimensions, auto space) {
    in_stretches(problem, row, [&](std::int64_t begin, std::int64_t end) {
      const T* const first = problem.points.row(row);
      const MatrixView<const T> others = problem.second();
      for (std::int64_t second = begin; second < end; ++second)
        add(slot_of(problem.bins, squared_distance<space>(problem, first, others.row(second), dimensions)), second);
    });
  });
}

/// Calls body(begin, end) for one range of first points after the other, all of them together. After each of them,
/// about a tenth of a second, it honours a stop request, which in_stretches() sees too, and reports progress in pairs.
/// A range holds a multiple of `threads` points, except for the last.
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
