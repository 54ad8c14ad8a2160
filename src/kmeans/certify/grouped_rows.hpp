// Rows of points in double, grouped by label and scaled, for a certificate.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::kmeans_detail {

/// Rows of positive weight less one of them, times 2^-exponent. Coordinates have a magnitude below 1. Rows whose weight
/// is tiny compared with the largest are left out, which lowers the inertia of every clustering.
struct GroupedRows {
  std::int64_t columns = 0;
  std::vector<std::int64_t> first;  ///< first row of each group, and the number of rows
  Buffer<double> values;            ///< rows x columns
  Buffer<double> weights;           ///< weights times 2^-weight_exponent, from `least_weight` to 1
  int exponent = 0;
  int weight_exponent = 0;
  /// Upper bound for the weighted sum of the squared distances by which rounding has moved the rows.
  double moved = 0;

  std::int64_t groups() const { return static_cast<std::int64_t>(first.size()) - 1; }
  std::int64_t rows() const { return first.back(); }
  const double* row(std::int64_t number) const { return values.data() + number * columns; }
  double weight(std::int64_t number) const { return weights.data()[number]; }

  static constexpr double least_weight = 0x1p-400;
};

/// Copies the rows. Groups without rows are left out. `weights` may be empty.
template <class T>
GroupedRows grouped_rows(MatrixView<const T> points, VectorView<const std::int32_t> labels, VectorView<const T> weights,
                         std::int64_t clusters, int threads, const std::stop_token& stop);

/// Returns the bytes of the copy of `rows` rows.
std::uint64_t bytes_of_grouped_rows(std::int64_t rows, std::int64_t columns);

}  // namespace gradus::kmeans_detail
