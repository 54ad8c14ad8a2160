// kmeans_projection(): projects points onto their first two principal components (gradus/kmeans_projection.hpp).
#include "kmeans/projection.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "core/philox.hpp"
#include "core/stop.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/standardization/standardization.hpp"

namespace gradus {

using kmeans_detail::PointRows;

namespace {

/// Returns the largest number of rows that are shown. With this number, the components can be computed in about a
/// second.
std::int64_t most_rows_shown(std::int64_t columns, const KMeansProjectionOptions& options) {
  constexpr std::int64_t most_numbers = 4'000'000;
  return std::min(std::max(most_numbers / columns, std::int64_t{1000}), options.points);
}

/// Returns the numbers of the rows that will be shown, in ascending order. If there are too many rows, returns a
/// sample.
std::vector<std::int64_t> rows_shown(std::int64_t rows, std::int64_t columns, const KMeansProjectionOptions& options) {
  const std::int64_t most = most_rows_shown(columns, options);
  std::vector<std::int64_t> shown;
  if (rows <= most) {
    for (std::int64_t row = 0; row < rows; ++row) shown.push_back(row);
    return shown;
  }
  constexpr std::uint64_t stream = 0x7061676500000000;  // a random stream that no fit uses
  const core::Philox random(options.seed, stream);
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

/// Removes the component of `vector` along `direction` (whose length is 1 or 0), and scales the rest to length 1. If
/// the rest is only rounding noise, sets `vector` to 0.
void orthonormalize(Vector& vector, const Vector& direction, double scale) {
  const double along = product(vector, direction);
  for (std::size_t index = 0; index < vector.size(); ++index) vector[index] -= along * direction[index];
  const double length = std::sqrt(product(vector, vector));
  for (double& value : vector) value = length > 1e-12 * scale ? value / length : 0;
}

/// Returns a unit vector that is orthogonal to `before`. Among these vectors, it is the direction in which the centred
/// rows have the greatest variance. Uses power iteration.
Vector component_of(const std::vector<Vector>& rows, const Vector& before, const std::stop_token& stop) {
  constexpr int rounds = 100;
  constexpr double close_enough = 1e-10;
  Vector direction(before.size());
  for (std::size_t index = 0; index < direction.size(); ++index)
    direction[index] = core::Philox(1).uniform(index) - 0.5;
  orthonormalize(direction, before, 1);
  for (int round = 0; round < rounds; ++round) {
    core::honour_stop(stop, "stopped while the points were projected");
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

/// The rows minus their mean. The unit is the largest magnitude, so that squares stay in the range of double.
struct Centered {
  double unit = 1;
  std::vector<Vector> rows;
};

template <class T>
Centered centered(const PointRows<T>& points, const KMeansStandardization& by, const std::vector<std::int64_t>& shown) {
  const auto columns = static_cast<std::size_t>(points.columns());
  Matrix<T> one(1, points.columns());
  const auto values_of = [&](std::int64_t row) -> const T* {
    points.copy(row, 1, one.data());
    if (!by.empty()) kmeans_detail::standardize_rows<T>(std::as_const(one).view(), one.view(), by, 1, {});
    return one.data();
  };
  double largest = 0;
  for (const std::int64_t row : shown) {
    const T* const coordinates = values_of(row);
    for (std::int64_t column = 0; column < points.columns(); ++column) {
      const auto value = static_cast<double>(coordinates[column]);
      if (!std::isfinite(value))
        throw InputError(about("points") + "row " + std::to_string(row) + ", column " + std::to_string(column) +
                             " (counted from 0) is " + (std::isnan(value) ? "NaN" : "infinite") +
                             ", not a finite number",
                         {.code = error_code::not_finite, .row = row, .column = column});
      largest = std::max(largest, std::abs(value));
    }
  }
  Centered found{.unit = largest > 0 ? largest : 1, .rows = {}};
  Vector mean(columns, 0.0);
  for (const std::int64_t row : shown) {
    Vector& values = found.rows.emplace_back(columns);
    const T* const coordinates = values_of(row);
    for (std::size_t column = 0; column < columns; ++column) {
      values[column] = static_cast<double>(coordinates[column]) / found.unit;
      mean[column] += values[column] / static_cast<double>(shown.size());
    }
  }
  for (Vector& row : found.rows)
    for (std::size_t column = 0; column < columns; ++column) row[column] -= mean[column];
  return found;
}

template <class T>
void check_projection(const PointRows<T>& points, const KMeansProjectionOptions& options, const Execution& execution) {
  execution::check_execution(execution);
  kmeans_detail::check_points(points, execution);
  if (!points.place().is_host())
    throw UnsupportedError(about("points") + "they are on " + execution::gpu_number(points.place().gpu) +
                           ", but points are projected on the CPU; copy them to host memory");
  if (options.points < 1) throw UsageError("a projection has at least 1 point, not " + std::to_string(options.points));
}

}  // namespace

std::uint64_t kmeans_detail::projection_bytes(std::int64_t rows, std::int64_t columns,
                                              const KMeansProjectionOptions& options) {
  const auto shown = static_cast<std::uint64_t>(std::min(rows, most_rows_shown(columns, options)));
  return core::checked_multiply(shown * sizeof(double), static_cast<std::uint64_t>(columns) + 4, "points");
}

template <class T>
KMeansProjection kmeans_detail::projection_of(const PointRows<T>& points, const KMeansStandardization& by,
                                              const KMeansProjectionOptions& options, const Execution& execution) {
  return execution::whole_call([&] {
    check_projection(points, options, execution);
    execution::check_memory(kmeans_detail::projection_bytes(points.rows(), points.columns(), options), execution,
                            "ask for fewer points");
    KMeansProjection found{.rows = rows_shown(points.rows(), points.columns(), options), .places = {}};
    const auto shown = std::ssize(found.rows);
    const auto [unit, rows] = centered(points, by, found.rows);
    const Vector first = component_of(rows, Vector(static_cast<std::size_t>(points.columns()), 0.0), execution.stop);
    const Vector second = component_of(rows, first, execution.stop);
    found.places = Matrix<double>(shown, 2);
    for (std::int64_t index = 0; index < shown; ++index) {
      const Vector& row = rows[static_cast<std::size_t>(index)];
      found.places(index, 0) = unit * product(row, first);
      found.places(index, 1) = unit * product(row, second);
    }
    return found;
  });
}
template KMeansProjection kmeans_detail::projection_of(const PointRows<float>&, const KMeansStandardization&,
                                                       const KMeansProjectionOptions&, const Execution&);
template KMeansProjection kmeans_detail::projection_of(const PointRows<double>&, const KMeansStandardization&,
                                                       const KMeansProjectionOptions&, const Execution&);

namespace detail {

template <class T>
KMeansProjection kmeans_projection(MatrixView<const T> points, const KMeansProjectionOptions& options,
                                   const Execution& execution) {
  return kmeans_detail::projection_of<T>(points, {}, options, execution);
}

template KMeansProjection kmeans_projection(MatrixView<const float>, const KMeansProjectionOptions&, const Execution&);
template KMeansProjection kmeans_projection(MatrixView<const double>, const KMeansProjectionOptions&, const Execution&);

}  // namespace detail

}  // namespace gradus
