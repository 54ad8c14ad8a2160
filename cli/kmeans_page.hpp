// `gradus kmeans --report`: what a page shows of a clustering beside its summary.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "cli/page/page.hpp"
#include "gradus/array.hpp"
#include "gradus/kmeans.hpp"
#include "io/points.hpp"

namespace gradus::cli {

/// As many points as a chart shows, of more a sample by the seed.
inline constexpr std::int64_t most_points_shown = 20000;

/// The points on their first two principal components, in the colours of their clusters. InterruptedError after a stop
/// request.
template <class T>
Chart principal_components(MatrixView<const T> points, VectorView<const std::int32_t> labels, std::int64_t clusters,
                           std::uint64_t seed, const std::stop_token& stop);

/// A picture, and the same with every pixel in its cluster's colour; of a large one the pixels of some rows and
/// columns. InterruptedError after a stop request.
template <class T>
std::vector<PagePicture> before_and_after(const io::PictureShape& shape, MatrixView<const T> points,
                                          const KMeansResult<T>& result, const std::stop_token& stop);

/// A coordinate as the channel of a pixel.
std::uint8_t channel_byte(double value);

}  // namespace gradus::cli
