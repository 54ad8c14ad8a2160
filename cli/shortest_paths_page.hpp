// `gradus shortest-paths --report`: what a page shows of distances and of a route.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "cli/page/page.hpp"
#include "gradus/array.hpp"

namespace gradus::cli {

/// How many of the distances lie where, of a vertex to itself none. Rows are those of `sources`, or all where there are
/// none. InterruptedError after a stop request.
template <class T>
Chart distribution(MatrixView<const T> distances, const std::vector<std::int64_t>& sources,
                   const std::stop_token& stop);

/// The first two vertices, in the order of rows and columns, between which the shortest route is longest.
template <class T>
std::optional<std::pair<std::int64_t, std::int64_t>> farthest(MatrixView<const T> distances,
                                                              const std::vector<std::int64_t>& sources,
                                                              const std::stop_token& stop);

}  // namespace gradus::cli
