// Random graphs for measurements. Every weight is a function of the seed and of its position.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/philox.hpp"
#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

/// Draws a random graph: each ordered pair of vertices is an edge with probability `density`. Weights are in [1,
/// heaviest]: integers for integer types, real numbers for floating-point types.
template <class T>
Matrix<T> random_graph(std::int64_t vertices, double density, std::int64_t heaviest, std::uint64_t seed) {
  Matrix<T> weights(vertices, vertices);
  const core::Philox random(seed, 21);
#pragma omp parallel for schedule(static)
  for (std::int64_t from = 0; from < vertices; ++from)
    for (std::int64_t to = 0; to < vertices; ++to) {
      const auto index = static_cast<std::uint64_t>(from * vertices + to) * 2;
      T& weight = weights(from, to);
      weight = no_route<T>();
      if (from == to || !(random.uniform(index) < density)) continue;
      if constexpr (std::is_floating_point_v<T>)
        weight = static_cast<T>(1 + static_cast<double>(heaviest - 1) * random.uniform(index + 1));
      else weight = static_cast<T>(1 + random.below(index + 1, static_cast<std::uint64_t>(heaviest)));
    }
  return weights;
}

}  // namespace gradus::shortest_paths_detail
