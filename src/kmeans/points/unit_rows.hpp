// Scales rows to unit length on the CPU: see unit_length.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stop_token>

#include "core/stop.hpp"
#include "gradus/array.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/point_rows.hpp"
#include "kmeans/points/unit_length.hpp"

namespace gradus::kmeans_detail {

/// Returns a copy of the rows scaled to unit length (gradus/kmeans.hpp). Throws InputError for a row of zeros; the
/// message calls the rows `what` and counts them from `first_row`. Throws InterruptedError after a stop request.
template <class T>
Matrix<T> unit_rows(const PointRows<T>& points, const char* what, int threads, const std::stop_token& stop,
                    std::int64_t first_row = 0) {
  Matrix<T> unit(points.rows(), points.columns());
  std::int64_t zero_row = points.rows();
  const std::int64_t stretch = core::chunk_length(points.rows(), 8 + points.columns(), threads);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : zero_row)
  for (std::int64_t first = 0; first < points.rows(); first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t row = first; row < std::min(first + stretch, points.rows()); ++row) {
      points.copy(row, 1, unit.row(row));
      if (!scale_to_unit_length(unit.row(row), points.columns())) zero_row = std::min(zero_row, row);
    }
  }
  core::honour_stop(stop, "stopped while scaling the points to unit length");
  if (zero_row < points.rows()) throw_zero_row(what, first_row + zero_row);
  return unit;
}

/// Returns true if the row has unit length, up to the rounding of its coordinates and of the sum of their squares.
template <class T>
bool has_unit_length(const T* row, std::int64_t d) {
  double squares = 0;
  for (std::int64_t dim = 0; dim < d; ++dim) {
    const auto value = static_cast<double>(row[dim]);
    squares = std::fma(value, value, squares);
  }
  constexpr double of_coordinates = 2 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const double of_sum = static_cast<double>(d) * std::numeric_limits<double>::epsilon();
  return std::abs(squares - 1) <= of_coordinates + of_sum;
}

/// Returns a copy of the centroids scaled to unit length. The centroids of a fit already have unit length, up to
/// rounding, and are copied unchanged: scaling them a second time could change their last bits, and points that are
/// equally near to two centroids could then get other labels.
template <class T>
Matrix<T> unit_centroids(MatrixView<const T> centroids, const char* what, const std::stop_token& stop) {
  Matrix<T> unit = unit_rows<T>(centroids, what, 1, stop);
  for (std::int64_t cluster = 0; cluster < centroids.rows(); ++cluster)
    if (has_unit_length(centroids.row(cluster), centroids.columns()))
      std::copy_n(centroids.row(cluster), centroids.columns(), unit.row(cluster));
  return unit;
}

}  // namespace gradus::kmeans_detail
