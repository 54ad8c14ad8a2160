#include "shortest_paths/sparse_graph.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "core/stop.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"

namespace gradus::shortest_paths_detail {

namespace {

constexpr std::string_view while_listing = "stopped while listing the edges of each vertex";

void check_vertices(std::int64_t vertices) {
  if (vertices < 0) throw UsageError(about("edges") + std::to_string(vertices) + " is not a number of vertices");
  if (vertices > std::numeric_limits<std::int32_t>::max())
    throw InputError(about("edges") + std::to_string(vertices) + " vertices are more than the supported 2147483647");
}

template <class T>
void check_list(VectorView<T> list, const char* what, std::int64_t edges, bool may_be_empty) {
  execution::check_view(list, what);
  if (!list.place().is_host()) throw UnsupportedError(about(what) + "lists of edges are read from host memory only");
  if (list.size() == edges || (may_be_empty && list.empty())) return;
  throw UsageError(about(what) + std::to_string(list.size()) + " elements for " + std::to_string(edges) +
                   " edges; one for each is needed");
}

[[noreturn]] void throw_no_such_vertex(std::int64_t edge, std::int64_t from, std::int64_t to, std::int64_t n) {
  throw InputError(about("edges") + "edge " + std::to_string(edge) + " goes from vertex " + std::to_string(from) +
                       " to vertex " + std::to_string(to) + ", of " + std::to_string(n) +
                       " vertices (all counted from 0)",
                   {.code = error_code::out_of_range, .row = edge, .allowed = "0 to " + std::to_string(n - 1)});
}

template <class T>
[[noreturn]] void throw_no_length(std::int64_t edge, std::int64_t from, std::int64_t to, T weight) {
  throw InputError(about("edges") + std::string(std::isnan(weight) ? "NaN" : "-inf") + " is the length of edge " +
                       std::to_string(edge) + ", from vertex " + std::to_string(from) + " to vertex " +
                       std::to_string(to) +
                       " (all counted from 0); an edge has a finite length, and +inf stands for no edge",
                   {.code = error_code::not_finite, .row = edge});
}

/// Calls visit(from, to, index of the edge) for edges [first, last) of the list.
template <class T, class Visit>
void visit_edges(const EdgeView<T>& edges, std::int64_t first, std::int64_t last, const Visit& visit) {
  for (std::int64_t edge = first; edge < last; ++edge) visit(edges.from[edge], edges.to[edge], edge);
}
template <class T, class Visit>
void visit_edges(const CsrView<T>& edges, std::int64_t first, std::int64_t last, const Visit& visit) {
  const std::int64_t* const starts = edges.starts.data();
  std::int64_t from = first < last ? std::upper_bound(starts, starts + edges.starts.size(), first) - starts - 1 : 0;
  for (std::int64_t edge = first; edge < last; ++edge) {
    while (starts[from + 1] == edge) ++from;
    visit(static_cast<std::int32_t>(from), edges.targets[edge], edge);
  }
}

template <class T>
void check_starts(const EdgeView<T>& /*edges*/) {}
template <class T>
void check_starts(const CsrView<T>& edges) {
  const VectorView<const std::int64_t> starts = edges.starts;
  if (starts.empty()) return;
  if (starts[0] != 0)
    throw InputError(about("edges") + "those from vertex 0 start at number " + std::to_string(starts[0]) +
                     " instead of 0");
  for (std::int64_t v = 1; v < starts.size(); ++v)
    if (starts[v] < starts[v - 1] || starts[v] > edges.targets.size())
      throw InputError(about("edges") + "those from vertex " + std::to_string(v - 1) + " (counted from 0) are number " +
                       std::to_string(starts[v - 1]) + " up to " + std::to_string(starts[v]) + ", of " +
                       std::to_string(edges.targets.size()) + "; starts must ascend from 0 to the number of edges");
  if (starts[starts.size() - 1] != edges.targets.size())
    throw InputError(about("edges") + "the last of the starts is " + std::to_string(starts[starts.size() - 1]) +
                     " instead of the number of edges, " + std::to_string(edges.targets.size()));
}

template <class T>
VectorView<const T> weights_of(const EdgeView<T>& edges) {
  return edges.weights;
}
template <class T>
VectorView<const T> weights_of(const CsrView<T>& edges) {
  return edges.weights;
}
/// Calls work(first, last) for consecutive blocks of [0, count), and polls for a stop request between two blocks.
template <class Work>
void in_stretches(std::int64_t count, const std::stop_token& stop, const Work& work) {
  for (std::int64_t first = 0; first < count; first += core::operations_between_polls) {
    core::honour_stop(stop, while_listing);
    work(first, std::min(first + core::operations_between_polls, count));
  }
}

/// Computes the index of each vertex's first edge from the numbers of edges, as prefix sums. On input, element v + 1 is
/// the number of edges of vertex v.
void add_up(Buffer<std::int64_t>& starts) {
  for (std::int64_t v = 1; v < starts.size(); ++v) starts[v] += starts[v - 1];
}

template <class T>
void take_loop(SparseGraph<T>& graph, std::int32_t v, T weight) {
  if (weight >= 0 || (graph.loop >= 0 && graph.loop < v)) return;
  if (graph.loop != v || weight < graph.loop_weight) graph.loop_weight = weight;
  graph.loop = v;
}

template <class T>
Wider<T> magnitude(T weight) {
  const Wider<T> wide = weight;
  return wide < 0 ? -wide : wide;
}

/// Returns facts about the graph. Also sets the graph's lightest and heaviest weight.
template <class T>
GraphFacts<T> examine(SparseGraph<T>& graph, const std::stop_token& stop) {
  GraphFacts<T> all;
  all.edges = graph.edges();
  all.negative = graph.loop >= 0;
  if (graph.edges() > 0) graph.lightest = graph.heaviest = graph.arcs[0].weight;
  for (std::int64_t u = 0; u < graph.n(); ++u) {
    if (u % (core::operations_between_polls / 16) == 0) core::honour_stop(stop, while_listing);
    Wider<T> greatest = 0;
    graph.for_each_edge_from(u, [&](std::int32_t, T weight) {
      graph.lightest = std::min(graph.lightest, weight);
      graph.heaviest = std::max(graph.heaviest, weight);
      greatest = std::max(greatest, magnitude(weight));
    });
    all.greatest += greatest;
  }
  all.negative |= graph.lightest < 0;
  all.positive = graph.edges() == 0 || graph.lightest > 0;
  return all;
}

/// Converts edge lists that already have the order of a SparseGraph: sorted by tail, without edges to skip. The
/// position of each edge in the result is then known, so threads store and examine the edges in parallel.
template <class T, class Edges>
class InOrder {
 public:
  InOrder(const Edges& edges, const EdgeRules<T>& rules)
      : edges_(edges), weights_(weights_of(edges)), rules_(rules), n_(vertices_of(edges)),
        count_(number_of_edges(edges)) {}

