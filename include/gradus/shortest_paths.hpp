/// All-pairs shortest paths: the length of the shortest route between every pair of vertices of a graph, and the route.
///
/// The graph is a matrix of weights, in which weights(v, w) is the length of the edge from v to w, or a list of edges
/// (graph.hpp). A matrix and a list of the same edges give the same results. Lengths may be negative. An edge may also
/// have the length 0 or the smallest denormal; -0 means 0. "No edge" is the largest value of an integer type, +inf for
/// floating-point types, and also ShortestPathsOptions::no_edge. An element on the diagonal is an edge from a vertex to
/// itself, which matters only if it is negative.
///
/// Canonical result:
///
/// * Distance D(i, j): the smallest sum of weights of any route from i to j. It is "no edge" if there is no route. D(i,
///   i) = 0.
/// * Integers: exact, the same bits from every variant. If a distance does not fit its type or equals the type's "no
///   edge", the call throws a VertexError (graph.hpp) with the pair of vertices and a type that is large enough.
/// * Floating point: D(i, j) is the length of a route from i to j, added up in some order. The route may go through a
///   cycle of length 0, or of negative length within rounding. Let N be the number of vertices, u the unit roundoff and
///   g = (N - 1) u / (1 - (N - 1) u). D(i, j) exceeds the exact length of a shortest route by at most g times the sum
///   of the absolute weights on that route. D(i, j) is below the exact length of the route it measures by at most g
///   times the sum of the absolute weights on this route. The bits depend on the variant. For a distance beyond the
///   largest number, the call throws a VertexError as above.
/// * Predecessor P(i, j): the last but one vertex of a shortest route from i to j, counted from 0. It is -1 if there is
///   no route, and on the diagonal. Integers: the lowest v other than j with an edge from v to j and D(i, v) +
///   weights(v, j) = D(i, j). If the graph has a cycle of length 0 through at least two vertices, v must also be on a
///   shortest route with the fewest edges. Floating point: walking back from j by P(i, .) reaches i in fewer than N
///   steps. The exact length of this route exceeds the minimum by at most 2 g times the sum of the absolute weights on
///   both routes.
/// * Negative cycle, anywhere in the graph: throws a VertexError, because no route through the cycle is shortest. The
///   error lists the vertices of the cycle in order and repeats the first one at the end. For floating point, a
///   reported cycle is negative by exact sums. A cycle may remain undetected if its length is within the rounding error
///   of lengths, including the lengths of routes to the cycle. The result then treats the length of this cycle as 0.
///
/// Complexity: N^3 additions and comparisons, or twice as many with predecessors, and memory for N^2 elements. If there
/// are few edges or sources: O(S (edges + N) log N) time and O(S N + edges) memory.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/graph.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

struct ShortestPathsOptions {
  bool predecessors = false;  ///< also computes P, from which shortest_path_route() finds routes
  /// An additional value that means "no edge" in the weights. In results, only the type's value means "no edge". Throws
  /// UsageError for NaN and -inf, for a value that the type does not hold, and for integers from 2^53 on, because a
  /// double does not represent all of them exactly.
  std::optional<double> no_edge = std::nullopt;
  std::int64_t tile = 0;  ///< tile side for tiled variants; 0: the variant's choice
  /// Source vertices. The results have S rows, one per source, in the order of the sources. A repeated source has
  /// repeated rows. Empty: all vertices, S = N. Throws UsageError for vertices that do not exist.
  std::vector<std::int64_t> sources = {};
  /// Treats each edge as bidirectional. Of two edges between the same vertices, the lighter one counts. A negative edge
  /// is then a negative cycle.
  bool undirected = false;
  bool unweighted = false;  ///< treats every edge as having length 1
};

/// Memory for results, in host memory or on the GPU. For an empty view, the call allocates host memory.
template <class T>
struct ShortestPathsMemory {
  MatrixView<T> distances = {};                ///< S x N; if `sources` is empty, may be the memory of the weights
  MatrixView<std::int32_t> predecessors = {};  ///< S x N
};

