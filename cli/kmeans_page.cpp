#include "cli/kmeans_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "files/image.hpp"

namespace gradus::cli {

Chart projection_chart(const KMeansProjection& projection, VectorView<const std::int32_t> labels,
                       std::int64_t clusters) {
  const std::size_t shown = projection.rows.size();
  Chart chart{
      .kind = Chart::Kind::points,
      .title = labels.size() == std::ssize(projection.rows)
                   ? fmt::format("all {} points on their first two principal components", labels.size())
                   : fmt::format("{} of {} points on their first two principal components", shown, labels.size()),
      .places_name = "first component",
      .values_name = "second component"};
  for (std::int64_t cluster = 0; cluster < clusters; ++cluster)
    chart.series.push_back({.name = fmt::format("cluster {}", cluster)});
  for (std::size_t index = 0; index < shown; ++index) {
    Series& series = chart.series[static_cast<std::size_t>(labels[projection.rows[index]])];
    const double* const place = projection.places.row(static_cast<std::int64_t>(index));
    series.at.push_back(place[0]);
    series.values.emplace_back(place[1]);
  }
  return chart;
}

std::uint8_t channel_byte(double value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
}

template <class T>
std::vector<PagePicture> before_and_after(const files::PictureShape& shape, MatrixView<const T> points,
                                          const KMeansResult<T>& result, const std::stop_token& stop) {
  constexpr std::int64_t most = 512;
  const std::int64_t step = (std::max(shape.width, shape.height) + most - 1) / most;
  const files::PictureShape shown{(shape.width + step - 1) / step, (shape.height + step - 1) / step, shape.channels};
  std::vector<std::uint8_t> before;
  std::vector<std::uint8_t> after;
  for (std::int64_t y = 0; y < shape.height; y += step)
    for (std::int64_t x = 0; x < shape.width; x += step)
      for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
        const std::int64_t pixel = y * shape.width + x;
        before.push_back(channel_byte(static_cast<double>(points(pixel, channel))));
        after.push_back(channel_byte(static_cast<double>(result.centroids(result.labels[pixel], channel))));
      }
  const auto picture = [&](std::string title, const std::vector<std::uint8_t>& pixels) {
    if (step > 1) title += fmt::format(", of every {} by {} pixels one", step, step);
    return PagePicture{title, shown.width, shown.height, files::png_bytes("a page", shown, pixels, stop)};
  };
  return {picture("before", before), picture(fmt::format("in {} colours", result.centroids.rows()), after)};
}

template std::vector<PagePicture> before_and_after(const files::PictureShape&, MatrixView<const float>,
                                                   const KMeansResult<float>&, const std::stop_token&);
template std::vector<PagePicture> before_and_after(const files::PictureShape&, MatrixView<const double>,
                                                   const KMeansResult<double>&, const std::stop_token&);

}  // namespace gradus::cli