  /// Returns nothing if some edge is out of order, invalid, or to be skipped.
  std::optional<Listed<T>> list(int threads, const std::stop_token& stop) {
    threads = cpu::threads_for(count_, threads);
    if (rules_.undirected || !is_ascending(threads)) return {};
    Listed<T> listed;
    SparseGraph<T>& graph = listed.graph;
    graph.arcs = Buffer<Arc<T>>(count_);
    graph.starts = Buffer<std::int64_t>(n_ + 1);
    cpu::prefer_large_pages(graph.arcs.data(), static_cast<std::uint64_t>(count_) * sizeof(Arc<T>));
    cpu::prefer_large_pages(graph.starts.data(), static_cast<std::uint64_t>(n_ + 1) * sizeof(std::int64_t));
    const std::int64_t stretch = core::chunk_length(count_, 4, threads);
    const std::int64_t stretches = (count_ + stretch - 1) / stretch;
    std::vector<Found> found(static_cast<std::size_t>(stretches));
    std::atomic<bool> right = true;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t index = 0; index < stretches; ++index) {
      if (stop.stop_requested() || !right.load(std::memory_order_relaxed)) continue;
      Found& of_stretch = found[static_cast<std::size_t>(index)];
      put(graph, beginning_of_vertex(index * stretch), beginning_of_vertex((index + 1) * stretch), of_stretch);
      if (!of_stretch.right) right.store(false, std::memory_order_relaxed);
    }
    core::honour_stop(stop, while_listing);
    if (!right) return {};
    const std::int64_t last = count_ > 0 ? from(count_ - 1) : -1;
    std::fill(graph.starts.data() + last + 1, graph.starts.data() + n_ + 1, count_);
    if (count_ > 0) graph.lightest = graph.heaviest = graph.arcs[0].weight;
    for (const Found& of_stretch : found) {
      listed.facts.greatest += of_stretch.greatest;
      if (of_stretch.edges == 0) continue;
      graph.lightest = std::min(graph.lightest, of_stretch.lightest);
      graph.heaviest = std::max(graph.heaviest, of_stretch.heaviest);
    }
    listed.facts.edges = count_;
    listed.facts.negative = graph.lightest < 0;
    listed.facts.positive = count_ == 0 || graph.lightest > 0;
    return listed;
  }

