// A graph as lists of the edges from each vertex, made of whatever a caller gave.
#pragma once

#include <cstdint>
#include <stop_token>

#include "gradus/graph.hpp"
#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

/// An edge, beside the vertex from which it goes. Target and weight lie side by side, for they are read together.
template <class T>
struct Arc {
  std::int32_t to;
  T weight;
};

/// How edges are taken.
template <class T>
struct Taking {
  T no_edge = no_route<T>();  ///< stands for none beside no_route()
  bool undirected = false;    ///< each also the other way
  bool unweighted = false;    ///< each of length 1

  bool as_they_are() const { return !undirected && !unweighted; }
};

/// Parallel edges stay side by side: whoever looks for a least length passes over the heavier ones. Edges from a vertex
/// to itself are left out, but for `loop`; -0 is 0.
template <class T>
struct SparseGraph {
  using Weight = T;

  Buffer<std::int64_t> starts;  ///< of the edges from each vertex, and the end of all
  Buffer<Arc<T>> arcs;
  std::int32_t loop = -1;  ///< the first vertex with an edge below 0 to itself, and its length
  T loop_weight = 0;
  T lightest = 0;  ///< of the arcs, or 0 where there are none
  T heaviest = 0;

  std::int64_t n() const { return starts.size() - 1; }
  std::int64_t edges() const { return starts[n()]; }
  std::int64_t negative_loop() const { return loop; }

  /// The length of an edge that there is.
  T weight(std::int64_t from, std::int64_t to) const {
    if (from == to) return loop_weight;
    T least = no_route<T>();
    for_each_edge_from(from, [&](std::int64_t v, T weight) {
      if (v == to && weight < least) least = weight;
    });
    return least;
  }

  /// visit(v, weight) for the edges from u to other vertices.
  template <class Visit>
  void for_each_edge_from(std::int64_t u, const Visit& visit) const {
    for (std::int64_t edge = starts[u]; edge < starts[u + 1]; ++edge) visit(arcs[edge].to, arcs[edge].weight);
  }
};

/// UsageError as gradus/graph.hpp says, InputError for more vertices than can be numbered. Reads no element.
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

/// Bytes of a SparseGraph, at most.
std::uint64_t sparse_graph_bytes(std::int64_t vertices, std::int64_t edges, bool undirected, int element_bytes);

/// A graph, and what all its edges tell.
template <class T>
struct Listed {
  SparseGraph<T> graph;
  Examined<T> facts;
};

/// InputError for vertices that do not exist, starts that do not ascend, NaN and -inf, which names the first of them.
template <class T>
Listed<T> listed(const EdgeView<T>& edges, const Taking<T>& taking, int threads, const std::stop_token& stop);
template <class T>
Listed<T> listed(const CsrView<T>& edges, const Taking<T>& taking, int threads, const std::stop_token& stop);
/// Of a matrix that examine() has looked at.
template <class T>
SparseGraph<T> sparse_graph(const Graph<T>& matrix, int threads, const std::stop_token& stop);

/// A matrix as `taking` says: of its edges there and back the lighter one, or edges of length 1, and no_route() where
/// there is none.
template <class T>
Matrix<T> adapted(const Graph<T>& matrix, const Taking<T>& taking, int threads, const std::stop_token& stop);

/// The lightest edges as a matrix of weights, N x N, and no_route() where there is none.
template <class T>
void write_matrix(const SparseGraph<T>& graph, MatrixView<T> weights, int threads, const std::stop_token& stop);

}  // namespace gradus::shortest_paths_detail
