// Tests the bounds of simd_small_dim: fits in which they decide most points have the bits of simd_large_dim, which has
// no bounds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gradus/kmeans.hpp"

namespace gradus {
namespace {

struct Job {
  std::int64_t columns;
  std::int64_t clusters;
  double scale = 1;
  double offset = 0;
  bool sorted = false;
  bool weighted = false;
  double distance = 3;  ///< average distance between the centres of the clouds
};

constexpr std::int64_t rows = 9000;  // simd_small_dim keeps bounds from 8192 rows on

template <class T>
Matrix<T> clouds(const Job& job) {
  std::mt19937_64 random(static_cast<unsigned>(job.columns));
  std::normal_distribution<double> normal;
  std::vector<double> centres(static_cast<std::size_t>(job.clusters * job.columns));
  for (double& coordinate : centres) coordinate = job.distance * normal(random);
  Matrix<T> points(rows, job.columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t cloud = job.sorted ? row * job.clusters / rows : row % job.clusters;
    for (std::int64_t column = 0; column < job.columns; ++column)
      points(row, column) = static_cast<T>(
          job.scale * (job.offset + centres[static_cast<std::size_t>(cloud * job.columns + column)] + normal(random)));
  }
  return points;
}

template <class T>
KMeansResult<T> fitted(const Job& job, const Matrix<T>& points, const char* variant, int threads) {
  KMeansOptions options;
  options.clusters = job.clusters;
  options.init = KMeansInit::random;
  options.tolerance = 0;
  options.max_iterations = 40;
  std::vector<T> weights(job.weighted ? rows : 0);
  for (std::size_t row = 0; row < weights.size(); ++row) weights[row] = static_cast<T>(row % 5);
  KMeansMemory<T> memory;
  memory.weights = {weights.data(), static_cast<std::int64_t>(weights.size())};
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  execution.variant = variant;
  return kmeans(points, options, memory, execution);
}

template <class T>
void expect_same_bits(const Job& job) {
  SCOPED_TRACE(std::to_string(job.columns) + " columns, " + std::to_string(job.clusters) + " clusters, scale " +
               std::to_string(job.scale) + ", " + std::to_string(sizeof(T)) + " bytes");
  const Matrix<T> points = clouds<T>(job);
  const KMeansResult<T> truth = fitted(job, points, "simd_large_dim", 1);
  for (const int threads : {1, 3}) {
    const KMeansResult<T> found = fitted(job, points, "simd_small_dim", threads);
    EXPECT_EQ(found.iterations, truth.iterations);
    EXPECT_EQ(found.inertia, truth.inertia);
    for (std::int64_t row = 0; row < rows; ++row) ASSERT_EQ(found.labels[row], truth.labels[row]) << "row " << row;
    for (std::int64_t cluster = 0; cluster < job.clusters; ++cluster)
      ASSERT_EQ(0, std::memcmp(found.centroids.view().row(cluster), truth.centroids.view().row(cluster),
                               static_cast<std::size_t>(job.columns) * sizeof(T)))
          << "cluster " << cluster;
  }
}

TEST(SmallBounds, LabelsAreThoseOfAFullSearch) {
  const Job jobs[] = {{5, 40},
                      {8, 30, 1, 1e4},
                      {11, 50, 1, 0, false, true},
                      {16, 64},
                      {16, 64, 1, 0, true},
                      {16, 24, 0x1p-40, 3},
                      {7, 33, 0x1p30, -2, false, true},
                      {12, 20, 1, 0, false, false, 0}};
  for (const Job& job : jobs) {
    expect_same_bits<float>(job);
    expect_same_bits<double>(job);
  }
  expect_same_bits<double>({9, 30, 0x1p-300});
  expect_same_bits<double>({9, 30, 0x1p240});
}

}  // namespace
}  // namespace gradus
