// A graph in the form in which kernels access it.
#pragma once

#include <cstdint>

#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
struct DeviceGraph {
  const T* weights;
  std::int64_t n;
  std::int64_t stride;
  T no_edge;

  /// The weights must be on a GPU.
  explicit DeviceGraph(const Graph<T>& graph)
      : weights(graph.weights.data()), n(graph.n()), stride(graph.weights.row_stride()), no_edge(graph.no_edge) {}

  __device__ const T* row(std::int64_t u) const { return weights + u * stride; }
  __device__ bool is_edge(T weight) const {
    constexpr T none = no_route<T>();
    return weight != no_edge && weight != none;
  }
};

}  // namespace gradus::shortest_paths_detail
