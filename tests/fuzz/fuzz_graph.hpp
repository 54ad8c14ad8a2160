// A check that the fuzzers of graph formats share: every edge must connect two vertices of the graph.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>

#include "shortest_paths/files/graph.hpp"

namespace gradus::fuzz {

inline void require(bool is_so) {
  if (!is_so) std::abort();
}

inline void check(const files::Graph& graph) {
  const std::int64_t edges = graph.from.view.size();
  require(graph.vertices >= 0 && graph.vertices <= std::numeric_limits<std::int32_t>::max());
  require(graph.to.view.size() == edges);
  require(graph.base == 0 || graph.base == 1);
  require(graph.names.empty() || std::ssize(graph.names) == graph.vertices);
  for (const std::string& name : graph.names) require(!name.empty());
  for (std::int64_t edge = 0; edge < edges; ++edge) {
    require(graph.from.view[edge] >= 0 && graph.from.view[edge] < graph.vertices);
    require(graph.to.view[edge] >= 0 && graph.to.view[edge] < graph.vertices);
  }
  std::visit(
      [&](const auto& weights) {
        if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(weights)>, std::monostate>) {
          require(weights.view.size() == edges);
          for (const auto weight : weights.view) {
            using T = std::remove_cvref_t<decltype(weight)>;
            if constexpr (std::is_floating_point_v<T>) require(std::isfinite(weight));
            else require(weight != std::numeric_limits<T>::max());
          }
        }
      },
      graph.weights);
}

}  // namespace gradus::fuzz
