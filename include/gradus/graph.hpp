/// Graphs of few edges: views of lists of edges that someone else owns, in host memory. Vertices are counted from 0.
///
/// A function that takes such a view checks it before it reads anything, and throws UsageError for what cannot be true
/// (lists of different lengths, a null pointer to elements; see array.hpp), InputError, which names the first such
/// edge, for vertices that do not exist and for lists that do not ascend where they must.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/error.hpp"
#include "gradus/export.hpp"

namespace gradus {

/// The edges one by one, in any order (COO): edge e goes from from[e] to to[e]. Of parallel edges the lightest counts.
template <class T>
struct EdgeView {
  std::int64_t vertices = 0;
  VectorView<const std::int32_t> from = {};
  VectorView<const std::int32_t> to = {};
  VectorView<const T> weights = {};  ///< of each edge its length; empty: 1 each
};

/// The edges from each vertex together (CSR): those from vertex v are number starts[v] up to starts[v + 1], that one
/// not included, and go to targets[e]. Targets are in any order. Of parallel edges the lightest counts.
template <class T>
struct CsrView {
  VectorView<const std::int64_t> starts = {};   ///< one more than there are vertices, from 0 to the number of edges
  VectorView<const std::int32_t> targets = {};  ///< of each edge the vertex where it ends
  VectorView<const T> weights = {};             ///< of each edge its length; empty: 1 each

  constexpr std::int64_t vertices() const { return starts.empty() ? 0 : starts.size() - 1; }
};

/// A graph in which certain vertices stand in the way of a result. what() calls them by their numbers from 0.
class GRADUS_EXPORT VertexError : public InputError {
 public:
  /// The text is `before`, the vertices with `between` between them, how they are counted, and `after`.
  VertexError(const ErrorMessage& before, const std::vector<std::int32_t>& vertices, const std::string& between,
              const ErrorMessage& after, ErrorFields fields = {});
  ~VertexError() override;
  /// In the order of the message.
  std::vector<std::int32_t> vertices() const;
  /// The message with each vertex as called(vertex) calls it.
  std::string message_with(const std::function<std::string(std::int32_t)>& called) const;
  /// Gives the vertices these names in the text.
  void name_vertices(const std::function<std::string(std::int32_t)>& called);
};

}  // namespace gradus
