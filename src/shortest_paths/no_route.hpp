// "No edge" and "no route" in matrices of callers.
#pragma once

#include <limits>
#include <type_traits>

namespace gradus::shortest_paths_detail {

/// "No edge" and "no route" in matrices of callers.
template <class T>
constexpr T no_route() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
  else return std::numeric_limits<T>::max();
}

}  // namespace gradus::shortest_paths_detail
