// Converts path lengths to the caller's distance type and reports overflow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/text.hpp"
#include "gradus/graph.hpp"
#include "shortest_paths/graph.hpp"
#include "shortest_paths/negative_cycle.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  else if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
  else if constexpr (std::is_same_v<T, float>) return "float32";
  else return "float64";
}

template <class C>
std::string length_text(C number) {
  if constexpr (std::is_floating_point_v<C>) return core::number_text(static_cast<double>(number));
  else return text(static_cast<Int128>(number));
}

/// Throws VertexError, with both ends of the route, for a distance that exceeds T.
template <class T, class C>
[[noreturn]] void throw_too_great(std::int64_t from, std::int64_t to, C distance) {
  std::string is = " is ";
  std::string remedy;
  if constexpr (std::is_same_v<T, double>) {
    is += "beyond the largest float64";
    remedy = "multiply the weights by a small power of two";
  } else {
    constexpr bool in_int64 = std::is_same_v<T, std::int32_t>;
    is += length_text(distance) + ", which " + std::string(type_name<T>()) + " does not hold";
    remedy = std::string("give the weights as ") + (in_int64 ? "int64" : "float64") +
             (std::is_same_v<T, std::int64_t> ? ", which rounds" : "");
  }
  throw VertexError(about("weights") + "the distance from vertex ",
                    {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to)}, " to vertex ", is,
                    {.code = error_code::overflow, .remedy = remedy});
}

/// Converts a row of lengths to distances. Writes no_route() for vertices v without a route, for which route_to(v) is
/// false. For floating-point types, an infinite length also means that there is no route. Returns the first vertex
/// whose distance exceeds T, or -1. `target` is the only vertex to convert, or -1 for all.
template <class T, class LengthTo, class RouteTo>
std::int64_t finish_row(std::int64_t n, std::int64_t target, T* row, const LengthTo& length_to,
                        const RouteTo& route_to) {
  using C = decltype(length_to(0));
  std::int64_t too_great = -1;
  if (target >= 0) std::fill_n(row, n, no_route<T>());
  for (std::int64_t v = std::max<std::int64_t>(target, 0); v < (target >= 0 ? target + 1 : n); ++v) {
    const bool route = route_to(v);
    const C length = length_to(v);
    if constexpr (std::is_floating_point_v<T>) {
      row[v] = route ? static_cast<T>(length) + T{0} : no_route<T>();
      if (std::isinf(row[v]) && too_great < 0 && route && length != unreachable<C>()) too_great = v;
    } else {
      row[v] = route ? static_cast<T>(length) : no_route<T>();
      if constexpr (!std::is_same_v<T, C>)
        if (route && (length >= no_route<T>() || length < std::numeric_limits<T>::min()) && too_great < 0)
          too_great = v;
    }
  }
  return too_great;
}

}  // namespace gradus::shortest_paths_detail
