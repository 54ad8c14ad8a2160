// Tests that results do not depend on the caller's floating-point environment, and that calls do not change this
// environment.
#include "tests/float_environments.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "gradus/kmeans.hpp"
#include "gradus/kmeans_criteria.hpp"

namespace gradus {
namespace {

/// Returns points in two columns around several centres, multiplied by `unit`.
template <class T>
Matrix<T> points_of(std::int64_t rows, T unit) {
  Matrix<T> points(rows, 2);
  for (std::int64_t row = 0; row < rows; ++row) {
    points(row, 0) = (static_cast<T>(row * 7919 % 997) * T(0.1) + static_cast<T>(row % 5 * 300)) * unit;
    points(row, 1) = (static_cast<T>(row * 104729 % 1009 + 1) * T(0.1)) * unit;
  }
  return points;
}

template <class T>
std::string bytes_of_fit(const Matrix<T>& points, const KMeansOptions& options, const Execution& execution) {
  const KMeansResult<T> fit = kmeans(points, options, execution);
  return tests::bytes_of(fit.centroids.data(), fit.centroids.rows() * fit.centroids.columns()) +
         tests::bytes_of(fit.labels.data(), static_cast<std::int64_t>(fit.labels.size())) +
         tests::bytes_of(&fit.inertia, 1);
}

TEST(Environment, ChangesNoFit) {
  const Matrix<float> single = points_of<float>(3000, 1);
  const Matrix<float> tiny = points_of<float>(3000, 1e-42F);
  const Matrix<double> twice = points_of<double>(3000, 1);
  KMeansOptions options;
  options.clusters = 5;
  options.tolerance = 0;
  options.max_iterations = 4;
  tests::expect_same_in_all_environments("kmeans",
                                         [&](const Execution& execution) {
                                           return bytes_of_fit(single, options, execution) +
                                                  bytes_of_fit(tiny, options, execution) +
                                                  bytes_of_fit(twice, options, execution);
                                         },
                                         {"openmp_reduce", "tbb_flow_graph"});
}

TEST(Environment, ChangesNoUseOfAFit) {
  const Matrix<float> points = points_of<float>(3000, 1e-3F);
  const Matrix<float> centroids = points_of<float>(7, 2e-3F);
  std::vector<std::int32_t> labels(3000);
  for (std::size_t row = 0; row < labels.size(); ++row) labels[row] = static_cast<std::int32_t>(row % 5);
  for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
    tests::expect_same_in_all_environments("kmeans", [&](const Execution& asked) {
      Execution execution = asked;
      execution.variant = "";
      const Matrix<float> distances = kmeans_transform(centroids, points, metric, execution);
      const KMeansPrediction prediction = kmeans_predict(centroids, points, metric, execution);
      const std::array<VectorView<const std::int32_t>, 1> labelings{
          VectorView<const std::int32_t>(labels.data(), 3000)};
      const KMeansCriteriaResult criteria =
          kmeans_criteria(points, labelings, {.metric = metric, .silhouette_points = 300}, execution);
      const double silhouette = criteria.labelings[0].silhouette.value();
      return tests::bytes_of(distances.data(), distances.rows() * distances.columns()) +
             tests::bytes_of(prediction.labels.data(), 3000) + tests::bytes_of(&prediction.inertia, 1) +
             tests::bytes_of(&silhouette, 1);
    });
}

TEST(Environment, IsKeptByACallThatThrows) {
  Matrix<float> points(10, 2);
  points(3, 1) = std::numeric_limits<float>::quiet_NaN();
  tests::expect_environment_kept_on_error(
      [&] { kmeans(points, {.clusters = 3}, {.device = Device::cpu, .threads = 2}); });
}

}  // namespace
}  // namespace gradus