 private:
  /// Facts about the edges of some vertices.
  struct Found {
    bool right = true;
    std::int64_t edges = 0;
    T lightest = 0;
    T heaviest = 0;
    Wider<T> greatest = 0;  ///< sum, over these vertices, of the greatest magnitude of an edge
  };

  std::int32_t from(std::int64_t edge) const {
    std::int32_t vertex = 0;
    visit_edges(edges_, edge, edge + 1, [&vertex](std::int32_t from, std::int32_t, std::int64_t) { vertex = from; });
    return vertex;
  }

  /// Returns true if the tails are valid and ascending. This must be known before any edge is stored. If the tails were
  /// invalid or out of order, threads would write to each other's places. For most unsorted lists, the check ends
  /// early.
  bool is_ascending(int threads) const {
    if constexpr (std::is_same_v<Edges, EdgeView<T>>) {
      const std::int32_t* const from = edges_.from.data();
      if (!std::is_sorted(from, from + std::min<std::int64_t>(count_, 64))) return false;
      if (count_ > 0 && (from[0] < 0 || from[count_ - 1] >= n_)) return false;
      int ascending = 1;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(& : ascending)
      for (std::int64_t edge = 1; edge < count_; ++edge) ascending &= static_cast<int>(from[edge - 1] <= from[edge]);
      return ascending != 0;
    }
    return true;
  }

  /// Returns the first edge, at or after `edge`, whose tail differs from the tail of the edge before it.
  std::int64_t beginning_of_vertex(std::int64_t edge) const {
    if (edge >= count_) return count_;
    if constexpr (std::is_same_v<Edges, EdgeView<T>>) {
      if (edge == 0) return 0;
      return std::upper_bound(edges_.from.begin() + edge, edges_.from.end(), edges_.from[edge - 1]) -
             edges_.from.begin();
    } else {
      const auto starts = edges_.starts;
      return *std::lower_bound(starts.begin(), starts.end(), edge);
    }
  }

  void put(SparseGraph<T>& graph, std::int64_t first, std::int64_t last, Found& found) const {
    if (first >= last) return;
    Arc<T>* const arcs = graph.arcs.data();
    std::int64_t* const starts = graph.starts.data();
    const T* const weights = weights_.data();
    const bool given = !weights_.empty();
    const bool counted = given && !rules_.unweighted;
    std::int64_t before = first > 0 ? from(first - 1) : -1;
    bool right = true;
    T lightest = std::numeric_limits<T>::max();
    T heaviest = std::numeric_limits<T>::lowest();
    Wider<T> of_vertex = 0;
    visit_edges(edges_, first, last, [&](std::int32_t from, std::int32_t to, std::int64_t edge) {
      const T weight = given ? weights[edge] : T{1};
      const T length = counted ? weight + T{0} : T{1};  // adding 0 turns -0 into 0
      right &= to >= 0 && to < n_ && to != from && weight != rules_.no_edge && weight != no_route<T>();
      if constexpr (std::is_floating_point_v<T>) right &= weight > -std::numeric_limits<T>::infinity();
      arcs[edge] = {to, length};
      if (from != before) {
        for (std::int64_t v = before + 1; v <= from; ++v) starts[v] = edge;
        before = from;
        found.greatest += of_vertex;
        of_vertex = 0;
      }
      of_vertex = std::max(of_vertex, magnitude(length));
      lightest = std::min(lightest, length);
      heaviest = std::max(heaviest, length);
    });
    found.right = right;
    found.edges = last - first;
    found.greatest += of_vertex;
    found.lightest = lightest;
    found.heaviest = heaviest;
  }

