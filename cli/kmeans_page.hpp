// `gradus kmeans --report`: what a page shows of a clustering beside its summary.
#pragma once

#include <cstdint>
#include <stop_token>

#include "cli/page/page.hpp"
#include "gradus/array.hpp"

namespace gradus::cli {

/// As many points as a chart shows, of more a sample by the seed.
inline constexpr std::int64_t most_points_shown = 20000;

/// The points on their first two principal components, in the colours of their clusters. InterruptedError after a stop
/// request.
template <class T>
Chart principal_components(MatrixView<const T> points, VectorView<const std::int32_t> labels, std::int64_t clusters,
                           std::uint64_t seed, const std::stop_token& stop);

}  // namespace gradus::cli
