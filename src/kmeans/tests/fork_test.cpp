// Jobs in forked children. A single test, for what a process did before a fork is what it is about.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "gradus/kmeans.hpp"
#include "tests/in_child.hpp"

namespace gradus {
namespace {

using tests::in_child;

TEST(Fork, AChildSaysThatItCannotRunAJobOfSeveralThreads) {
  const std::vector<float> values = tests::some_points();
  const MatrixView<const float> points(values.data(), 2000, 3);
  Execution execution;
  execution.device = Device::cpu;
  const auto fit = [&](int threads, const char* variant = "") {
    KMeansOptions<float> options;
    options.clusters = 5;
    execution.threads = threads;
    execution.variant = variant;
    return kmeans<float>(points, options, execution);
  };

  // Before the first job of several threads, and after one of a single thread, every child can do all.
  const double inertia = fit(1).inertia;
  const auto fits = [&](int threads) { return fit(threads).inertia == inertia; };
  EXPECT_EQ(in_child([&] { return fits(2); }), "");
  KMeansOptions<float> options;
  options.clusters = 5;
  execution.threads = 2;
  EXPECT_GT(kmeans_memory<float>(2000, 3, options, execution), 0u);
  EXPECT_EQ(in_child([&] { return fits(3); }), "");

  EXPECT_TRUE(fits(2));
  EXPECT_TRUE(fit(2, "tbb_flow_graph").inertia > 0);
  const std::vector<std::function<bool()>> jobs{
      [&] { return fits(2); }, [&] { return fit(2, "tbb_flow_graph").inertia > 0; },
      [&] { return fit(2, "openmp_reduce").inertia > 0; },
      [&] {
        execution.threads = 2;
        return kmeans_predict<float>(points.slice(0, 5), points, Metric::euclidean, execution).inertia > 0;
      },
      [&] {
        execution.threads = 2;
        return kmeans_transform<float>(points.slice(0, 5), points, Metric::euclidean, execution).rows() == 2000;
      }};
  for (const auto& job : jobs) {
    const std::string message = in_child(job);
    EXPECT_NE(message.find("forked"), std::string::npos) << message;
    EXPECT_NE(message.find("'spawn'"), std::string::npos) << message;
  }
  // A child of the child is one, too.
  EXPECT_EQ(in_child([&] { return in_child([&] { return fits(2); }).find("'spawn'") != std::string::npos; }), "");
  // One thread needs none that are gone.
  EXPECT_EQ(in_child([&] { return fits(1); }), "");
  EXPECT_EQ(in_child([&] { return fit(1, "tbb_flow_graph").inertia > 0; }), "");
  for (const char* variant : {"openmp_shared", "openmp_critical", "openmp_reduce", "openmp_reduce_first_touch",
                              "simd_float_sums", "simd_small_dim", "simd_grid", "simd_large_dim", "simd_bounds"})
    EXPECT_EQ(in_child([&] { return fit(1, variant).inertia > 0; }), "") << variant;
  // And the parent goes on.
  EXPECT_TRUE(fits(2));
}

}  // namespace
}  // namespace gradus