  const Edges& edges_;
  VectorView<const T> weights_;
  const EdgeRules<T>& rules_;
  std::int64_t n_;
  std::int64_t count_;
};

/// Converts edges in any order.
template <class T, class Edges>
SparseGraph<T> list_any(const Edges& edges, const EdgeRules<T>& rules, const std::stop_token& stop) {
  const std::int64_t n = vertices_of(edges);
  const std::int64_t count = number_of_edges(edges);
  const VectorView<const T> weights = weights_of(edges);
  const auto weight_of = [&](std::int64_t edge) { return weights.empty() ? T{1} : weights[edge]; };
  const auto is_edge = [&](T weight) { return weight != rules.no_edge && weight != no_route<T>(); };
  SparseGraph<T> graph;
  // This buffer has one more element than `starts` of the result, because storing the arcs shifts all starts by one
  // vertex.
  Buffer<std::int64_t> next(n + 2, 0);
  in_stretches(count, stop, [&](std::int64_t first, std::int64_t last) {
    visit_edges(edges, first, last, [&](std::int32_t from, std::int32_t to, std::int64_t edge) {
      if (from < 0 || from >= n || to < 0 || to >= n) throw_no_such_vertex(edge, from, to, n);
      const T weight = weight_of(edge);
      if constexpr (std::is_floating_point_v<T>)
        if (!(weight > -std::numeric_limits<T>::infinity())) throw_no_length(edge, from, to, weight);
      if (!is_edge(weight)) return;
      if (from == to) {
        if (!rules.unweighted) take_loop(graph, from, weight);
        return;
      }
      ++next[from + 2];
      if (rules.undirected) ++next[to + 2];
    });
  });
  add_up(next);
  graph.arcs = Buffer<Arc<T>>(next[n + 1]);
  cpu::prefer_large_pages(graph.arcs.data(), static_cast<std::uint64_t>(next[n + 1]) * sizeof(Arc<T>));
  in_stretches(count, stop, [&](std::int64_t first, std::int64_t last) {
    visit_edges(edges, first, last, [&](std::int32_t from, std::int32_t to, std::int64_t edge) {
      const T weight = weight_of(edge);
      if (from == to || !is_edge(weight)) return;
      const T length = rules.unweighted ? T{1} : weight + T{0};  // adding 0 turns -0 into 0
      graph.arcs[next[from + 1]++] = {to, length};
      if (rules.undirected) graph.arcs[next[to + 1]++] = {from, length};
    });
  });
  graph.starts = Buffer<std::int64_t>(n + 1);
  std::copy_n(next.data(), n + 1, graph.starts.data());
  return graph;
}

template <class T, class Edges>
Listed<T> list_edges(const Edges& edges, const EdgeRules<T>& rules, int threads, const std::stop_token& stop) {
  check_starts(edges);
  if (auto in_order = InOrder<T, Edges>(edges, rules).list(threads, stop)) return std::move(*in_order);
  Listed<T> listed{list_any(edges, rules, stop), {}};
  listed.facts = examine(listed.graph, stop);
  return listed;
}

}  // namespace

template <class T>
void check_edges(const EdgeView<T>& edges) {
  check_vertices(edges.vertices);
  check_list(edges.from, "edges: from", edges.from.size(), false);
  check_list(edges.to, "edges: to", edges.from.size(), false);
  check_list(edges.weights, "edges: weights", edges.from.size(), true);
}

template <class T>
void check_edges(const CsrView<T>& edges) {
  check_list(edges.starts, "edges: starts", edges.starts.size(), false);
  check_vertices(edges.vertices());
  check_list(edges.targets, "edges: targets", edges.targets.size(), false);
  check_list(edges.weights, "edges: weights", edges.targets.size(), true);
  if (edges.starts.empty() && !edges.targets.empty())
    throw UsageError(about("edges") + "starts: there are none for " + std::to_string(edges.targets.size()) +
                     " edges; one more than there are vertices is needed");
}

std::uint64_t sparse_graph_bytes(std::int64_t vertices, std::int64_t edges, bool undirected, int element_bytes) {
  const std::uint64_t arc = element_bytes == 4 ? sizeof(Arc<std::int32_t>) : sizeof(Arc<std::int64_t>);
  const std::uint64_t arcs =
      core::checked_multiply(static_cast<std::uint64_t>(edges), undirected ? 2 * arc : arc, "edges");
  // Two copies of the starts exist for a while.
  return core::checked_add(arcs, (static_cast<std::uint64_t>(vertices) + 2) * 16, "edges");
}

template <class T>
Listed<T> listed(const EdgeView<T>& edges, const EdgeRules<T>& rules, int threads, const std::stop_token& stop) {
  return list_edges<T>(edges, rules, threads, stop);
}
template <class T>
Listed<T> listed(const CsrView<T>& edges, const EdgeRules<T>& rules, int threads, const std::stop_token& stop) {
  return list_edges<T>(edges, rules, threads, stop);
}

