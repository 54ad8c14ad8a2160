// Tests that a stop request ends a job within half a second, in every phase and with every variant. Each of these jobs
// would run for many seconds or minutes if it did not poll the request.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/philox.hpp"
#include "cpu/column_ranges.hpp"
#include "execution/devices.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/assign/simd_rows.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/seeding/cover.hpp"
#include "kmeans/seeding/filtered_cover.hpp"
#include "kmeans/seeding/initialize.hpp"
#include "kmeans/tests/job.hpp"
#include "tests/helpers.hpp"
#include "tests/stopping.hpp"

namespace gradus::kmeans_detail {
namespace {

using tests::EndlessZeros;
using tests::expect_to_stop_soon;
using tests::processor_seconds;

constexpr int threads = 2;

Matrix<float> random_points(std::int64_t n, std::int64_t d) {
  Matrix<float> points(n, d);
  const core::Philox random(7);
  for (std::int64_t index = 0; index < n * d; index += 4) {
    const auto words = random.block(static_cast<std::uint64_t>(index / 4));
    for (std::int64_t lane = 0; lane < std::min<std::int64_t>(4, n * d - index); ++lane)
      points.data()[index + lane] = static_cast<float>(words[static_cast<std::size_t>(lane)]) * 0x1p-32F;
  }
  return points;
}

/// Measures how many seconds a scan of all points takes.
template <class T>
double seconds_of_a_look(MatrixView<const T> points) {
  const double start = processor_seconds();
  cpu::column_ranges(points, "points", threads);
  return processor_seconds() - start;
}

/// Returns the options of a fit with one iteration, whose initial centroids are the first points. In such a fit, the
/// assignment directly follows the examination of the points.
KMeansJob<float> one_iteration(std::int64_t clusters) {
  KMeansJob<float> options;
  options.clusters = clusters;
  options.init = KMeansInit::first;
  options.max_iterations = 1;
  options.tolerance = 0;
  return options;
}

Execution on(const std::stop_token& stop, std::string_view variant = "") {
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  execution.variant = variant;
  execution.stop = stop;
  return execution;
}

struct LongPass {
  std::int64_t n;
  std::int64_t d;
  std::int64_t k;
};

/// Returns shapes with which a pass takes long. For vectorised variants, the shapes have several numbers of columns.
std::vector<LongPass> long_passes(const Variant& variant) {
  if (variant.backend != core::Backend::simd) return {{20'000, 64, 20'000}};
  return {{500'000, 3, 100'000}, {200'000, 16, 100'000}, {50'000, 400, 40'000}};
}

class Assignment : public testing::TestWithParam<const Variant*> {
 protected:
  // Runs job(points, k, stop) for each shape that the variant supports.
  template <class Job>
  void stop_in_long_passes(const Job& job) {
    bool any = false;
    for (const LongPass& pass : long_passes(*GetParam())) {
      const Shape shape{pass.n, pass.d, pass.k, 4, false};
      if (!GetParam()->supports(shape, execution::this_machine())) continue;
      SCOPED_TRACE(std::to_string(pass.n) + " x " + std::to_string(pass.d) + " in " + std::to_string(pass.k));
      const Matrix<float> points = random_points(pass.n, pass.d);
      const double examined = 6 * seconds_of_a_look(points.view());
      expect_to_stop_soon(examined + 0.2, threads,
                          [&](const std::stop_token& stop) { job(points.view(), pass.k, stop); });
      any = true;
    }
    EXPECT_TRUE(any) << "no shape of this test is supported here";
  }
};

TEST_P(Assignment, of_a_fit) {
  stop_in_long_passes([](MatrixView<const float> points, std::int64_t k, const std::stop_token& stop) {
    kmeans(points, one_iteration(k), on(stop, GetParam()->name));
  });
}

TEST_P(Assignment, of_a_prediction) {
  stop_in_long_passes([](MatrixView<const float> points, std::int64_t k, const std::stop_token& stop) {
    kmeans_predict(points.slice(0, k), points, KMeansMetric::euclidean, on(stop, GetParam()->name));
  });
}

INSTANTIATE_TEST_SUITE_P(kmeans, Assignment, testing::ValuesIn(tests::rows_that(variants(), tests::runs_on_cpu)),
                         tests::RowName());

// On a GPU, an iteration over these points takes at least a tenth of a second and at most a minute. A fit takes many
// iterations.
class GpuAssignment : public tests::WithRow<Variant> {};

TEST_P(GpuAssignment, of_a_fit) {
  constexpr std::int64_t n = 2'000'000;
  bool any = false;
  for (const auto& [d, k] : {std::pair<std::int64_t, std::int64_t>{64, 40'000}, {16, 500}, {3, 500}}) {
    if (!GetParam()->supports({n, d, k, 4, false}, execution::this_machine())) continue;
    SCOPED_TRACE(std::to_string(d) + " columns, " + std::to_string(k) + " clusters");
    const Matrix<float> points = random_points(n, d);
    KMeansJob<float> options = one_iteration(k);
    options.max_iterations = 1'000'000;
    options.restarts = 1000;  // because of the many restarts, the job does not end before the stop request
    const auto execution = [](const std::stop_token& stop) {
      Execution on_gpu = on(stop, GetParam()->name);
      on_gpu.device = Device::gpu;
      return on_gpu;
    };
    expect_to_stop_soon(
        2, 1, [&](const std::stop_token& stop) { kmeans(points.view(), options, execution(stop)); },
        tests::wall_seconds);
    any = true;
    break;
  }
  EXPECT_TRUE(any) << "no shape of this test is supported here";
}

INSTANTIATE_TEST_SUITE_P(kmeans, GpuAssignment, testing::ValuesIn(tests::rows_that(variants(), tests::runs_on_gpu)),
                         tests::RowName());

TEST(Stop, WhileExamining) {
  const EndlessZeros<float> points(20'000'000, 640);
  expect_to_stop_soon(0.1, threads,
                      [&](const std::stop_token& stop) { kmeans(points.view(), one_iteration(2), on(stop)); });
}

TEST(Stop, WhileLookingForDifferentPoints) {
  const EndlessZeros<float> points(60'000'000, 1);
  const double examined = seconds_of_a_look(points.view());
  expect_to_stop_soon(2 * examined + 0.1, threads,
                      [&](const std::stop_token& stop) { kmeans(points.view(), one_iteration(2), on(stop)); });
}

TEST(Stop, WhileFindingTheVariance) {
  EndlessZeros<float> points(10'000'000, 640);
  points.data()[0] = 1;
  seconds_of_a_look(std::as_const(points).view());  // maps the pages
  const double examined = seconds_of_a_look(std::as_const(points).view());
  KMeansJob<float> options = one_iteration(2);
  options.tolerance = 1e-4;
  // Before the tested phase, the points are examined twice. The phase takes several times as long.
  expect_to_stop_soon(3 * examined, threads,
                      [&](const std::stop_token& stop) { kmeans(std::as_const(points).view(), options, on(stop)); });
}

TEST(Stop, InitializeWhileTheFirstRowIsTaken) {
  EndlessZeros<float> points(40'000'000, 100);
  points.data()[0] = 1;
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel})
    expect_to_stop_soon(0.1, threads, [&](const std::stop_token& stop) {
      KMeansJob<float> options;
      options.clusters = 10;
      options.init = init;
      initialize(HostPoints<float>(std::as_const(points).view(), {}, threads, stop), options, {}, on(stop), 0);
    });
}

// Tests that a cover stops. Every candidate is within reach of every point, so the cover must measure all distances.
// make(points, stop) must return the cover.
template <class Make>
void expect_comparisons_to_stop(std::int64_t some, const Make& make) {
  EndlessZeros<float> points(1'000'000, 100);
  points.data()[0] = 1;
  std::vector<std::int64_t> candidates;
  for (std::int64_t row = 1; row <= some; ++row) candidates.push_back(row);
  const double start = processor_seconds();
  make(std::as_const(points).view(), {});
  const double made = processor_seconds() - start;
  expect_to_stop_soon(2 * made, threads, [&](const std::stop_token& stop) {
    make(std::as_const(points).view(), stop)->gains(candidates);
  });
  expect_to_stop_soon(2 * made, threads,
                      [&](const std::stop_token& stop) { make(std::as_const(points).view(), stop)->add(candidates); });
}

TEST(Stop, InitializeWhileCandidatesAreCompared) {
  expect_comparisons_to_stop(64, [](MatrixView<const float> points, const std::stop_token& stop) {
    return std::make_unique<Cover<float>>(points, VectorView<const float>(), 0, 10, threads, stop,
                                          core::RankRows(points.rows()));
  });
}
TEST(Stop, InitializeWhileCandidatesAreFiltered) {
  expect_comparisons_to_stop(1000, [](MatrixView<const float> points, const std::stop_token& stop) {
    return std::make_unique<FilteredCover<float>>(points, VectorView<const float>(),
                                                  std::make_shared<ByteRows<float>>(points), 0, true, threads, stop,
                                                  core::RankRows(points.rows()));
  });
}

TEST(Stop, WhileMeasuringDistancesToMoveEmptyClusters) {
  const EndlessZeros<float> points(4'000'000, 2000);
  const EndlessZeros<float> centroids(1, 2000);
  const EndlessZeros<std::int32_t> labels(4'000'000, 1);
  EndlessZeros<double> out(4'000'000, 1);
  expect_to_stop_soon(0.1, threads, [&](const std::stop_token& stop) {
    own_squared_distances(points.view(), centroids.view(), labels.view().data(), out.data(), threads, stop);
  });
}

TEST(Stop, WhileAddingUpTheInertia) {
  const EndlessZeros<float> points(4'000'000, 2000);
  const EndlessZeros<float> centroids(1, 2000);
  const EndlessZeros<std::int32_t> labels(4'000'000, 1);
  Problem<float> problem;
  problem.points = points.view();
  problem.initial_centroids = centroids.view();
  problem.statistics = examine<float>(points.view().slice(0, 10), {}, centroids.view(), 1);
  expect_to_stop_soon(0.1, threads, [&](const std::stop_token& stop) {
    problem.stop = stop;
    total_inertia(problem, centroids.view(), labels.view().data(), threads);
    core::honour_stop(stop, "what the frame does next");
  });
}

TEST(Stop, WhileTransforming) {
  const EndlessZeros<float> points(20'000, 4000);
  const EndlessZeros<float> centroids(4'000, 4000);
  EndlessZeros<float> distances(20'000, 4'000);
  const double examined = seconds_of_a_look(points.view());
  expect_to_stop_soon(2 * examined + 0.2, threads, [&](const std::stop_token& stop) {
    kmeans_transform(centroids.view(), points.view(), distances.view(), KMeansMetric::euclidean, on(stop));
  });
}

}  // namespace
}  // namespace gradus::kmeans_detail
