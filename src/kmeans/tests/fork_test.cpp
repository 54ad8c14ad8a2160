// Tests jobs in forked children. There is only one test, because the results depend on what the process has done before
// the fork.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gradus/kmeans_choose.hpp"
#include "tests/in_child.hpp"

namespace gradus {
namespace {

TEST(Fork, AChildSaysThatItCannotRunAJobOfSeveralThreads) {
  const std::vector<float> values = tests::some_points();
  const MatrixView<const float> points(values.data(), 2000, 3);
  KMeansOptions options;
  options.clusters = 5;
  const auto on_threads = [](int threads, const std::string& variant) {
    return Execution{.device = Device::cpu, .variant = variant, .threads = threads};
  };
  const auto inertia_of = [&](int threads, const std::string& variant) {
    return kmeans(points, options, on_threads(threads, variant)).inertia;
  };
  const double inertia = inertia_of(1, "");
  EXPECT_GT(kmeans_memory({2000, 3}, options, on_threads(2, "")).host, 0u);  // the estimate starts no threads
  tests::expect_children_without_threads(
      [&](int threads, const std::string& variant) {
        const double found = inertia_of(threads, variant);
        return variant.empty() ? found == inertia : found > 0;
      },
      {"tbb_flow_graph", "openmp_shared", "openmp_critical", "openmp_locked", "openmp_reduce",
       "openmp_reduce_first_touch", "openmp_reduce_first_touch_points", "simd_float_sums", "simd_small_dim",
       "simd_grid", "simd_large_dim", "simd_bounds"});
  const MatrixView<const float> centroids = points.slice(0, 5);
  tests::expect_refused_in_child(
      [&] { return kmeans_predict(centroids, points, KMeansMetric::euclidean, on_threads(2, "")).inertia > 0; },
      "kmeans_predict");
  tests::expect_refused_in_child(
      [&] { return kmeans_initial_centroids(points, options, on_threads(2, "")).rows.size() == 5; },
      "kmeans_initial_centroids");
  tests::expect_refused_in_child(
      [&] { return kmeans_transform(centroids, points, KMeansMetric::euclidean, on_threads(2, "")).rows() == 2000; },
      "kmeans_transform");
  tests::expect_refused_in_child([&] { return kmeans_standardization(points, on_threads(2, "")).mean.size() == 3; },
                                 "kmeans_standardization");
  tests::expect_refused_in_child(
      [&] {
        return kmeans_choose(points, {}, {.clusters = {2, 3}}, {}, on_threads(2, "")).candidates.size() == 2;
      },
      "kmeans_choose");
}

}  // namespace
}  // namespace gradus