template <class T>
struct ShortestPathsResult {
  Matrix<T> distances;                ///< S x N; empty if the caller gave memory
  Matrix<std::int32_t> predecessors;  ///< S x N; empty if the caller gave memory or did not request predecessors
  RunReport report;
};

/// One route.
template <class T>
struct ShortestRoute {
  /// from the start of the route to its end, both included; empty if there is no route
  std::vector<std::int32_t> vertices;
  T distance = 0;  ///< "no edge" if there is no route
  RunReport report;
};

/// The size of a job. Together with ShortestPathsOptions, it determines the memory that the job needs.
struct ShortestPathsShape {
  std::int64_t vertices = 0;
  std::int64_t edges = -1;  ///< number of listed edges; -1: the input is a matrix of weights
  int element_bytes = 4;    ///< 4: int32, float; 8: int64, double
  bool floating = false;    ///< true if the type is float or double
  bool negative = false;    ///< true if some edge is negative
  bool wide_sums = false;   ///< true if N times the heaviest edge exceeds a sixth of the type's largest number
  bool in_place = false;    ///< true if the distances overwrite the weights
};

namespace detail {

/// Entry points of libgradus for the functions below.
template <class T>
GRADUS_EXPORT ShortestPathsResult<T> shortest_paths(MatrixView<const T> weights, const ShortestPathsOptions& options,
                                                    const ShortestPathsMemory<T>& memory, const Execution& execution);
template <class T>
GRADUS_EXPORT ShortestPathsResult<T> shortest_paths(const EdgeView<T>& edges, const ShortestPathsOptions& options,
                                                    const ShortestPathsMemory<T>& memory, const Execution& execution);
template <class T>
GRADUS_EXPORT ShortestPathsResult<T> shortest_paths(const CsrView<T>& edges, const ShortestPathsOptions& options,
                                                    const ShortestPathsMemory<T>& memory, const Execution& execution);
template <class T>
GRADUS_EXPORT ShortestRoute<T> shortest_route(MatrixView<const T> weights, std::int64_t from, std::int64_t to,
                                              const ShortestPathsOptions& options, const Execution& execution);
template <class T>
GRADUS_EXPORT ShortestRoute<T> shortest_route(const EdgeView<T>& edges, std::int64_t from, std::int64_t to,
                                              const ShortestPathsOptions& options, const Execution& execution);
template <class T>
GRADUS_EXPORT ShortestRoute<T> shortest_route(const CsrView<T>& edges, std::int64_t from, std::int64_t to,
                                              const ShortestPathsOptions& options, const Execution& execution);

/// An element type of weights.
template <class T>
concept Weight =
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> || std::same_as<T, float> || std::same_as<T, double>;

}  // namespace detail

/// Computes the shortest paths between all vertices of a graph. `weights` is the N x N matrix of edge lengths (N >= 0).
/// Its elements are std::int32_t, std::int64_t, float or double.
///
/// Weights on a GPU are used in place, after the work on Execution::stream. They are copied to host memory only in
/// three cases: if predecessors are requested for floating-point weights, if a negative cycle must be identified, and
/// if a cycle of length 0 affects predecessors.
///
/// Throws UsageError for invalid options and malformed views (see array.hpp), and InputError for NaN, -inf, negative
/// cycles and distances that do not fit the type. Throws UnsupportedError if the variant or device cannot run here,
/// OutOfMemoryError if memory does not suffice, and InterruptedError after a stop request. After an error the contents
/// of the caller's memory are undefined.
template <RowsOf<std::int32_t, std::int64_t, float, double> Weights>
ShortestPathsResult<ElementOf<Weights>> shortest_paths(const Weights& weights, const ShortestPathsOptions& options,
                                                       const ShortestPathsMemory<ElementOf<Weights>>& memory,
                                                       const Execution& execution = {}) {
  return detail::shortest_paths<ElementOf<Weights>>(view_of(weights), options, memory, execution);
}
template <RowsOf<std::int32_t, std::int64_t, float, double> Weights>
ShortestPathsResult<ElementOf<Weights>> shortest_paths(const Weights& weights, const ShortestPathsOptions& options = {},
                                                       const Execution& execution = {}) {
  return detail::shortest_paths<ElementOf<Weights>>(view_of(weights), options, {}, execution);
}

