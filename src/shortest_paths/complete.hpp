// Converts the matrix in which a variant worked to the caller's results.
#pragma once

#include "core/phases.hpp"
#include "core/stop.hpp"
#include "shortest_paths/finish.hpp"
#include "shortest_paths/predecessors.hpp"
#include "shortest_paths/request.hpp"

namespace gradus::shortest_paths_detail {

/// Copies the requested rows from the variant's matrix to the caller's. Both may be the same matrix.
template <class T, class C>
void finish(const Request<T>& request, MatrixView<const C> solved, C greatest, MatrixView<T> distances) {
  const std::int64_t n = request.n();
  const std::int64_t rows = request.rows();
  const std::stop_token& stop = request.execution.stop;
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<T, C>) {
    // If both are the same matrix, no element needs a conversion: infinity means "no route" in the variant's matrix and
    // in the caller's, no sum overflows (Width::own), and no distance is -0, because no edge is -0.
    if (solved.data() == distances.data()) {
      for (std::int64_t v = 0; v < n; ++v) distances(v, v) = 0;
      return;
    }
  }
  // For each row: the first column whose distance is too great for T, or -1.
  std::vector<std::int64_t> too_great(static_cast<std::size_t>(rows), -1);
  const std::int64_t stretch = core::chunk_length(rows, n, request.threads);
  const auto write_row = [&](std::int64_t row) {
    const std::int64_t source = request.source_of(row);
    const C* const lengths = solved.row(source);
    T* const to = distances.row(row);
    const auto route_to = [=](std::int64_t v) { return std::is_floating_point_v<T> || lengths[v] <= greatest; };
    too_great[static_cast<std::size_t>(row)] = finish_row(
        n, request.target, to, [=](std::int64_t v) { return lengths[v]; }, route_to);
    to[source] = 0;
  };
#pragma omp parallel for num_threads(request.threads) schedule(static)
  for (std::int64_t first = 0; first < rows; first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t row = first; row < std::min(first + stretch, rows); ++row) write_row(row);
  }
  core::honour_stop(stop, "stopped while finishing the matrix");
  for (std::int64_t row = 0; row < rows; ++row)
    if (const std::int64_t column = too_great[static_cast<std::size_t>(row)]; column >= 0)
      throw_too_great<T>(request.source_of(row), column, solved(request.source_of(row), column));
}

/// Returns true if rounding has made the length of a cycle negative.
template <class C>
bool diagonal_is_negative(MatrixView<const C> distances) {
  for (std::int64_t v = 0; v < distances.rows(); ++v)
    if (!(distances(v, v) >= 0)) return true;
  return false;
}

/// After a variant has found the distances, computes the results that the variant has left to the driver.
template <class T, class C>
void complete(const Request<T>& request, const Graph<T>& graph, const GraphFacts<T>& facts, MatrixView<C> solved,
              C greatest, bool have_predecessors, MatrixView<T> distances, MatrixView<std::int32_t> predecessors,
              std::vector<Phase>& phases) {
  const std::stop_token& stop = request.execution.stop;
  const bool wanted = request.options.predecessors && graph.n() > 0;
  if constexpr (std::is_floating_point_v<T>) {
    const bool replace = facts.negative && diagonal_is_negative<C>(solved);
    // Trees with negative edges or extended numbers are found vertex by vertex.
    constexpr bool has_vectors = sizeof(C) <= sizeof(double);
    if (has_vectors && wanted && !facts.negative) {
      const core::PhaseTimer timer(phases, "predecessors");
      if constexpr (has_vectors)
        find_predecessors<T, C>(graph, facts.edges, solved, std::numeric_limits<C>::max(), false, predecessors,
                                request.options.sources, request.threads, stop);
    } else if (replace || wanted) {
      const core::PhaseTimer timer(phases, wanted ? "predecessors" : "trees");
      grow_trees(graph, solved, replace, wanted ? predecessors : MatrixView<std::int32_t>(), request.options.sources,
                 request.threads, stop);
    }
  } else if (wanted) {
    const core::PhaseTimer timer(phases, "predecessors");
    const bool fewest_edges = !facts.positive && has_zero_cycle<C>(solved, greatest, request.threads, stop);
    if (!have_predecessors || fewest_edges)
      find_predecessors<T, C>(graph, facts.edges, solved, greatest, fewest_edges, predecessors, {}, request.threads,
                              stop);
  }
  const core::PhaseTimer timer(phases, "finish");
  finish<T, C>(request, solved, greatest, distances);
}

template <class C>
Problem<C> problem_of(const Execution& execution, const ShortestPathsOptions& options, const Facts& facts) {
  Problem<C> problem;
  problem.tile = options.tile;
  problem.edges = facts.edges;
  problem.negative = facts.negative;
  problem.stop = execution.stop;
  return problem;
}

}  // namespace gradus::shortest_paths_detail
