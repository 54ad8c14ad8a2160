// The value of "no edge" and "no route" in the callers' matrices.
#pragma once

#include <limits>
#include <type_traits>

namespace gradus::shortest_paths_detail {

/// Returns the value of "no edge" and "no route" in the callers' matrices.
template <class T>
constexpr T no_route() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
  else return std::numeric_limits<T>::max();
}

}  // namespace gradus::shortest_paths_detail
