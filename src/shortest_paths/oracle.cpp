#include "shortest_paths/oracle.hpp"

#include <limits>

namespace gradus::shortest_paths_detail {

namespace {

template <class T>
struct Edge {
  std::int64_t from;
  std::int64_t to;
  Wider<T> weight;
};

template <class T>
std::vector<Edge<T>> edges_of(const Graph<T>& graph) {
  std::vector<Edge<T>> edges;
  for (std::int64_t u = 0; u < graph.n(); ++u)
    for (std::int64_t v = 0; v < graph.n(); ++v)
      if (u != v && graph.weights(u, v) != no_route<T>() && graph.weights(u, v) != graph.no_edge)
        edges.push_back({u, v, graph.weights(u, v)});
  return edges;
}

/// The shortest routes from one vertex, found by relaxing all edges until nothing improves.
template <class T>
struct Routes {
  std::vector<bool> reached;
  std::vector<Wider<T>> length;
  std::vector<Wider<T>> magnitude;
  std::vector<std::int64_t> last;  ///< predecessor of each vertex

  Routes(const std::vector<Edge<T>>& edges, std::size_t n, std::size_t source)
      : reached(n), length(n), magnitude(n), last(n, -1) {
    reached[source] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Edge<T>& edge : edges) {
        const auto from = static_cast<std::size_t>(edge.from);
        const auto to = static_cast<std::size_t>(edge.to);
        if (!reached[from] || to == source || (reached[to] && !(length[from] + edge.weight < length[to]))) continue;
        reached[to] = true;
        length[to] = length[from] + edge.weight;
        magnitude[to] = magnitude[from] + (edge.weight < 0 ? -edge.weight : edge.weight);
        last[to] = edge.from;
        changed = true;
      }
    }
  }
};

/// Returns, for each vertex, the smallest number of edges of a shortest route to this vertex.
template <class T>
std::vector<std::size_t> fewest_edges(const std::vector<Edge<T>>& edges, const Routes<T>& routes, std::size_t source) {
  std::vector<std::size_t> count(routes.length.size(), std::numeric_limits<std::size_t>::max() / 2);
  count[source] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Edge<T>& edge : edges) {
      const auto from = static_cast<std::size_t>(edge.from);
      const auto to = static_cast<std::size_t>(edge.to);
      if (!routes.reached[from] || routes.length[from] + edge.weight != routes.length[to] ||
          count[from] + 1 >= count[to])
        continue;
      count[to] = count[from] + 1;
      changed = true;
    }
  }
  return count;
}

}  // namespace

template <class T>
Truth<T> oracle(const Graph<T>& graph) {
  const std::int64_t n = graph.n();
  const auto count = static_cast<std::size_t>(n);
  const std::vector<Edge<T>> edges = edges_of(graph);
  std::vector<Routes<T>> all;
  for (std::size_t source = 0; source < count; ++source) all.emplace_back(edges, count, source);

  bool zero_cycle = false;
  for (std::size_t u = 0; u < count; ++u)
    for (std::size_t v = 0; v < count; ++v)
      zero_cycle |= u != v && all[u].reached[v] && all[v].reached[u] && all[u].length[v] + all[v].length[u] == 0;

  Truth<T> truth;
  truth.result.distances = Matrix<T>(n, n);
  truth.result.predecessors = Matrix<std::int32_t>(n, n);
  for (std::size_t source = 0; source < count; ++source) {
    const Routes<T>& routes = all[source];
    const auto row = static_cast<std::int64_t>(source);
    for (std::size_t v = 0; v < count; ++v) {
      const auto column = static_cast<std::int64_t>(v);
      truth.result.distances(row, column) = routes.reached[v] ? static_cast<T>(routes.length[v]) : no_route<T>();
      truth.result.predecessors(row, column) = static_cast<std::int32_t>(routes.last[v]);
      if constexpr (std::is_floating_point_v<T>) {
        truth.exact.push_back(routes.reached[v] ? static_cast<long double>(routes.length[v])
                                                : std::numeric_limits<long double>::infinity());
        truth.magnitude.push_back(static_cast<long double>(routes.magnitude[v]));
      }
    }
    if constexpr (!std::is_floating_point_v<T>) {
      const std::vector<std::size_t> steps =
          zero_cycle ? fewest_edges(edges, routes, source) : std::vector<std::size_t>();
      for (std::size_t v = 0; v < count; ++v) truth.result.predecessors(row, static_cast<std::int64_t>(v)) = -1;
      for (const Edge<T>& edge : edges) {  // in ascending order of tails, so that the lowest predecessor is found first
        const auto from = static_cast<std::size_t>(edge.from);
        const auto to = static_cast<std::size_t>(edge.to);
        std::int32_t& predecessor = truth.result.predecessors(row, edge.to);
        if (to == source || predecessor >= 0 || !routes.reached[from] ||
            routes.length[from] + edge.weight != routes.length[to] || (zero_cycle && steps[from] + 1 != steps[to]))
          continue;
        predecessor = static_cast<std::int32_t>(edge.from);
      }
    }
  }
  truth.result.report.variant = "oracle";
  return truth;
}

template Truth<std::int32_t> oracle(const Graph<std::int32_t>&);
template Truth<std::int64_t> oracle(const Graph<std::int64_t>&);
template Truth<float> oracle(const Graph<float>&);
template Truth<double> oracle(const Graph<double>&);

}  // namespace gradus::shortest_paths_detail