/// Overloads for a graph given by its edges. Weights that mean "no edge" in a matrix also mean "no edge" here.
template <detail::Weight T>
ShortestPathsResult<T> shortest_paths(const EdgeView<T>& edges, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution = {}) {
  return detail::shortest_paths<T>(edges, options, memory, execution);
}
template <detail::Weight T>
ShortestPathsResult<T> shortest_paths(const EdgeView<T>& edges, const ShortestPathsOptions& options = {},
                                      const Execution& execution = {}) {
  return detail::shortest_paths<T>(edges, options, {}, execution);
}
template <detail::Weight T>
ShortestPathsResult<T> shortest_paths(const CsrView<T>& edges, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution = {}) {
  return detail::shortest_paths<T>(edges, options, memory, execution);
}
template <detail::Weight T>
ShortestPathsResult<T> shortest_paths(const CsrView<T>& edges, const ShortestPathsOptions& options = {},
                                      const Execution& execution = {}) {
  return detail::shortest_paths<T>(edges, options, {}, execution);
}

/// Returns the shortest route from one vertex to another, by the canonical predecessors. Throws the errors of
/// shortest_paths(), except errors about distances to other vertices. Also throws UsageError for vertices that do not
/// exist, and if the options name sources. Memory O(edges + N); time at most O((edges + N) log N), because the search
/// stops at the target. If there are negative edges, the search first covers all edges to find negative cycles.
template <RowsOf<std::int32_t, std::int64_t, float, double> Weights>
ShortestRoute<ElementOf<Weights>> shortest_route(const Weights& weights, std::int64_t from, std::int64_t to,
                                                 const ShortestPathsOptions& options = {},
                                                 const Execution& execution = {}) {
  return detail::shortest_route<ElementOf<Weights>>(view_of(weights), from, to, options, execution);
}
template <detail::Weight T>
ShortestRoute<T> shortest_route(const EdgeView<T>& edges, std::int64_t from, std::int64_t to,
                                const ShortestPathsOptions& options = {}, const Execution& execution = {}) {
  return detail::shortest_route<T>(edges, from, to, options, execution);
}
template <detail::Weight T>
ShortestRoute<T> shortest_route(const CsrView<T>& edges, std::int64_t from, std::int64_t to,
                                const ShortestPathsOptions& options = {}, const Execution& execution = {}) {
  return detail::shortest_route<T>(edges, from, to, options, execution);
}

/// Returns an upper bound of the memory that shortest_paths() needs in addition to its input and results, for any graph
/// of this shape. A job may need less if a matrix has few edges. A job compares its own estimate with the available
/// memory before it allocates, and throws OutOfMemoryError with both numbers if the memory does not suffice. Throws
/// UsageError for invalid options and sizes.
GRADUS_EXPORT MemoryEstimate shortest_paths_memory(const ShortestPathsShape& shape, const ShortestPathsOptions& options,
                                                   const Execution& execution = {});

/// Returns the vertices of the shortest route from `from` to `to`, both included. `predecessors` is the N x N result of
/// shortest_paths(). If both vertices are the same, returns only `from`. If there is no route, returns nothing. Throws
/// UsageError for vertices that do not exist, and InputError if the matrix does not hold valid predecessors.
GRADUS_EXPORT std::vector<std::int32_t> shortest_path_route(MatrixView<const std::int32_t> predecessors,
                                                            std::int64_t from, std::int64_t to);
/// Overload for the row of predecessors that belongs to `from`.
GRADUS_EXPORT std::vector<std::int32_t> shortest_path_route(VectorView<const std::int32_t> predecessors,
                                                            std::int64_t from, std::int64_t to);

}  // namespace gradus
