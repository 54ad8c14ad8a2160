// `gradus kmeans --report`: what a page shows of a clustering beside its summary.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "cli/page/page.hpp"
#include "files/points.hpp"
#include "gradus/array.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/kmeans_projection.hpp"

namespace gradus::cli {

/// The points of a projection in the colours of their clusters. `labels`: of all points.
Chart projection_chart(const KMeansProjection& projection, VectorView<const std::int32_t> labels,
                       std::int64_t clusters);

/// A picture, and the same with every pixel in its cluster's colour; of a large one the pixels of some rows and
/// columns. InterruptedError after a stop request.
template <class T>
std::vector<PagePicture> before_and_after(const files::PictureShape& shape, MatrixView<const T> points,
                                          const KMeansResult<T>& result, const std::stop_token& stop);

/// A coordinate as the channel of a pixel.
std::uint8_t channel_byte(double value);

}  // namespace gradus::cli
