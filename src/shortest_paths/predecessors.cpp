#include "shortest_paths/predecessors.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <vector>

#include "core/stop.hpp"
#include "shortest_paths/negative_cycle.hpp"
#include "shortest_paths/search_tree.hpp"
#include "shortest_paths/simd/mark_predecessors.hpp"

namespace gradus::shortest_paths_detail {

/// Scalar version of the vectorised mark_predecessors(), for 128-bit numbers.
static void mark_predecessors(const Int128* const* to_via, const Int128* weights, const Int128* lengths,
                              std::int64_t first_via, std::int64_t vias, Int128* best) {
  for (std::int64_t via = vias - 1; via >= 0; --via)
    for (std::int64_t row = 0; row < marked_rows; ++row)
      for (std::int64_t column = 0; column < marked_columns; ++column)
        if (to_via[row][via] + weights[via * marked_columns + column] == lengths[row * marked_columns + column])
          best[row * marked_columns + column] = first_via + via;
}

namespace {

constexpr std::string_view while_finding = "stopped while finding predecessors";

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// The edges to each vertex in ascending order of tails.
template <class C>
struct EdgesTo {
  std::vector<std::int64_t> begin;  ///< index of the first edge of each vertex; at the end, the number of edges
  std::vector<std::int32_t> from;
  std::vector<C> weight;

