// `gradus kmeans --report`: charts and pictures of a clustering, shown in addition to its summary.
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

/// Plots the projected points in the colours of their clusters. `labels` contains the label of every point, including
/// points that are not plotted.
Chart projection_chart(const KMeansProjection& projection, VectorView<const std::int32_t> labels,
                       std::int64_t clusters);

/// Returns two pictures: the original, and a picture in which every pixel has the colour of its centroid. Large
/// pictures are subsampled by rows and columns. Throws InterruptedError after a stop request.
template <class T>
std::vector<PagePicture> before_and_after(const files::PictureShape& shape, MatrixView<const T> points,
                                          const KMeansResult<T>& result, const std::stop_token& stop);

/// Converts a coordinate to the byte of a colour channel.
std::uint8_t channel_byte(double value);

}  // namespace gradus::cli
