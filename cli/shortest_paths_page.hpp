// `gradus shortest-paths --report`: charts of distances and of a route.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "cli/page/page.hpp"
#include "gradus/array.hpp"

namespace gradus::cli {

/// Returns a histogram of the distances between different vertices. Row i of `distances` belongs to vertex sources[i]
/// or, if `sources` is empty, to vertex i. Throws InterruptedError after a stop request.
template <class T>
Chart distribution(MatrixView<const T> distances, const std::vector<std::int64_t>& sources,
                   const std::stop_token& stop);

/// Returns the pair of vertices with the longest shortest route. If there are several, returns the first one in
/// row-major order.
template <class T>
std::optional<std::pair<std::int64_t, std::int64_t>> farthest(MatrixView<const T> distances,
                                                              const std::vector<std::int64_t>& sources,
                                                              const std::stop_token& stop);

}  // namespace gradus::cli
