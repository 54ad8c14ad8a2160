// The caller's graph, and facts about all of its edges.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <type_traits>

#include "gradus/array.hpp"
#include "shortest_paths/no_route.hpp"
#include "shortest_paths/problem.hpp"

namespace gradus::shortest_paths_detail {

/// A matrix of weights, normally in host memory.
template <class T>
struct Graph {
  using Weight = T;

  MatrixView<const T> weights;
  T no_edge = no_route<T>();  ///< weight that means "no edge", in addition to no_route()

  std::int64_t n() const { return weights.rows(); }
  bool is_edge(T weight) const { return weight != no_edge && weight != no_route<T>(); }
  T weight(std::int64_t from, std::int64_t to) const { return weights(from, to); }
  /// Returns the first vertex with a negative edge to itself, or -1.
  std::int64_t negative_loop() const {
    for (std::int64_t v = 0; v < n(); ++v)
      if (weights(v, v) < 0 && is_edge(weights(v, v))) return v;
    return -1;
  }

  /// Calls visit(v, weight) for the edges from u to other vertices, in ascending order of v.
  template <class Visit>
  void for_each_edge_from(std::int64_t u, const Visit& visit) const {
    const T* const row = weights.row(u);
    for (std::int64_t v = 0; v < n(); ++v)
      if (v != u && is_edge(row[v])) visit(v, row[v]);
  }
};

struct Facts {
  std::int64_t edges = 0;  ///< number of edges between different vertices
  bool negative = false;   ///< true if some edge is negative, including edges from a vertex to itself
  bool positive = true;    ///< true if all edges between different vertices are positive
};

/// The type in which a job computes: the weights' type, the next wider element type, or a type wider than all element
/// types.
enum class Width : std::uint8_t { own, next, wide };

template <class T>
struct RowEdgeFacts : Facts {
  Wider<T> greatest = 0;
  std::int64_t impossible = -1;  ///< the first column with NaN or -inf
};

template <class T>
struct GraphFacts : Facts {
  /// An upper bound of the magnitude of the length of any route without cycles. It is the sum, over all vertices, of
  /// the greatest magnitude of an outgoing edge.
  Wider<T> greatest = 0;

  void add(const RowEdgeFacts<T>& row) {
    edges += row.edges;
    negative |= row.negative;
    positive &= row.positive;
    greatest += row.greatest;
  }

  /// Returns the narrowest type in which no sum of two elements wraps and every length differs from "no route".
  Width width() const {
    constexpr auto most = static_cast<Wider<T>>(std::numeric_limits<T>::max());
    if constexpr (std::is_floating_point_v<T>) {
      if (greatest <= most / 4) return Width::own;  // sums of two need half of the range; the rest is for rounding
    } else {
      if (greatest < unreachable<T>() / 3) return Width::own;
    }
    return sizeof(T) == 4 ? Width::next : Width::wide;
  }

  Shape shape(std::int64_t vertices, bool predecessors) const {
    return {.vertices = vertices,
            .edges = edges,
            .element_bytes = width() == Width::next ? 8 : static_cast<int>(sizeof(T)),
            .floating = std::is_floating_point_v<T>,
            .negative = negative,
            .wide = width() == Width::wide,
            .predecessors = predecessors};
  }
};

/// Examines all edges. Throws InputError for the first NaN or -inf.
template <class T>
GraphFacts<T> examine(const Graph<T>& graph, int threads, const std::stop_token& stop);

template <class T>
[[noreturn]] void throw_impossible(T weight, std::int64_t row, std::int64_t column);

/// Writes the graph into a variant's matrix (Problem::distances). The matrix may be the memory of the weights. C is T
/// or a wider type.
template <class T, class C>
void fill(const Graph<T>& graph, MatrixView<C> distances, int threads, const std::stop_token& stop);

}  // namespace gradus::shortest_paths_detail
