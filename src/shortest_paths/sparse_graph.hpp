// A graph as lists of the edges from each vertex, converted from any form that a caller may pass.
#pragma once

#include <cstdint>
#include <stop_token>

#include "gradus/graph.hpp"
#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

/// An edge without its tail. Head and weight are adjacent because they are read together.
template <class T>
struct Arc {
  std::int32_t to;
  T weight;
};

/// The rules for interpreting the caller's edges.
template <class T>
struct EdgeRules {
  T no_edge = no_route<T>();  ///< weight that means "no edge", in addition to no_route()
  bool undirected = false;    ///< true if each edge is also used in the opposite direction
  bool unweighted = false;    ///< true if each edge has length 1, whatever its weight is

  bool unchanged() const { return !undirected && !unweighted; }
};

/// A graph as edge lists. Parallel edges are adjacent, and users of the lists ignore the heavier ones. Edges from a
/// vertex to itself are omitted, but `loop` describes the first of these edges that is negative. -0 is stored as 0.
template <class T>
struct SparseGraph {
  using Weight = T;

  Buffer<std::int64_t> starts;  ///< index of the first edge of each vertex; at the end, the number of edges
  Buffer<Arc<T>> arcs;
  std::int32_t loop = -1;  ///< the first vertex with a negative edge to itself, and the weight of this edge
  T loop_weight = 0;
  T lightest = 0;  ///< weight of the lightest arc, or 0 without arcs
  T heaviest = 0;

  std::int64_t n() const { return starts.size() - 1; }
  std::int64_t edges() const { return starts[n()]; }
  std::int64_t negative_loop() const { return loop; }

  /// Returns the weight of an edge, which must exist.
  T weight(std::int64_t from, std::int64_t to) const {
    if (from == to) return loop_weight;
    T least = no_route<T>();
    for_each_edge_from(from, [&](std::int64_t v, T weight) {
      if (v == to && weight < least) least = weight;
    });
    return least;
  }

  /// Calls visit(v, weight) for the edges from u to other vertices.
  template <class Visit>
  void for_each_edge_from(std::int64_t u, const Visit& visit) const {
    for (std::int64_t edge = starts[u]; edge < starts[u + 1]; ++edge) visit(arcs[edge].to, arcs[edge].weight);
  }
};

/// Throws UsageError as documented in gradus/graph.hpp, and InputError for too many vertices. Does not read elements.
template <class T>
void check_edges(const EdgeView<T>& edges);
template <class T>
void check_edges(const CsrView<T>& edges);

template <class T>
std::int64_t vertices_of(const EdgeView<T>& edges) {
  return edges.vertices;
}
template <class T>
std::int64_t vertices_of(const CsrView<T>& edges) {
  return edges.vertices();
}
template <class T>
std::int64_t number_of_edges(const EdgeView<T>& edges) {
  return edges.from.size();
}
template <class T>
std::int64_t number_of_edges(const CsrView<T>& edges) {
  return edges.targets.size();
}

/// Returns an upper bound of the bytes that a SparseGraph occupies.
std::uint64_t sparse_graph_bytes(std::int64_t vertices, std::int64_t edges, bool undirected, int element_bytes);

/// A graph and facts about all of its edges.
template <class T>
struct Listed {
  SparseGraph<T> graph;
  GraphFacts<T> facts;
};

/// Converts the caller's edges. Throws InputError for the first nonexistent vertex, descending start, NaN or -inf.
template <class T>
Listed<T> listed(const EdgeView<T>& edges, const EdgeRules<T>& rules, int threads, const std::stop_token& stop);
template <class T>
Listed<T> listed(const CsrView<T>& edges, const EdgeRules<T>& rules, int threads, const std::stop_token& stop);
/// Converts a matrix that examine() has checked.
template <class T>
SparseGraph<T> sparse_graph(const Graph<T>& matrix, int threads, const std::stop_token& stop);

/// Returns the matrix of weights that results from `rules`, with no_route() for "no edge". Undirected edges get the
/// lighter weight of both directions; unweighted edges get length 1.
template <class T>
Matrix<T> adapted(const Graph<T>& matrix, const EdgeRules<T>& rules, int threads, const std::stop_token& stop);

/// Writes the edges as an N x N matrix of weights, with no_route() for "no edge". Of parallel edges, writes the
/// lightest.
template <class T>
void write_matrix(const SparseGraph<T>& graph, MatrixView<T> weights, int threads, const std::stop_token& stop);

}  // namespace gradus::shortest_paths_detail
