// The graph as a caller gave it, and what all its edges together tell.
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

/// A matrix of weights in host memory.
template <class T>
struct Graph {
  using Weight = T;

  MatrixView<const T> weights;
  T no_edge = no_route<T>();  ///< stands for none beside no_route()

  std::int64_t n() const { return weights.rows(); }
  bool is_edge(T weight) const { return weight != no_edge && weight != no_route<T>(); }
  T weight(std::int64_t from, std::int64_t to) const { return weights(from, to); }
  /// The first vertex with an edge below 0 to itself, or -1.
  std::int64_t negative_loop() const {
    for (std::int64_t v = 0; v < n(); ++v)
      if (weights(v, v) < 0 && is_edge(weights(v, v))) return v;
    return -1;
  }

  /// visit(v, weight) for the edges from u to other vertices, v ascending.
  template <class Visit>
  void for_each_edge_from(std::int64_t u, const Visit& visit) const {
    const T* const row = weights.row(u);
    for (std::int64_t v = 0; v < n(); ++v)
      if (v != u && is_edge(row[v])) visit(v, row[v]);
  }
};

struct Facts {
  std::int64_t edges = 0;  ///< between different vertices
  bool negative = false;   ///< one of them is, or one on the diagonal
  bool positive = true;    ///< all of them are
};

/// In which type a job computes: in its own, in the next one that is an element type too, or in what is wider still.
enum class Width : std::uint8_t { own, next, wide };

/// Of the edges from one vertex.
template <class T>
struct OfRow : Facts {
  Wider<T> greatest = 0;         ///< in magnitude
  std::int64_t impossible = -1;  ///< the first column of NaN or -inf
};

/// What a look at all edges finds out.
template <class T>
struct Examined : Facts {
  /// The length of no route without cycles is greater in magnitude: the sum of the greatest magnitudes of the edges
  /// from each vertex.
  Wider<T> greatest = 0;

  void add(const OfRow<T>& row) {
    edges += row.edges;
    negative |= row.negative;
    positive &= row.positive;
    greatest += row.greatest;
  }

  /// The least type in which sums of two elements of a matrix do not wrap, and routes stay apart from what is none.
  Width width() const {
    constexpr auto most = static_cast<Wider<T>>(std::numeric_limits<T>::max());
    if constexpr (std::is_floating_point_v<T>) {
      if (greatest <= most / 4) return Width::own;  // rounding adds less than as much again
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

/// InputError for NaN and -inf, which names the first of them.
template <class T>
Examined<T> examine(const Graph<T>& graph, int threads, const std::stop_token& stop);

/// InputError for NaN or -inf, found there.
template <class T>
[[noreturn]] void throw_impossible(T weight, std::int64_t row, std::int64_t column);

/// Writes the graph into the matrix in which a variant works; see Problem::distances. C: T, or what is wider. The
/// matrix may be that of the weights.
template <class T, class C>
void fill(const Graph<T>& graph, MatrixView<C> distances, int threads, const std::stop_token& stop);

}  // namespace gradus::shortest_paths_detail
