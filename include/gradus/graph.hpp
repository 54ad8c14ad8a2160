/// Sparse graphs: views of edge lists in host memory. The views do not own the lists. Vertices are counted from 0.
///
/// A function with a graph parameter checks the view before it uses the graph. The function throws UsageError for a
/// malformed view (lists of different lengths, a null pointer to elements; see array.hpp). It throws InputError if an
/// edge has a vertex that does not exist, or if CsrView::starts does not ascend from 0 to the number of edges. The
/// message describes the first error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/error.hpp"
#include "gradus/export.hpp"

namespace gradus {

/// A list of edges in any order (COO): edge e goes from vertex `from[e]` to vertex `to[e]`. If several edges go from
/// the same vertex to the same other vertex, only the lightest one counts.
template <class T>
struct EdgeView {
  std::int64_t vertices = 0;
  VectorView<const std::int32_t> from = {};
  VectorView<const std::int32_t> to = {};
  VectorView<const T> weights = {};  ///< length of each edge; empty: 1 each
};

/// Edges grouped by source vertex (CSR). Vertex v is the source of the edges e with starts[v] <= e < starts[v + 1].
/// Edge e goes to targets[e]. The edges of one vertex may be in any order. If several edges of a vertex go to the same
/// target, only the lightest one counts.
template <class T>
struct CsrView {
  VectorView<const std::int64_t> starts = {};   ///< N + 1 numbers; the first is 0, and the last is the number of edges
  VectorView<const std::int32_t> targets = {};  ///< target vertex of each edge
  VectorView<const T> weights = {};             ///< length of each edge; empty: 1 each

  constexpr std::int64_t vertices() const { return starts.empty() ? 0 : starts.size() - 1; }
};

/// An error about certain vertices of a graph. what() shows their numbers, counted from 0.
class GRADUS_EXPORT VertexError : public InputError {
 public:
  /// The message consists of `before`, the vertices separated by `between`, a note that vertices are counted from 0,
  /// and `after`.
  VertexError(const ErrorMessage& before, const std::vector<std::int32_t>& vertices, const std::string& between,
              const ErrorMessage& after, ErrorFields fields = {});
  ~VertexError() override;
  /// Returns the vertices in the order of the message.
  std::vector<std::int32_t> vertices() const;
  /// Returns the message, with each vertex replaced by called(vertex).
  std::string message_with(const std::function<std::string(std::int32_t)>& called) const;
  /// Replaces the vertices in the text by names.
  void name_vertices(const std::function<std::string(std::int32_t)>& called);
};

}  // namespace gradus
