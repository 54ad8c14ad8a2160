/// All-pairs shortest paths: the length of the shortest route between every two vertices of a graph, and the route.
///
/// The graph is a matrix of weights, weights(v, w) the length of the edge from v to w, or lists of its edges
/// (graph.hpp); results are the same for both. Negative lengths are allowed; zero and the least denormal are edges like
/// any other, and -0 is 0. "No edge" is the type's greatest value for whole numbers, +inf for floating ones, and
/// ShortestPathsOptions::no_edge beside it. An element on the diagonal is an edge from a vertex to itself: it shortens
/// nothing, unless it is negative.
///
/// Canonical result:
///
/// * Distance D(i, j): the least sum of weights of any route from i to j; D(i, i) = 0; "no edge" where there is none.
/// * Whole numbers: exact, to the bit the same of every variant. A distance that its type does not hold, or that is
///   the type's own "no edge", is a VertexError (graph.hpp) of the pair, which names the type that holds it.
/// * Floating numbers: D(i, j) is the length of a route from i to j, added up in some order; where a cycle is of length
///   0, or negative within rounding, that route may go through it. With N vertices, u the unit roundoff and
///   g = (N - 1) u / (1 - (N - 1) u), D(i, j) is at most g times the sum of the absolute weights on a shortest route
///   above that one's exact length, and at most g times the sum of those on its own route below its own exact length.
///   Which bits depends on the variant. A distance beyond the largest number is a VertexError as above.
/// * Predecessor P(i, j): the last vertex but one of a shortest route from i to j, counted from 0; -1 where there is
///   none, and on the diagonal. Whole numbers: the lowest v other than j with an edge from v to j and
///   D(i, v) + weights(v, j) = D(i, j). Where the graph has a cycle of length 0 through two vertices or more, only v on
///   a route of fewest edges among the shortest count. Floating numbers: walking back from j by P(i, .) reaches i in
///   fewer than N steps, by a route whose exact length exceeds the least by at most 2 g times the sum of the absolute
///   weights on both.
/// * A negative cycle, anywhere in the graph, is a VertexError of its vertices in order, the first one also last: no
///   route through it is shortest. Floating numbers: one that is reported is negative by exact sums; those that lie
///   within the rounding of lengths, of routes that lead to them too, may go unseen; the result is then as if they were
///   of length 0.
///
/// Complexity: N^3 additions and comparisons, and as many for predecessors, in N^2 memory; or, where edges or sources
/// are few, O(S (edges + N) log N) in O(S N + edges) memory.
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
  bool predecessors = false;  ///< also P, by which shortest_path_route() finds routes
  /// Another value that stands for "no edge" among the weights, beside the type's own, which alone stands for it in
  /// results. UsageError where the type does not hold it, for NaN and -inf, and for whole numbers from 2^53 on, which a
  /// double does not tell apart.
  std::optional<double> no_edge = std::nullopt;
  std::int64_t tile = 0;  ///< side of the tiles of variants that work in such; 0: the variant's own choice
  /// The vertices from which routes are wanted: the results have a row for each of them, in this order, S rows in all.
  /// One that is there twice has two rows. Empty: all vertices, S = N. UsageError for vertices that do not exist.
  std::vector<std::int64_t> sources = {};
  /// Each edge may be gone both ways; of two between the same vertices the lighter one counts. A negative edge is then
  /// a negative cycle.
  bool undirected = false;
  bool unweighted = false;  ///< each edge is of length 1, whatever its weight
};

/// Where results go instead of into new memory: in host memory or on the GPU. Empty views: new host memory.
template <class T>
struct ShortestPathsMemory {
  MatrixView<T> distances = {};                ///< S x N; may be the matrix of weights, unless sources are named
  MatrixView<std::int32_t> predecessors = {};  ///< S x N
};

template <class T>
struct ShortestPathsResult {
  Matrix<T> distances;                ///< S x N; empty where the caller gave memory
  Matrix<std::int32_t> predecessors;  ///< likewise; empty unless wanted
  RunReport report;
};

/// One route.
template <class T>
struct ShortestRoute {
  std::vector<std::int32_t> vertices;  ///< from the first to the last, both included; empty: there is no route
  T distance = 0;                      ///< "no edge" where there is no route
  RunReport report;
};

/// The sizes on which a job's memory depends, beside ShortestPathsOptions.
struct ShortestPathsShape {
  std::int64_t vertices = 0;
  std::int64_t edges = -1;  ///< that are listed; -1: a matrix of weights is given
  int element_bytes = 4;    ///< 4: int32, float; 8: int64, double
  bool floating = false;    ///< float or double
  bool negative = false;    ///< some edge is
  bool wide_sums = false;   ///< N times the heaviest edge is more than a sixth of the type's greatest number
  bool in_place = false;    ///< distances take the place of the weights
};

namespace detail {

/// What the functions below call.
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

/// The element types of weights.
template <class T>
concept Weight =
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> || std::same_as<T, float> || std::same_as<T, double>;

}  // namespace detail

/// The shortest paths between all vertices of the graph with these weights (N x N, N >= 0), whose elements are
/// std::int32_t, std::int64_t, float or double. Weights that lie on a GPU are used there, after what is in
/// Execution::stream; they come to host memory only where floating numbers want predecessors, where a negative cycle
/// has to be named, and where a cycle of length 0 decides about predecessors. Throws UsageError for impossible options
/// and views (see array.hpp), InputError for NaN, -inf, negative cycles and distances that the type does not hold,
/// UnsupportedError for a variant or device that cannot run here, OutOfMemoryError where memory does not suffice,
/// InterruptedError after a stop request. After an error the caller's memory holds anything.
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

/// The same for a graph that is given by its edges. A weight that stands for "no edge" in a matrix does so here too.
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

/// The shortest route from one vertex to another: that of the canonical predecessors. Errors are those of
/// shortest_paths(), but for distances to other vertices, which are not looked at; UsageError for vertices that do not
/// exist, and where the options name sources. Memory O(edges + N); time O((edges + N) log N) at most, for the search
/// ends where the route does. Where edges are negative all of them must be looked at first, as for negative cycles.
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

/// Memory that shortest_paths() takes beyond its input and its results, at most for a graph like that; a job that finds
/// fewer edges in a matrix may take less. It compares its own numbers with what there is before it allocates; Error
/// with both where they do not fit. UsageError for impossible options and sizes.
GRADUS_EXPORT MemoryEstimate shortest_paths_memory(const ShortestPathsShape& shape, const ShortestPathsOptions& options,
                                                   const Execution& execution = {});

/// The vertices of the shortest route from one vertex to another, both included, by the predecessors of a result for
/// all vertices; only `from` where both are the same, and none where there is no route. UsageError for vertices that do
/// not exist, InputError for a matrix that is none of predecessors.
GRADUS_EXPORT std::vector<std::int32_t> shortest_path_route(MatrixView<const std::int32_t> predecessors,
                                                            std::int64_t from, std::int64_t to);
/// The same by the row of predecessors that belongs to `from`.
GRADUS_EXPORT std::vector<std::int32_t> shortest_path_route(VectorView<const std::int32_t> predecessors,
                                                            std::int64_t from, std::int64_t to);

}  // namespace gradus