  template <class T>
  explicit EdgesTo(const Graph<T>& graph) : begin(size(graph.n() + 2)) {
    const std::int64_t n = graph.n();
    for (std::int64_t u = 0; u < n; ++u) graph.for_each_edge_from(u, [&](std::int64_t v, T) { ++begin[size(v + 2)]; });
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    from.resize(size(begin.back()));
    weight.resize(size(begin.back()));
    for (std::int64_t u = 0; u < n; ++u)
      graph.for_each_edge_from(u, [&](std::int64_t v, T length) {
        const std::int64_t place = begin[size(v + 1)]++;
        from[size(place)] = static_cast<std::int32_t>(u);
        weight[size(place)] = static_cast<C>(length);
      });
    begin.pop_back();
  }
};

/// Finds the predecessors of rows [first, last) from the edge lists. Processes several sources at once. The lengths
/// from these sources to a vertex are contiguous, and one read of an edge serves all these sources.
template <class C>
void from_lists(const EdgesTo<C>& edges, MatrixView<const C> distances, C greatest, std::int64_t first,
                std::int64_t last, MatrixView<std::int32_t> predecessors, const std::stop_token& stop) {
  constexpr std::int64_t together = listed_sources<C>;
  constexpr std::int64_t side = 64;  // block size of the transposition
  const std::int64_t n = distances.rows();
  Buffer<C> lengths(n * together);
  Buffer<C> best(n * together);
  for (std::int64_t top = first; top < last && !stop.stop_requested(); top += together) {
    const std::int64_t rows = std::min(together, last - top);
    for (std::int64_t left = 0; left < n; left += side)
      for (std::int64_t row = 0; row < together; ++row)
        for (std::int64_t v = left; v < std::min(left + side, n); ++v)
          lengths[v * together + row] = distances(top + std::min(row, rows - 1), v);
    if constexpr (sizeof(C) <= 8) {
      mark_listed_predecessors(n, edges.begin.data(), edges.from.data(), edges.weight.data(), lengths.data(),
                               best.data());
    } else {
      for (std::int64_t v = 0; v < n; ++v)
        for (std::int64_t row = 0; row < together; ++row) {
          C& found = best[v * together + row];
          found = -1;
          for (std::int64_t edge = edges.begin[size(v + 1)] - 1; edge >= edges.begin[size(v)]; --edge)
            if (lengths[edges.from[size(edge)] * together + row] + edges.weight[size(edge)] ==
                lengths[v * together + row])
              found = edges.from[size(edge)];
        }
    }
    for (std::int64_t left = 0; left < n; left += side)
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t v = left; v < std::min(left + side, n); ++v) {
          const bool route = v != top + row && lengths[v * together + row] <= greatest;
          predecessors(top + row, v) = route ? static_cast<std::int32_t>(best[v * together + row]) : -1;
        }
  }
}

/// Copies the edges that lead from some vertices to `marked_columns` end vertices. The copy is contiguous.
template <class T, class C>
void pack_edges(const Graph<T>& graph, std::int64_t first_via, std::int64_t vias, std::int64_t left, C* to) {
  const std::int64_t columns = std::min(marked_columns, graph.n() - left);
  for (std::int64_t via = first_via; via < first_via + vias; ++via, to += marked_columns) {
    const T* const edges = graph.weights.row(via) + left;
    std::fill(to + columns, to + marked_columns, unreachable<C>());
    for (std::int64_t column = 0; column < columns; ++column)
      to[column] = graph.is_edge(edges[column]) ? static_cast<C>(edges[column]) : unreachable<C>();
    // An edge from a vertex to itself does not count.
    if (via >= left && via < left + columns) to[via - left] = unreachable<C>();
  }
}

/// Finds the predecessors of rows [first, last) in a dense graph. Edges are packed for a few columns and vertices at a
/// time, so that they stay in the L1 cache. Vertices are visited in descending order, so that the lowest predecessor is
/// written last.
template <class T, class C>
void from_rows(const Graph<T>& graph, MatrixView<const C> distances, C greatest, std::int64_t first, std::int64_t last,
               MatrixView<std::int32_t> predecessors, const std::stop_token& stop) {
  constexpr std::int64_t depth = 128;
  const std::int64_t n = graph.n();
  Buffer<C> edges(depth * marked_columns);
  alignas(64) C lengths[marked_rows * marked_columns];
  alignas(64) C best[marked_rows * marked_columns];
  for (std::int64_t row = first; row < last; ++row) std::fill_n(predecessors.row(row), n, -1);
  for (std::int64_t left = 0; left < n; left += marked_columns)
    for (std::int64_t first_via = (n - 1) / depth * depth; first_via >= 0 && !stop.stop_requested();
         first_via -= depth) {
      const std::int64_t vias = std::min(depth, n - first_via);
      const std::int64_t columns = std::min(marked_columns, n - left);
      pack_edges(graph, first_via, vias, left, edges.data());
      for (std::int64_t row = first; row < last; row += marked_rows) {
        const C* to_via[marked_rows];
        for (std::int64_t line = 0; line < marked_rows; ++line) {
          // If fewer rows are left than are processed at once, the last row is repeated.
          const std::int64_t source = std::min(row + line, last - 1);
          to_via[line] = distances.row(source) + first_via;
          std::copy_n(distances.row(source) + left, columns, lengths + line * marked_columns);
          std::copy_n(predecessors.row(source) + left, columns, best + line * marked_columns);
          std::fill_n(lengths + line * marked_columns + columns, marked_columns - columns, C{0});
          std::fill_n(best + line * marked_columns + columns, marked_columns - columns, C{0});
        }
        mark_predecessors(to_via, edges.data(), lengths, first_via, vias, best);
        for (std::int64_t line = 0; line < std::min(marked_rows, last - row); ++line)
          for (std::int64_t column = 0; column < columns; ++column)
            predecessors(row + line, left + column) = static_cast<std::int32_t>(best[line * marked_columns + column]);
      }
    }
  for (std::int64_t row = first; row < last; ++row)
    for (std::int64_t column = 0; column < n; ++column)
      if (row == column || distances(row, column) > greatest) predecessors(row, column) = -1;
}

/// Finds the predecessors by breadth-first search along edges of shortest routes. The predecessor of a vertex is the
/// first vertex from which the search reaches it. This predecessor is on a shortest route with the fewest edges. Of all
/// such predecessors, it is the lowest.
template <class T, class C>
void by_levels(const Graph<T>& graph, const C* distances, C greatest, std::int64_t source, std::int32_t* predecessors) {
  const std::int64_t n = graph.n();
  std::fill_n(predecessors, n, -1);
  std::vector<std::uint8_t> seen(size(n));
  std::vector<std::int32_t> level{static_cast<std::int32_t>(source)};
  std::vector<std::int32_t> next;
  seen[size(source)] = true;
  while (!level.empty()) {
    next.clear();
    for (const std::int32_t u : level)
      graph.for_each_edge_from(u, [&](std::int64_t v, T weight) {
        if (seen[size(v)] || distances[v] > greatest || distances[u] + static_cast<C>(weight) != distances[v]) return;
        seen[size(v)] = true;
        predecessors[v] = u;
        next.push_back(static_cast<std::int32_t>(v));
      });
    std::sort(next.begin(), next.end());
    level.swap(next);
  }
}

/// Divides all rows into ranges, and calls task(first, last) for each range, on several threads. Rethrows the first
/// exception.
template <class Task>
void share_rows(std::int64_t n, std::int64_t rows_of_a_task, int threads, const std::stop_token& stop,
                const Task& task) {
  std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::int64_t first = 0; first < n; first += rows_of_a_task) {
    if (stop.stop_requested()) continue;
    try {
      task(first, std::min(first + rows_of_a_task, n));
    } catch (...) {
#pragma omp critical(gradus_shortest_paths_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  core::honour_stop(stop, while_finding);
}

}  // namespace

template <class C>
bool has_zero_cycle(MatrixView<const C> distances, C greatest, int threads, const std::stop_token& stop) {
  constexpr std::int64_t side = 64;  // side of the blocks in which the matrix is read along rows and along columns
  const std::int64_t n = distances.rows();
  int found = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(| : found)
  for (std::int64_t top = 0; top < n; top += side)
    for (std::int64_t left = top; left < n && !stop.stop_requested(); left += side)
      for (std::int64_t row = top; row < std::min(top + side, n); ++row)
        for (std::int64_t column = std::max(left, row + 1); column < std::min(left + side, n); ++column)
          found |= distances(row, column) <= greatest && distances(column, row) <= greatest &&
                   distances(row, column) + distances(column, row) == 0;
  core::honour_stop(stop, while_finding);
  return found != 0;
}

template <class T, class C>
void find_predecessors(const Graph<T>& graph, std::int64_t edges, MatrixView<const C> distances, C greatest,
                       bool fewest_edges, MatrixView<std::int32_t> predecessors, int threads,
                       const std::stop_token& stop) {
  const std::int64_t n = graph.n();
  if (fewest_edges) {
    share_rows(n, 1, threads, stop, [&](std::int64_t row, std::int64_t) {
      by_levels(graph, distances.row(row), greatest, row, predecessors.row(row));
    });
  } else if (edges < n * n / 16) {
    const EdgesTo<C> lists(graph);
    share_rows(n, listed_sources<C>, threads, stop, [&](std::int64_t first, std::int64_t last) {
      from_lists(lists, distances, greatest, first, last, predecessors, stop);
    });
  } else {
    constexpr std::int64_t most_rows = 64;  // a task processes at most this number of rows with the same packed edges
    const std::int64_t rows =
        std::clamp(n / (std::int64_t{4} * threads) / marked_rows * marked_rows, marked_rows, most_rows);
    share_rows(n, rows, threads, stop, [&](std::int64_t first, std::int64_t last) {
      from_rows(graph, distances, greatest, first, last, predecessors, stop);
    });
  }
}

template <class T, class C>
void grow_trees(const Graph<T>& graph, MatrixView<C> distances, bool replace, MatrixView<std::int32_t> predecessors,
                std::span<const std::int64_t> sources, int threads, const std::stop_token& stop) {
  const std::int64_t n = graph.n();
  // Sorts the sources and removes duplicates.
  std::vector<std::int64_t> rows(sources.begin(), sources.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const std::int64_t count = sources.empty() ? n : std::ssize(rows);
  share_rows(count, 1, threads, stop, [&](std::int64_t number, std::int64_t) {
    const std::int64_t row = sources.empty() ? number : rows[static_cast<std::size_t>(number)];
    C* const lengths = distances.row(row);
    std::vector<std::int32_t> order(size(n));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [lengths, row](std::int32_t one, std::int32_t other) {
      if (one == row || other == row) return one == row && other != row;  // the source of the row comes first
      return lengths[one] != lengths[other] ? lengths[one] < lengths[other] : one < other;
    });
    SearchTree<C> tree(n);
    tree.search(
        graph, row, order, [&graph](const std::vector<std::int32_t>& cycle) { refuse_if_negative(graph, cycle); },
        stop);
    for (std::int64_t v = 0; v < n; ++v) {
      if (replace) lengths[v] = tree.reached(v) ? tree.label(v) : unreachable<C>();
      if (predecessors.data() != nullptr) predecessors(row, v) = tree.reached(v) ? tree.predecessor(v) : -1;
    }
  });
}

#define GRADUS_INSTANTIATE(C) template bool has_zero_cycle(MatrixView<const C>, C, int, const std::stop_token&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(Int128);
#undef GRADUS_INSTANTIATE
#define GRADUS_INSTANTIATE(T, C)                                                               \
  template void find_predecessors(const Graph<T>&, std::int64_t, MatrixView<const C>, C, bool, \
                                  MatrixView<std::int32_t>, int, const std::stop_token&)
GRADUS_INSTANTIATE(std::int32_t, std::int32_t);
GRADUS_INSTANTIATE(std::int32_t, std::int64_t);
GRADUS_INSTANTIATE(std::int64_t, std::int64_t);
GRADUS_INSTANTIATE(std::int64_t, Int128);
#undef GRADUS_INSTANTIATE
#define GRADUS_INSTANTIATE(T, C)                                                           \
  template void grow_trees(const Graph<T>&, MatrixView<C>, bool, MatrixView<std::int32_t>, \
                           std::span<const std::int64_t>, int, const std::stop_token&)
GRADUS_INSTANTIATE(float, float);
GRADUS_INSTANTIATE(float, double);
GRADUS_INSTANTIATE(double, double);
GRADUS_INSTANTIATE(double, long double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::shortest_paths_detail