template <class T>
SparseGraph<T> sparse_graph(const Graph<T>& matrix, int threads, const std::stop_token& stop) {
  const std::int64_t n = matrix.n();
  threads = cpu::threads_for(n * n, threads);
  SparseGraph<T> graph;
  graph.starts = Buffer<std::int64_t>(n + 1, 0);
  const std::int64_t stretch = core::chunk_length(n, n, threads);
  const auto each_row = [&](const auto& work) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t first = 0; first < n; first += stretch) {
      if (stop.stop_requested()) continue;
      for (std::int64_t u = first; u < std::min(first + stretch, n); ++u) work(u);
    }
    core::honour_stop(stop, while_listing);
  };
  each_row([&](std::int64_t u) {
    const T* const row = matrix.weights.row(u);
    std::int64_t count = 0;
    for (std::int64_t v = 0; v < n; ++v) count += static_cast<std::int64_t>(matrix.is_edge(row[v]));
    graph.starts[u + 1] = count - static_cast<std::int64_t>(matrix.is_edge(row[u]));
  });
  add_up(graph.starts);
  graph.arcs = Buffer<Arc<T>>(graph.starts[n]);
  each_row([&](std::int64_t u) {
    Arc<T>* arc = graph.arcs.data() + graph.starts[u];
    matrix.for_each_edge_from(u, [&](std::int64_t v, T weight) {
      *arc++ = {static_cast<std::int32_t>(v), weight + T{0}};
    });
  });
  for (std::int64_t v = 0; v < n; ++v)
    if (matrix.is_edge(matrix.weights(v, v))) take_loop(graph, static_cast<std::int32_t>(v), matrix.weights(v, v));
  examine(graph, stop);
  return graph;
}

template <class T>
Matrix<T> adapted(const Graph<T>& matrix, const EdgeRules<T>& rules, int threads, const std::stop_token& stop) {
  constexpr std::int64_t side = 64;  // side of the blocks in which the matrix is read along rows and along columns
  const std::int64_t n = matrix.n();
  threads = cpu::threads_for(n * n, threads);
  Matrix<T> weights(n, n);
  const auto weight_at = [&](std::int64_t u, std::int64_t v) {
    const T weight = matrix.weights(u, v);
    if (!matrix.is_edge(weight)) return no_route<T>();
    return rules.unweighted ? T{1} : weight;
  };
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t top = 0; top < n; top += side)
    for (std::int64_t left = 0; left < n && !stop.stop_requested(); left += side)
      for (std::int64_t u = top; u < std::min(top + side, n); ++u)
        for (std::int64_t v = left; v < std::min(left + side, n); ++v) {
          const T there = weight_at(u, v);
          weights(u, v) = rules.undirected ? std::min(there, weight_at(v, u)) : there;
        }
  core::honour_stop(stop, "stopped while adapting the matrix");
  return weights;
}

template <class T>
void write_matrix(const SparseGraph<T>& graph, MatrixView<T> weights, int threads, const std::stop_token& stop) {
  const std::int64_t n = graph.n();
  threads = cpu::threads_for(n * n, threads);
  const std::int64_t stretch = core::chunk_length(n, n, threads);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t first = 0; first < n; first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t u = first; u < std::min(first + stretch, n); ++u) {
      T* const row = weights.row(u);
      std::fill_n(row, n, no_route<T>());
      graph.for_each_edge_from(u, [row](std::int32_t v, T weight) { row[v] = std::min(row[v], weight); });
    }
  }
  if (graph.loop >= 0) weights(graph.loop, graph.loop) = graph.loop_weight;
  core::honour_stop(stop, "stopped while making a matrix of the edges");
}

#define GRADUS_INSTANTIATE(T)                                                                      \
  template void check_edges(const EdgeView<T>&);                                                   \
  template void check_edges(const CsrView<T>&);                                                    \
  template Listed<T> listed(const EdgeView<T>&, const EdgeRules<T>&, int, const std::stop_token&); \
  template Listed<T> listed(const CsrView<T>&, const EdgeRules<T>&, int, const std::stop_token&);  \
  template SparseGraph<T> sparse_graph(const Graph<T>&, int, const std::stop_token&);              \
  template Matrix<T> adapted(const Graph<T>&, const EdgeRules<T>&, int, const std::stop_token&);   \
  template void write_matrix(const SparseGraph<T>&, MatrixView<T>, int, const std::stop_token&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::shortest_paths_detail
