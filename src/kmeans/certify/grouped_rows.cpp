#include "kmeans/certify/grouped_rows.hpp"

#include <algorithm>
#include <cmath>

#include "core/exact_sum.hpp"
#include "core/stop.hpp"
#include "kmeans/certify/rounding.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Returns the rounding error of the difference `difference` = a - b, exactly (Knuth).
double error_of_difference(double a, double b, double difference) {
  const double taken = difference - a;
  return (a - (difference - taken)) - (b + taken);
}

/// Returns the largest magnitude among the coordinates of the rows less `origin`.
template <class T>
double extent_from(MatrixView<const T> points, const T* origin, int threads, const std::stop_token& stop) {
  double extent = 0;
  const std::int64_t chunk = core::chunk_length(points.rows(), points.columns(), threads);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : extent)
  for (std::int64_t first = 0; first < points.rows(); first += chunk) {
    if (stop.stop_requested()) continue;
    for (std::int64_t row = first; row < std::min(first + chunk, points.rows()); ++row)
      for (std::int64_t column = 0; column < points.columns(); ++column)
        extent =
            std::max(extent, std::abs(static_cast<double>(points(row, column)) - static_cast<double>(origin[column])));
  }
  core::honour_stop(stop, "stopped while certifying");
  return extent;
}

}  // namespace

std::uint64_t bytes_of_grouped_rows(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::uint64_t>(rows) * (static_cast<std::uint64_t>(columns) + 2) * sizeof(double);
}

template <class T>
GroupedRows grouped_rows(MatrixView<const T> points, VectorView<const std::int32_t> labels, VectorView<const T> weights,
                         std::int64_t clusters, int threads, const std::stop_token& stop) {
  GroupedRows result;
  result.columns = points.columns();
  double heaviest = weights.empty() ? 1 : 0;
  for (std::int64_t row = 0; row < weights.size(); ++row)
    heaviest = std::max(heaviest, static_cast<double>(weights[row]));
  result.weight_exponent = weights.empty() ? 0 : core::exponent_above(heaviest);
  const double weight_scale = std::ldexp(1.0, -result.weight_exponent);
  const auto weight_of = [&](std::int64_t row) {
    const double weight = weights.empty() ? 1 : static_cast<double>(weights[row]) * weight_scale;
    return weight < GroupedRows::least_weight ? 0 : weight;
  };
  std::vector<std::int64_t> place(static_cast<std::size_t>(clusters) + 1);
  for (std::int64_t row = 0; row < points.rows(); ++row)
    if (weight_of(row) > 0) ++place[static_cast<std::size_t>(labels[row]) + 1];
  const auto largest = std::max_element(place.begin(), place.end()) - place.begin() - 1;
  result.first = {0};
  for (std::size_t cluster = 1; cluster < place.size(); ++cluster) {
    if (place[cluster] > 0) result.first.push_back(result.first.back() + place[cluster]);
    place[cluster] += place[cluster - 1];
  }
  if (result.rows() == 0) return result;
  std::vector<std::int64_t> order(static_cast<std::size_t>(result.rows()));
  const T* origin = nullptr;
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    if (!(weight_of(row) > 0)) continue;
    if (origin == nullptr && labels[row] == largest) origin = points.row(row);
    order[static_cast<std::size_t>(place[static_cast<std::size_t>(labels[row])]++)] = row;
  }
  const double extent = extent_from(points, origin, threads, stop);
  result.exponent = extent > 0 ? core::exponent_above(extent) : 0;
  const double scale = std::ldexp(1.0, -result.exponent);
  result.values = Buffer<double>(result.rows() * result.columns);
  result.weights = Buffer<double>(result.rows());
  Buffer<double> moved(result.rows());
  const std::int64_t chunk = core::chunk_length(result.rows(), 4 * result.columns, threads);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t first = 0; first < result.rows(); first += chunk) {
    if (stop.stop_requested()) continue;
    for (std::int64_t to = first; to < std::min(first + chunk, result.rows()); ++to) {
      const std::int64_t row = order[static_cast<std::size_t>(to)];
      double squares = 0;
      for (std::int64_t column = 0; column < result.columns; ++column) {
        const auto value = static_cast<double>(points(row, column));
        const auto base = static_cast<double>(origin[column]);
        const double difference = value - base;
        const double error = error_of_difference(value, base, difference) * scale;
        squares += error * error;
        result.values.data()[to * result.columns + column] = difference * scale;
      }
      result.weights.data()[to] = weight_of(row);
      moved.data()[to] = result.weights.data()[to] * squares;
    }
  }
  core::honour_stop(stop, "stopped while certifying");
  for (std::int64_t row = 0; row < result.rows(); ++row) result.moved += moved.data()[row] + underflow;
  result.moved *= 1 + error_of_sum(result.rows() + result.columns);
  return result;
}

#define GRADUS_INSTANTIATE(T)                                                                                 \
  template GroupedRows grouped_rows(MatrixView<const T>, VectorView<const std::int32_t>, VectorView<const T>, \
                                    std::int64_t, int, const std::stop_token&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
