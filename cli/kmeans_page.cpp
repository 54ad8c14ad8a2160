#include "cli/kmeans_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/philox.hpp"
#include "core/stop.hpp"
#include "io/image.hpp"

namespace gradus::cli {

namespace {

/// The rows that are shown, ascending: all, or a sample. Few enough that the components take a second or so.
std::vector<std::int64_t> rows_shown(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  constexpr std::int64_t most_numbers = 4'000'000;
  const std::int64_t most = std::clamp(most_numbers / columns, std::int64_t{1000}, most_points_shown);
  std::vector<std::int64_t> shown;
  if (rows <= most) {
    for (std::int64_t row = 0; row < rows; ++row) shown.push_back(row);
    return shown;
  }
  constexpr std::uint64_t stream = 0x7061676500000000;  // of no fit
  const core::Philox random(seed, stream);
  for (std::int64_t draw = 0; draw < most; ++draw)
    shown.push_back(
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(draw), static_cast<std::uint64_t>(rows))));
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  return shown;
}

using Vector = std::vector<double>;

double product(const Vector& one, const Vector& other) {
  double sum = 0;
  for (std::size_t index = 0; index < one.size(); ++index) sum += one[index] * other[index];
  return sum;
}

/// Takes out the part along `direction`, of length 1 or 0, and brings the rest to length 1; nothing is left of noise.
void orthonormalize(Vector& vector, const Vector& direction, double scale) {
  const double along = product(vector, direction);
  for (std::size_t index = 0; index < vector.size(); ++index) vector[index] -= along * direction[index];
  const double length = std::sqrt(product(vector, vector));
  for (double& value : vector) value = length > 1e-12 * scale ? value / length : 0;
}

/// The direction in which the centered rows spread most, apart from `before`: by power iteration.
Vector component_of(const std::vector<Vector>& rows, const Vector& before, const std::stop_token& stop) {
  constexpr int rounds = 100;
  constexpr double close_enough = 1e-10;
  Vector direction(before.size());
  for (std::size_t index = 0; index < direction.size(); ++index)
    direction[index] = core::Philox(1).uniform(index) - 0.5;
  orthonormalize(direction, before, 1);
  for (int round = 0; round < rounds; ++round) {
    core::honour_stop(stop, "stopped while the page was made");
    Vector next(direction.size(), 0.0);
    double scale = 0;
    for (const Vector& row : rows) {
      const double along = product(row, direction);
      for (std::size_t index = 0; index < next.size(); ++index) next[index] += along * row[index];
      scale += product(row, row);
    }
    orthonormalize(next, before, scale);
    const double change = 1 - product(next, direction);
    direction = std::move(next);
    if (std::abs(change) < close_enough) break;
  }
  return direction;
}

}  // namespace

template <class T>
Chart principal_components(MatrixView<const T> points, VectorView<const std::int32_t> labels, std::int64_t clusters,
                           std::uint64_t seed, const std::stop_token& stop) {
  const std::vector<std::int64_t> shown = rows_shown(points.rows(), points.columns(), seed);
  const auto columns = static_cast<std::size_t>(points.columns());
  // Of numbers of any size: the largest becomes 1, so that no square leaves the range.
  double largest = 0;
  for (const std::int64_t row : shown)
    for (std::int64_t column = 0; column < points.columns(); ++column)
      largest = std::max(largest, std::abs(static_cast<double>(points(row, column))));
  const double unit = largest > 0 ? largest : 1;
  std::vector<Vector> rows;
  Vector mean(columns, 0.0);
  for (const std::int64_t row : shown) {
    Vector& values = rows.emplace_back(columns);
    for (std::size_t column = 0; column < columns; ++column) {
      values[column] = static_cast<double>(points(row, static_cast<std::int64_t>(column))) / unit;
      mean[column] += values[column] / static_cast<double>(shown.size());
    }
  }
  for (Vector& row : rows)
    for (std::size_t column = 0; column < columns; ++column) row[column] -= mean[column];
  const Vector first = component_of(rows, Vector(columns, 0.0), stop);
  const Vector second = component_of(rows, first, stop);
  Chart chart{.kind = Chart::Kind::points,
              .title = points.rows() == std::ssize(shown)
                           ? fmt::format("all {} points on their first two principal components", points.rows())
                           : fmt::format("{} of {} points on their first two principal components", shown.size(),
                                         points.rows()),
              .places_name = "first component",
              .values_name = "second component"};
  for (std::int64_t cluster = 0; cluster < clusters; ++cluster)
    chart.series.push_back({.name = fmt::format("cluster {}", cluster)});
  for (std::size_t index = 0; index < rows.size(); ++index) {
    Series& series = chart.series[static_cast<std::size_t>(labels[shown[index]])];
    series.at.push_back(unit * product(rows[index], first));
    series.values.emplace_back(unit * product(rows[index], second));
  }
  return chart;
}

template Chart principal_components(MatrixView<const float>, VectorView<const std::int32_t>, std::int64_t,
                                    std::uint64_t, const std::stop_token&);
template Chart principal_components(MatrixView<const double>, VectorView<const std::int32_t>, std::int64_t,
                                    std::uint64_t, const std::stop_token&);

std::uint8_t channel_byte(double value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
}

template <class T>
std::vector<PagePicture> before_and_after(const io::PictureShape& shape, MatrixView<const T> points,
                                          const KMeansResult<T>& result, const std::stop_token& stop) {
  constexpr std::int64_t most = 512;
  const std::int64_t step = (std::max(shape.width, shape.height) + most - 1) / most;
  const io::PictureShape shown{(shape.width + step - 1) / step, (shape.height + step - 1) / step, shape.channels};
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
    return PagePicture{title, shown.width, shown.height, io::png_bytes("a page", shown, pixels, stop)};
  };
  return {picture("before", before), picture(fmt::format("in {} colours", result.centroids.rows()), after)};
}

template std::vector<PagePicture> before_and_after(const io::PictureShape&, MatrixView<const float>,
                                                   const KMeansResult<float>&, const std::stop_token&);
template std::vector<PagePicture> before_and_after(const io::PictureShape&, MatrixView<const double>,
                                                   const KMeansResult<double>&, const std::stop_token&);

}  // namespace gradus::cli
