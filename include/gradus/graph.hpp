/// Graphs of few edges: views of lists of edges that someone else owns, in host memory. Vertices are counted from 0.
///
/// A function that takes such a view checks it before it reads anything, and throws UsageError for what cannot be true
/// (lists of different lengths, a null pointer to elements; see array.hpp), InputError, which names the first such
/// edge, for vertices that do not exist and for lists that do not ascend where they must.
#pragma once

#include <cstdint>

#include "gradus/array.hpp"

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

}  // namespace gradus
