#include "shortest_paths/graph.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "shortest_paths/simd/look_at_weights.hpp"

namespace gradus::shortest_paths_detail {

namespace {

constexpr std::string_view while_looking = "stopped while examining the edges";

template <class T>
bool is_impossible(T weight) {
  // The comparison is negated, so that NaN is also refused.
  return std::is_floating_point_v<T> && !(weight > -std::numeric_limits<T>::infinity());
}

template <class T>
RowEdgeFacts<T> look_at(const Graph<T>& graph, std::int64_t u) {
  const T* const row = graph.weights.row(u);
  const std::int64_t n = graph.n();
  WeightFacts<T> seen = look_at_weights(row, u, graph.no_edge);
  seen.add(look_at_weights(row + u + 1, n - u - 1, graph.no_edge));
  RowEdgeFacts<T> found;
  if (seen.impossible || is_impossible(row[u])) {
    found.impossible = std::find_if(row, row + n, is_impossible<T>) - row;
    return found;
  }
  found.negative = row[u] < 0 && graph.is_edge(row[u]);
  found.edges = seen.edges;
  if (seen.edges == 0) return found;
  found.negative |= seen.least < 0;
  found.positive = seen.least > 0;
  found.greatest = std::max(Wider<T>{seen.greatest}, -Wider<T>{seen.least});
  return found;
}

}  // namespace

template <class T>
GraphFacts<T> examine(const Graph<T>& graph, int threads, const std::stop_token& stop) {
  const std::int64_t n = graph.n();
  threads = cpu::threads_for(n * n, threads);
  std::vector<RowEdgeFacts<T>> rows(static_cast<std::size_t>(n));
  const std::int64_t stretch = core::chunk_length(n, n, threads);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::int64_t first = 0; first < n; first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t u = first; u < std::min(first + stretch, n); ++u)
      rows[static_cast<std::size_t>(u)] = look_at(graph, u);
  }
  core::honour_stop(stop, while_looking);
  GraphFacts<T> all;
  for (std::int64_t u = 0; u < n; ++u) {
    const RowEdgeFacts<T>& row = rows[static_cast<std::size_t>(u)];
    if (row.impossible >= 0) throw_impossible(graph.weights(u, row.impossible), u, row.impossible);
    all.add(row);
  }
  return all;
}

template <class T>
void throw_impossible(T weight, std::int64_t row, std::int64_t column) {
  throw InputError(about("weights") + std::string(std::isnan(weight) ? "NaN" : "-inf") + " in row " +
                       std::to_string(row) + ", column " + std::to_string(column) +
                       " (counted from 0); an edge has a finite length, and +inf stands for no edge",
                   {.code = error_code::not_finite, .row = row, .column = column});
}

template <class T, class C>
void fill(const Graph<T>& graph, MatrixView<C> distances, int threads, const std::stop_token& stop) {
  const std::int64_t n = graph.n();
  threads = cpu::threads_for(n * n, threads);
  const std::int64_t stretch = core::chunk_length(n, n, threads);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t first = 0; first < n; first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t u = first; u < std::min(first + stretch, n); ++u) {
      const T* const from = graph.weights.row(u);
      C* const to = distances.row(u);
      for (std::int64_t v = 0; v < n; ++v)  // adding 0 turns -0 into 0
        to[v] = graph.is_edge(from[v]) ? static_cast<C>(from[v]) + C{0} : unreachable<C>();
      to[u] = 0;
    }
  }
  core::honour_stop(stop, "stopped while preparing the matrix");
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define GRADUS_INSTANTIATE(T)                                                      \
  template GraphFacts<T> examine(const Graph<T>&, int, const std::stop_token&);    \
  template void throw_impossible(T, std::int64_t, std::int64_t);                   \
  template void fill(const Graph<T>&, MatrixView<T>, int, const std::stop_token&); \
  template void fill(const Graph<T>&, MatrixView<Wider<T>>, int, const std::stop_token&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace gradus::shortest_paths_detail
