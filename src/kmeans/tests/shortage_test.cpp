// Tests that public calls throw gradus::OutOfMemoryError if memory is exhausted. In each run of a call, another
// allocation fails.
#include "tests/shortage.hpp"

#include <gtest/gtest.h>

#include "core/generate.hpp"
#include "execution/machine.hpp"
#include "kmeans/problem.hpp"

namespace gradus {
namespace {

namespace room = kmeans_detail;

// Returns enough points for several chunks, so that several threads work on the seeding.
Matrix<float> some_points() {
  Matrix<float> points(2100, 3);
  core::generate_points<float>({.kind = core::Generator::uniform, .seed = 3, .low = 0, .high = 10}, 0, points.view(),
                               1);
  return points;
}

TEST(Shortage, OfAFit) {
  const Matrix<float> points = some_points();
  const room::Shape shape{points.rows(), points.columns(), 6, sizeof(float), false};
  for (const room::Variant& variant : room::variants()) {
    if (variant.backend == core::Backend::cuda || !variant.supports(shape, execution::this_machine())) continue;
    for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
      KMeansOptions options;
      options.clusters = 6;
      options.init = init;
      options.max_iterations = 2;
      Execution execution;
      execution.threads = 1;  // no exception may leave a parallel region, not even if the region has only one thread
      execution.variant = variant.name;
      tests::fails_orderly([&] { kmeans(points, options, execution); }, variant.name);
    }
  }
}

TEST(Shortage, OfAPredictionAndOfDistances) {
  const Matrix<float> points = some_points();
  const Matrix<float> centroids = Matrix<float>::copy_of(points.view().slice(0, 8));
  Execution execution;
  execution.threads = 1;  // no exception may leave a parallel region, not even if the region has only one thread
  for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine}) {
    tests::fails_orderly([&] { kmeans_predict(centroids, points, metric, execution); }, "predict");
    tests::fails_orderly([&] { kmeans_transform(centroids, points, metric, execution); }, "transform");
    KMeansOptions options;
    options.metric = metric;
    tests::fails_orderly([&] { kmeans_initial_centroids(points, options, execution); }, "first centroids");
  }
}

}  // namespace
}  // namespace gradus
