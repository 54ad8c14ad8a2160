// Tests the labels of simd_grid with many clusters: the tiles of its table share them, and lists of candidates run out
// of memory or work. The reference is a plain loop over all centroids.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "core/philox.hpp"
#include "gradus/kmeans.hpp"

namespace gradus {
namespace {

/// Kinds of points: evenly spread, in few dense places, on a diagonal, or nearly all in one cell of the grid.
enum class Spread { even, dense, diagonal, one_cell };

struct Many {
  Spread spread;
  std::int64_t clusters;
};

template <class T>
Matrix<T> made(std::int64_t rows, std::int64_t columns, Spread spread, std::uint64_t seed) {
  Matrix<T> points(rows, columns);
  const core::Philox random(seed);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto words = random.block(static_cast<std::uint64_t>(row));
    const bool outlier = row % 1000 == 0;
    for (std::int64_t column = 0; column < columns; ++column) {
      const double u = words[static_cast<std::size_t>(column)] * 0x1p-32;
      double x = u;
      if (spread == Spread::dense) x = std::floor(8 * u) + 1e-3 * std::fmod(4096 * u, 1.0);
      if (spread == Spread::diagonal) x = words[0] * 0x1p-32;
      if (spread == Spread::one_cell && !outlier) x = 0.5 + 1e-6 * u;
      points(row, column) = static_cast<T>(x);
    }
  }
  return points;
}

/// Returns the lowest of the nearest centroids, by the distance that the contract defines.
template <class T>
std::int32_t nearest(const Matrix<T>& centroids, const T* point) {
  double least = HUGE_VAL;
  std::int32_t cluster = 0;
  for (std::int64_t row = 0; row < centroids.rows(); ++row) {
    double distance = 0;
    for (std::int64_t column = 0; column < centroids.columns(); ++column) {
      const double difference = static_cast<double>(point[column]) - static_cast<double>(centroids(row, column));
      distance = std::fma(difference, difference, distance);
    }
    if (distance >= least) continue;
    least = distance;
    cluster = static_cast<std::int32_t>(row);
  }
  return cluster;
}

template <class T>
void expect_nearest(const Many& job, std::int64_t columns) {
  SCOPED_TRACE(std::to_string(job.clusters) + " clusters, " + std::to_string(columns) + " columns, spread " +
               std::to_string(static_cast<int>(job.spread)) + ", " + std::to_string(sizeof(T)) + " bytes");
  const Matrix<T> centroids = made<T>(job.clusters, columns, job.spread, 1);
  const Matrix<T> points = made<T>(307, columns, job.spread, 2);
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = 2;
  execution.variant = "simd_grid";
  const auto found = kmeans_predict(centroids.view(), points.view(), KMeansMetric::euclidean, execution);
  for (std::int64_t row = 0; row < points.rows(); ++row)
    ASSERT_EQ(found.labels[row], nearest(centroids, points.view().row(row))) << "row " << row;
}

TEST(ManyClusters, have_the_nearest_centroids) {
  for (const auto& [spread, clusters] : {std::pair<Spread, std::int64_t>{Spread::even, 1500},
                                         {Spread::dense, 1025},
                                         {Spread::diagonal, 1100},
                                         {Spread::one_cell, 1200}})
    for (const std::int64_t columns : {1, 2, 3}) {
      expect_nearest<float>({spread, clusters}, columns);
      expect_nearest<double>({spread, clusters}, columns);
    }
  for (const Spread spread : {Spread::even, Spread::dense, Spread::one_cell}) {
    expect_nearest<double>({spread, 70'000}, 1);
    expect_nearest<float>({spread, 70'000}, 2);
    expect_nearest<double>({spread, 70'000}, 3);
  }
}

}  // namespace
}  // namespace gradus
