// Tests the driver with every variant: options, errors, empty clusters, stopping rules, and invariances.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sched.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/options.hpp"
#include "core/philox.hpp"
#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/machine.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/means/exact_sums.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/seeding/initialize.hpp"
#include "kmeans/tests/job.hpp"
#include "tests/helpers.hpp"
#include "tests/machine_with_gpu.hpp"

namespace gradus {
namespace {

using kmeans_detail::ExactSums;
using kmeans_detail::examine;
using kmeans_detail::limb_columns;
using kmeans_detail::Problem;
using kmeans_detail::Shape;
using kmeans_detail::Variant;
using kmeans_detail::variants;
using tests::contains;
using tests::error_of;
using tests::same_bits;

template <class T>
Matrix<T> matrix(std::int64_t rows, std::int64_t columns, const std::vector<double>& values) {
  Matrix<T> result(rows, columns);
  for (std::int64_t index = 0; index < rows * columns; ++index)
    result.data()[index] = static_cast<T>(values.at(static_cast<std::size_t>(index)));
  return result;
}

template <class T>
MatrixView<const T> view(const Matrix<T>& values) {
  return values.view();
}

// Returns random integers. Any sum of a few thousand of them is exact, so even the teaching rungs have the same bits as
// the oracle.
template <class T>
Matrix<T> whole_numbers(std::int64_t rows, std::int64_t columns, std::uint64_t seed, std::uint64_t below = 1000) {
  Matrix<T> points(rows, columns);
  const core::Philox random(seed);
  for (std::int64_t index = 0; index < rows * columns; ++index)
    points.data()[index] = static_cast<T>(random.below(static_cast<std::uint64_t>(index), below));
  return points;
}

template <class T>
std::vector<std::int32_t> labels_of(const T& result) {
  return {result.labels.begin(), result.labels.end()};
}

template <class T>
KMeansJob<T> from(const Matrix<T>& first) {
  KMeansJob<T> options;
  options.clusters = first.rows();
  options.init = KMeansInit::given;
  options.initial_centroids = first.view();
  options.tolerance = 0;
  return options;
}

Execution with_threads(int threads) {
  Execution execution;
  execution.threads = threads;
  return execution;
}

// ---------------------------------------------------------------------------------------------------------------------
// Every variant

class Frame : public tests::WithRow<Variant> {
 protected:
  /// Returns the largest number of columns that the variant supports, but at most `wanted`.
  std::int64_t columns(std::int64_t wanted) const {
    while (!GetParam()->supports(Shape{100, wanted, 3, 8, false}, execution::this_machine())) --wanted;
    return wanted;
  }
  Execution on(int threads) const {
    Execution execution = with_threads(threads);
    execution.variant = GetParam()->name;
    return execution;
  }
};

class Repeatable : public Frame {};

/// Production variants on the CPU.
class Production : public Frame {};
INSTANTIATE_TEST_SUITE_P(kmeans, Production,
                         testing::ValuesIn(tests::rows_that(variants(),
                                                            [](const Variant& variant) {
                                                              return tests::runs_on_cpu(variant) &&
                                                                     variant.contract.kind == core::Contract::same_bits;
                                                            })),
                         tests::RowName());

INSTANTIATE_TEST_SUITE_P(kmeans, Frame, testing::ValuesIn(tests::rows_that(variants(), tests::any)), tests::RowName());
INSTANTIATE_TEST_SUITE_P(
    kmeans, Repeatable,
    testing::ValuesIn(tests::rows_that(variants(), [](const Variant& variant) { return variant.deterministic; })),
    tests::RowName());

// Two groups of points, and a third centroid that is not the nearest centroid of any point.
struct EmptyThird {
  Matrix<double> points = matrix<double>(7, 1, {0, 1, 2, 10, 11, 12, 19});
  Matrix<double> first = matrix<double>(3, 1, {1, 11, 500});
};

TEST_P(Frame, empty_cluster_is_an_error_where_asked) {
  const EmptyThird data;
  KMeansJob<double> options = from(data.first);
  options.empty = KMeansEmptyCluster::error;
  const std::string message = error_of<Error>([&] { kmeans(view(data.points), options, on(2)); });
  EXPECT_TRUE(contains(message, "cluster 2")) << message;
  EXPECT_TRUE(contains(message, "iteration 1")) << message;
}

TEST_P(Frame, empty_cluster_is_kept_where_asked) {
  const EmptyThird data;
  KMeansJob<double> options = from(data.first);
  options.empty = KMeansEmptyCluster::keep;
  const KMeansResult<double> result = kmeans(view(data.points), options, on(2));
  EXPECT_EQ(result.centroids(2, 0), 500);
  EXPECT_EQ(result.centroids(0, 0), 1);
  EXPECT_EQ(result.centroids(1, 0), 13);
  EXPECT_EQ(result.counts, (std::vector<std::int64_t>{3, 4, 0}));
  EXPECT_EQ(result.stop_reason, KMeansStopReason::labels_unchanged);
}

TEST_P(Frame, empty_cluster_moves_to_the_farthest_point) {
  const EmptyThird data;
  const KMeansResult<double> result = kmeans(view(data.points), from(data.first), on(2));
  // The point 19 has the distance 8 from its centroid 11. Every other point has at most the distance 1 from its
  // centroid.
  EXPECT_EQ(result.centroids(2, 0), 19);
  EXPECT_EQ(result.centroids(1, 0), 11);  // the mean of 10, 11 and 12, without the relocated 19
  EXPECT_EQ(result.counts, (std::vector<std::int64_t>{3, 3, 1}));
  EXPECT_EQ(result.inertia, 4);
}

TEST_P(Frame, of_equally_far_points_the_lowest_row_moves) {
  // Rows 1, 2 and 4 all have the distance 5 from their nearest centroids. Rows 1 and 4 belong to one centroid, row 2
  // belongs to another centroid.
  const Matrix<double> points = matrix<double>(6, 2, {0, 0, 3, 4, 100, 5, 100, 0, 0, -5, 100, 1});
  const Matrix<double> first = matrix<double>(3, 2, {0, 0, 100, 0, 0, 9000});
  KMeansJob<double> options = from(first);
  options.max_iterations = 1;
  const KMeansResult<double> result = kmeans(view(points), options, on(3));
  EXPECT_EQ(result.centroids(2, 0), 3);
  EXPECT_EQ(result.centroids(2, 1), 4);
}

TEST_P(Frame, two_empty_clusters_take_the_two_farthest_points) {
  const Matrix<double> points = matrix<double>(6, 1, {0, 1, 7, 2, -9, 1});
  const Matrix<double> first = matrix<double>(3, 1, {0, 4000, 3000});
  KMeansJob<double> options = from(first);
  options.max_iterations = 1;
  const KMeansResult<double> result = kmeans(view(points), options, on(2));
  EXPECT_EQ(result.centroids(0, 0), 1);
  EXPECT_EQ(result.centroids(1, 0), -9);
  EXPECT_EQ(result.centroids(2, 0), 7);
}

TEST_P(Frame, stop_request_before_the_start) {
  std::stop_source source;
  source.request_stop();
  Execution execution = on(2);
  execution.stop = source.get_token();
  const Matrix<float> points = whole_numbers<float>(50, 2, 1);
  KMeansJob<float> options;
  options.clusters = 3;
  error_of<InterruptedError>([&] { kmeans(view(points), options, execution); });
}

TEST_P(Frame, stop_request_between_iterations_and_progress) {
  const Matrix<float> points = whole_numbers<float>(3000, 2, 2);
  KMeansJob<float> options;
  options.clusters = 20;
  options.tolerance = 0;
  options.init = KMeansInit::first;
  std::stop_source source;
  Execution execution = on(2);
  execution.stop = source.get_token();
  int iterations = 0;
  bool same_thread = true;
  const auto caller = std::this_thread::get_id();
  execution.progress = [&](const Progress& progress) {
    same_thread = same_thread && std::this_thread::get_id() == caller;
    if (progress.phase != "iteration") return;
    ++iterations;
    EXPECT_EQ(progress.done, iterations);
    EXPECT_EQ(progress.total, options.max_iterations);
    if (iterations == 2) source.request_stop();
  };
  const std::string message = error_of<InterruptedError>([&] { kmeans(view(points), options, execution); });
  EXPECT_EQ(iterations, 2);
  EXPECT_TRUE(same_thread);
  EXPECT_TRUE(contains(message, "iteration 3")) << message;
}

TEST_P(Frame, progress_is_called_for_every_iteration) {
  const Matrix<double> points = whole_numbers<double>(500, 3, 3);
  KMeansJob<double> options;
  options.clusters = 6;
  Execution execution = on(3);
  int iterations = 0;
  execution.progress = [&](const Progress& progress) { iterations += progress.phase == "iteration"; };
  const KMeansResult<double> result = kmeans(view(points), options, execution);
  EXPECT_EQ(iterations, result.iterations);
  EXPECT_EQ(static_cast<std::size_t>(result.iterations), result.history.size());
}

TEST_P(Frame, what_a_report_throws_reaches_the_caller) {
  const Matrix<float> points = whole_numbers<float>(3000, 2, 2);
  KMeansJob<float> options;
  options.clusters = 20;
  for (const std::string phase : {"initialize", "iteration"}) {
    Execution execution = on(3);
    execution.progress = [&](const Progress& progress) {
      if (progress.phase == phase) throw std::out_of_range("the report's own");
    };
    EXPECT_THROW(kmeans(view(points), options, execution), std::out_of_range) << phase;
  }
}

TEST_P(Frame, stop_rules) {
  const Matrix<double> points = whole_numbers<double>(2000, 2, 4);
  const Matrix<double> first = Matrix<double>::copy_of(view(points).slice(0, 12));
  KMeansJob<double> options = from(first);
  const KMeansResult<double> unchanged = kmeans(view(points), options, on(2));
  EXPECT_EQ(unchanged.stop_reason, KMeansStopReason::labels_unchanged);
  EXPECT_TRUE(unchanged.converged);
  EXPECT_EQ(unchanged.history.back().changed, 0);
  EXPECT_EQ(unchanged.history.front().changed, 2000);
  ASSERT_GT(unchanged.iterations, 8);

  options.max_iterations = 3;
  const KMeansResult<double> limited = kmeans(view(points), options, on(2));
  EXPECT_EQ(limited.stop_reason, KMeansStopReason::iteration_limit);
  EXPECT_FALSE(limited.converged);
  EXPECT_EQ(limited.iterations, 3);

  options.max_iterations = 300;
  options.changed_fraction = 0.01;
  const KMeansResult<double> few = kmeans(view(points), options, on(2));
  EXPECT_EQ(few.stop_reason, KMeansStopReason::few_labels_changed);
  EXPECT_LE(few.history.back().changed, 20);
  EXPECT_GT(few.history.at(few.history.size() - 2).changed, 20);

  options.changed_fraction = 0;
  options.tolerance = 1e-3;
  const KMeansResult<double> settled = kmeans(view(points), options, on(2));
  EXPECT_EQ(settled.stop_reason, KMeansStopReason::centroids_settled);
  // The columns are uniform between 0 and 999, so their variance is near 1000^2 / 12.
  EXPECT_LE(settled.history.back().shift, 1.1 * 1e-3 * 1e6 / 12);
  EXPECT_GT(settled.history.at(settled.history.size() - 2).shift, 0.9 * 1e-3 * 1e6 / 12);
}

TEST_P(Frame, inertia_never_rises) {
  for (const int threads : {1, 3}) {
    const Matrix<double> points = whole_numbers<double>(3000, columns(4), 5);
    const Matrix<double> first = Matrix<double>::copy_of(view(points).slice(0, 25));
    const KMeansResult<double> result = kmeans(view(points), from(first), on(threads));
    ASSERT_GT(result.history.size(), 5u);
    for (std::size_t step = 1; step < result.history.size(); ++step)
      EXPECT_TRUE(result.history[step].inertia <= result.history[step - 1].inertia * (1 + 1e-12))
          << "iteration " << step;
    EXPECT_TRUE(result.inertia <= result.history.back().inertia * (1 + 1e-12));
    // The two inertias are equal up to rounding, because the fit has converged.
    EXPECT_TRUE(std::abs(result.inertia - result.history.back().inertia) <= 1e-12 * result.inertia);
  }
}

TEST_P(Frame, labels_counts_and_centroids_belong_together) {
  const Matrix<double> points = whole_numbers<double>(2500, 3, 6);
  const Matrix<double> first = Matrix<double>::copy_of(view(points).slice(0, 9));
  KMeansJob<double> options = from(first);
  options.max_iterations = 4;  // the fit ends early, so the labels must be computed again
  const KMeansResult<double> result = kmeans(view(points), options, on(3));
  std::vector<std::int64_t> counts(9);
  double inertia = 0;
  for (std::int64_t point = 0; point < 2500; ++point) {
    std::int32_t nearest = 0;
    double least = INFINITY;
    for (std::int32_t cluster = 0; cluster < 9; ++cluster) {
      const double distance = kmeans_detail::squared_distance(points.row(point), result.centroids.row(cluster), 3);
      if (distance < least) {
        least = distance;
        nearest = cluster;
      }
    }
    ASSERT_EQ(result.labels[point], nearest) << "point " << point;
    ++counts[static_cast<std::size_t>(nearest)];
    inertia += least;
  }
  EXPECT_EQ(result.counts, counts);
  EXPECT_TRUE(std::abs(result.inertia - inertia) <= 1e-12 * inertia);
}

// A counter of type float could not count beyond 2^24, and a sum of type float would stop growing soon after.
TEST_P(Frame, counts_and_sums_beyond_what_a_float_can_count) {
#ifdef GRADUS_SANITIZED
  GTEST_SKIP() << "16 million points by every variant; the release build runs them";
#endif
  const std::int64_t n = (std::int64_t{1} << 24) + 6;
  Matrix<float> points(n, 1);
  for (std::int64_t point = 0; point < n; ++point) points(point, 0) = point < 4 ? 0.0F : 3.0F;
  const Matrix<float> first = matrix<float>(2, 1, {0, 2});
  KMeansJob<float> options = from(first);
  options.max_iterations = 1;
  const KMeansResult<float> result = kmeans(view(points), options, on(1));
  EXPECT_EQ(result.counts, (std::vector<std::int64_t>{4, n - 4}));
  EXPECT_EQ(result.centroids(1, 0), 3.0F);
  EXPECT_EQ(result.inertia, 0);
}

TEST_P(Frame, predict_and_transform_agree_with_the_fit) {
  for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine}) {
    const Matrix<double> points = whole_numbers<double>(700, columns(5), 7);
    KMeansJob<double> options;
    options.clusters = 11;
    options.metric = metric;
    options.max_iterations = 5;
    const KMeansResult<double> fit = kmeans(view(points), options, on(2));
    const KMeansPrediction prediction = kmeans_predict(view(fit.centroids), view(points), metric, on(2));
    EXPECT_EQ(labels_of(prediction), labels_of(fit));
    EXPECT_TRUE(std::abs(prediction.inertia - fit.inertia) <= 1e-12 * fit.inertia);
    const Matrix<double> distances = kmeans_transform(view(fit.centroids), view(points), metric, on(2));
    ASSERT_EQ(distances.rows(), 700);
    ASSERT_EQ(distances.columns(), 11);
    double inertia = 0;
    for (std::int64_t point = 0; point < 700; ++point) {
      const double* row = distances.row(point);
      EXPECT_EQ(std::min_element(row, row + 11) - row, fit.labels[point]) << "point " << point;
      const double own = row[fit.labels[point]];
      inertia += metric == KMeansMetric::cosine ? own : own * own;
    }
    EXPECT_TRUE(std::abs(inertia - fit.inertia) <= 1e-12 * fit.inertia);
  }
}

// The centroids were rounded when they were scaled to unit length. If the prediction scaled them again, the tie would
// be decided differently.
TEST_P(Frame, predict_labels_a_tie_of_cosines_as_the_fit_did) {
  if (columns(2) != 2) return;
  const Matrix<double> points = matrix<double>(8, 2, {10, 1, 12, 2, 1, 10, 2, 12, 7, 7, 4, 4, 3, 3, 4, 4});
  const Matrix<double> first = matrix<double>(2, 2, {10, 1, 1, 10});
  KMeansJob<double> options = from(first);
  options.metric = KMeansMetric::cosine;
  options.max_iterations = 1;
  const KMeansResult<double> fit = kmeans(view(points), options, on(1));
  const KMeansPrediction prediction = kmeans_predict(view(fit.centroids), view(points), KMeansMetric::cosine, on(1));
  EXPECT_EQ(labels_of(prediction), labels_of(fit));
  EXPECT_TRUE(std::abs(prediction.inertia - fit.inertia) <= 1e-15);
}

// The inertia of a prediction must take the weights into account. If the variant's inertia is exact, the inertia of the
// prediction must have the same bits as the inertia of the fit.
TEST_P(Frame, weights_count_in_the_inertia_of_a_prediction) {
  const Matrix<double> points = whole_numbers<double>(700, columns(5), 7);
  std::vector<double> weights;
  for (int row = 0; row < 700; ++row) weights.push_back(row % 9 == 0 ? 0.0 : 0.1 * row);
  KMeansJob<double> options;
  options.clusters = 11;
  options.weights = weights;
  options.max_iterations = 5;
  const KMeansResult<double> fit = kmeans(view(points), options, on(2));
  const KMeansMemory<double> memory{.weights = weights};
  const auto predict = [&](const KMeansMemory<double>& given) {
    return kmeans_predict(view(fit.centroids), view(points), given, KMeansMetric::euclidean, on(2));
  };
  const KMeansPrediction prediction = predict(memory);
  EXPECT_EQ(labels_of(prediction), labels_of(fit));
  const Matrix<double> distances = kmeans_transform(view(fit.centroids), view(points));
  double inertia = 0;
  for (std::int64_t point = 0; point < 700; ++point) {
    const double own = distances(point, fit.labels[point]);
    inertia += weights[static_cast<std::size_t>(point)] * own * own;
  }
  EXPECT_TRUE(std::abs(prediction.inertia - inertia) <= 1e-12 * inertia);
  if (GetParam()->contract == core::Contract::same_bits) EXPECT_EQ(prediction.inertia, fit.inertia);
  else EXPECT_TRUE(std::abs(prediction.inertia - fit.inertia) <= 1e-12 * fit.inertia);
  std::vector<std::int32_t> labels(700, -1);
  EXPECT_EQ(predict({.weights = weights, .labels = labels}).labels.size(), 0);
  EXPECT_EQ(labels, labels_of(fit));
}

TEST_P(Frame, a_prediction_reports_progress_and_honours_a_stop_request) {
  const Matrix<float> points = whole_numbers<float>(900, columns(5), 7);
  const MatrixView<const float> centroids = view(points).slice(0, 10);
  const std::vector<std::pair<std::string, std::function<void(const Execution&)>>> calls = {
      {"assign", [&](const Execution& how) { kmeans_predict(centroids, view(points), KMeansMetric::euclidean, how); }},
      {"distances",
       [&](const Execution& how) { kmeans_transform(centroids, view(points), KMeansMetric::cosine, how); }}};
  for (const auto& [phase, call] : calls) {
    Execution execution = on(3);
    std::vector<std::int64_t> done;
    const auto caller = std::this_thread::get_id();
    execution.progress = [&, phase = phase](const Progress& progress) {
      EXPECT_EQ(progress.phase, phase);
      EXPECT_EQ(progress.total, 900);
      EXPECT_EQ(std::this_thread::get_id(), caller);
      done.push_back(progress.done);
    };
    call(execution);
    ASSERT_GE(done.size(), 2u) << phase;
    EXPECT_TRUE(done.front() == 0 && done.back() == 900 && std::is_sorted(done.begin(), done.end())) << phase;
    std::stop_source source;
    execution.stop = source.get_token();
    execution.progress = [&](const Progress&) { source.request_stop(); };
    error_of<InterruptedError>([&, &call = call] { call(execution); });
    execution.stop = {};
    execution.progress = [](const Progress&) { throw std::out_of_range("the report's own"); };
    EXPECT_THROW(call(execution), std::out_of_range) << phase;
  }
}

TEST_P(Production, a_long_prediction_reports_progress_in_between) {
  bool any = false;
  // Increase n until the prediction is long enough to report progress.
  for (std::int64_t n = 20'000; n < 30'000'000 && !any; n *= 4) {
    const Matrix<float> points = whole_numbers<float>(n, columns(16), 7);
    Execution execution = on(2);
    execution.progress = [&](const Progress& progress) { any = any || (progress.done > 0 && progress.done < n); };
    kmeans_predict(view(points).slice(0, 1000), view(points), KMeansMetric::euclidean, execution);
  }
  EXPECT_TRUE(any);
}

TEST_P(Frame, strided_rows_equal_contiguous_ones) {
  for (const std::int64_t d : {std::int64_t{3}, columns(40)}) {
    const Matrix<float> points = whole_numbers<float>(900, d, 8);
    const Matrix<float> first = Matrix<float>::copy_of(view(points).slice(0, 8));
    // The elements between the rows are NaN. They must not affect the result.
    Buffer<float> wide(900 * (d + 3), std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t point = 0; point < 900; ++point) std::copy_n(points.row(point), d, wide.data() + point * (d + 3));
    const KMeansJob<float> options = from(first);
    const KMeansResult<float> contiguous = kmeans(view(points), options, on(1));
    const KMeansResult<float> strided = kmeans(MatrixView<const float>(wide.data(), 900, d, d + 3), options, on(1));
    EXPECT_EQ(labels_of(contiguous), labels_of(strided));
    EXPECT_TRUE(same_bits(contiguous.centroids, strided.centroids));
    EXPECT_EQ(contiguous.inertia, strided.inertia);
    EXPECT_EQ(contiguous.iterations, strided.iterations);
  }
}

TEST_P(Frame, scaling_by_a_power_of_two_scales_everything_exactly) {
  const std::int64_t d = columns(6);
  const Matrix<float> points = whole_numbers<float>(1200, d, 9);
  Matrix<float> scaled(1200, d);
  for (std::int64_t index = 0; index < 1200 * d; ++index) scaled.data()[index] = points.data()[index] * 0x1p-7F;
  KMeansJob<float> options;
  options.clusters = 10;
  options.tolerance = 1e-4;
  const KMeansResult<float> before = kmeans(view(points), options, on(1));
  const KMeansResult<float> after = kmeans(view(scaled), options, on(1));
  EXPECT_EQ(labels_of(before), labels_of(after));
  EXPECT_EQ(before.iterations, after.iterations);
  EXPECT_EQ(before.inertia * 0x1p-14, after.inertia);
  for (std::int64_t index = 0; index < 10 * d; ++index)
    ASSERT_EQ(before.centroids.data()[index] * 0x1p-7F, after.centroids.data()[index]);
}

TEST_P(Frame, one_thread_or_many_give_the_same_where_sums_are_exact) {
  const Matrix<double> points = whole_numbers<double>(4000, 2, 10);
  const Matrix<double> first = Matrix<double>::copy_of(view(points).slice(0, 16));
  const KMeansJob<double> options = from(first);
  const KMeansResult<double> one = kmeans(view(points), options, on(1));
  EXPECT_EQ(one.report.threads, 1);
  for (const int threads : {2, 5, 16}) {
    const KMeansResult<double> many = kmeans(view(points), options, on(threads));
    EXPECT_EQ(labels_of(one), labels_of(many));
    EXPECT_TRUE(same_bits(one.centroids, many.centroids));
    EXPECT_EQ(many.report.variant, GetParam()->name);
    EXPECT_EQ(many.report.threads, GetParam()->backend == core::Backend::sequential ? 1 : threads);
  }
}

// The coordinates are fractions, so sums are rounded. The rounding errors must not depend on the timing of threads.
TEST_P(Repeatable, same_bits_again_on_the_same_number_of_threads) {
  Matrix<double> points = whole_numbers<double>(6000, 3, 11);
  for (std::int64_t index = 0; index < 18000; ++index) points.data()[index] = std::sqrt(points.data()[index]);
  const Matrix<double> first = Matrix<double>::copy_of(view(points).slice(0, 7));
  const KMeansJob<double> options = from(first);
  const KMeansResult<double> once = kmeans(view(points), options, on(4));
  for (int run = 0; run < 3; ++run) {
    const KMeansResult<double> again = kmeans(view(points), options, on(4));
    EXPECT_EQ(labels_of(once), labels_of(again));
    EXPECT_TRUE(same_bits(once.centroids, again.centroids));
    EXPECT_EQ(once.inertia, again.inertia);
  }
}

// If the points are permuted, their labels must be permuted in the same way. Empty clusters are kept, because a
// relocation would depend on the order of the rows.
TEST_P(Frame, permuting_points_permutes_labels) {
  const bool holds = rc::check("permuting points permutes labels", [this] {
    const auto n = *rc::gen::inRange<std::int64_t>(1, 200);
    const auto d = *rc::gen::inRange<std::int64_t>(1, columns(5) + 1);
    const auto k = *rc::gen::inRange<std::int64_t>(1, 8);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto below = *rc::gen::element<std::uint64_t>(4, 30, 1000);  // few different values make many ties
    const Matrix<double> points = whole_numbers<double>(n, d, seed, below);
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    const core::Philox random(seed, 1);
    for (std::size_t at = order.size(); at > 1; --at) std::swap(order[at - 1], order[random.below(at, at)]);
    Matrix<double> permuted(n, d);
    for (std::int64_t row = 0; row < n; ++row)
      std::copy_n(points.row(order[static_cast<std::size_t>(row)]), d, permuted.row(row));
    const Matrix<double> first = whole_numbers<double>(k, d, seed + 1, below);
    KMeansJob<double> options = from(first);
    options.empty = KMeansEmptyCluster::keep;
    const auto fit = [&](const Matrix<double>& rows) { return kmeans(view(rows), options, on(2)); };
    std::set<std::vector<double>> distinct;
    for (std::int64_t row = 0; row < n; ++row) distinct.insert({points.row(row), points.row(row) + d});
    RC_PRE(static_cast<std::int64_t>(distinct.size()) >= k);
    const KMeansResult<double> before = fit(points);
    const KMeansResult<double> after = fit(permuted);
    for (std::int64_t row = 0; row < n; ++row)
      RC_ASSERT(after.labels[row] == before.labels[order[static_cast<std::size_t>(row)]]);
    RC_ASSERT(same_bits(before.centroids, after.centroids));
    RC_ASSERT(before.counts == after.counts);
    RC_ASSERT(before.iterations == after.iterations);
  });
  EXPECT_TRUE(holds);
}

// If the points are translated by a power of two, the result must be translated in the same way. The clusters are
// distant groups of four points with integer coordinates, so that a float holds their means exactly before and after
// the translation.
TEST_P(Frame, translating_by_a_power_of_two_changes_nothing) {
  const bool holds = rc::check("translating by a power of two changes nothing", [this] {
    const auto d = *rc::gen::inRange<std::int64_t>(1, columns(20));
    const auto k = *rc::gen::inRange<std::int64_t>(1, 9);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto shift = static_cast<float>(std::ldexp(*rc::gen::element(1.0, -1.0), *rc::gen::inRange(10, 16)));
    Matrix<float> points = whole_numbers<float>(4 * k, d, seed, 32);
    for (std::int64_t point = 0; point < 4 * k; ++point) points(point, 0) += static_cast<float>(256 * (point % k));
    Matrix<float> moved(4 * k, d);
    for (std::int64_t index = 0; index < 4 * k * d; ++index) moved.data()[index] = points.data()[index] + shift;
    KMeansJob<float> options;
    options.clusters = k;
    options.init = KMeansInit::first;
    const auto fit = [&](const Matrix<float>& rows) { return kmeans(view(rows), options, on(2)); };
    const KMeansResult<float> before = fit(points);
    const KMeansResult<float> after = fit(moved);
    RC_ASSERT(labels_of(before) == labels_of(after));
    RC_ASSERT(before.iterations == after.iterations);
    RC_ASSERT(before.inertia == after.inertia);
    for (std::int64_t index = 0; index < k * d; ++index)
      RC_ASSERT(before.centroids.data()[index] + shift == after.centroids.data()[index]);
  });
  EXPECT_TRUE(holds);
}

TEST_P(Frame, weights_count_like_repeated_points) {
  const Matrix<double> points = whole_numbers<double>(300, 2, 12);
  std::vector<double> weights(300);
  std::vector<double> repeated;
  for (std::size_t row = 0; row < 300; ++row) {
    weights[row] = static_cast<double>(row % 3);
    for (std::size_t time = 0; time < row % 3; ++time)
      repeated.insert(repeated.end(),
                      {points(static_cast<std::int64_t>(row), 0), points(static_cast<std::int64_t>(row), 1)});
  }
  const auto rows = static_cast<std::int64_t>(repeated.size() / 2);
  const Matrix<double> many = matrix<double>(rows, 2, repeated);
  const Matrix<double> first = Matrix<double>::copy_of(view(many).slice(0, 5));
  KMeansJob<double> options = from(first);
  options.empty = KMeansEmptyCluster::keep;
  const KMeansResult<double> plain = kmeans(view(many), options, on(2));
  options.weights = VectorView<const double>(weights.data(), 300);
  const KMeansResult<double> weighted = kmeans(view(points), options, on(2));
  EXPECT_TRUE(same_bits(plain.centroids, weighted.centroids));
  EXPECT_TRUE(std::abs(plain.inertia - weighted.inertia) <= 1e-12 * plain.inertia);
}

TEST_P(Frame, restarts_keep_the_least_inertia) {
  const Matrix<double> points = whole_numbers<double>(400, 2, 13);
  KMeansJob<double> options;
  options.clusters = 12;
  options.init = KMeansInit::random;
  options.tolerance = 0;
  options.restarts = 6;
  const KMeansResult<double> best = kmeans(view(points), options, on(1));
  std::vector<double> inertias;
  for (int restart = 0; restart < 6; ++restart) {
    const Matrix<double> first =
        kmeans_detail::initialize(kmeans_detail::HostPoints<double>(view(points)), options, {}, on(1), restart)
            .centroids;
    inertias.push_back(kmeans(view(points), from(first), on(1)).inertia);
  }
  const auto least = std::min_element(inertias.begin(), inertias.end());
  // The inertias must differ, so that one fit is the best.
  EXPECT_LT(*least, *std::max_element(inertias.begin(), inertias.end()));
  EXPECT_EQ(best.inertia, *least);
  EXPECT_EQ(best.restart, least - inertias.begin());
}

// Few different points. Their coordinates are integers, so that even sums with textbook arithmetic are exact.
struct FewPoints {
  std::string name;
  Matrix<double> points;
  std::vector<double> weights;
  std::int64_t clusters = 0;
  std::int64_t different = 0;  ///< number of different points of positive weight
};

std::vector<FewPoints> few_points(std::int64_t d) {
  std::vector<FewPoints> list;
  const auto add = [&](std::string name, std::int64_t n, std::int64_t clusters, std::int64_t different) {
    list.push_back({std::move(name), Matrix<double>(n, d), {}, clusters, different});
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t dim = 0; dim < d; ++dim)
        list.back().points(row, dim) =
            row % different == 0 ? 3.0 : static_cast<double>((row % different) * (4 + dim % 3));
  };
  add("all equal", 200, 3, 1);
  add("two of five have weight", 5, 3, 5);
  list.back().weights = {1, 0, 0, 2, 0};
  list.back().different = 2;
  add("duplicates", 300, 40, 12);
  add("one for each but one", 13, 13, 12);
  add("weights", 300, 20, 12);
  for (int row = 0; row < 300; ++row) list.back().weights.push_back(row % 12 < 3 ? 0 : 1 + row % 4);
  list.back().different = 9;
  return list;
}

TEST_P(Frame, fewer_different_points_than_clusters_are_accepted_where_asked) {
  for (const FewPoints& few : few_points(columns(5)))
    for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
      for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random,
                                    KMeansInit::first, KMeansInit::given})
        for (const int restarts : {1, 3}) {
          // Different points may have the same direction. They would be the same point for the cosine metric.
          if (metric == KMeansMetric::cosine && few.different != 1) continue;
          SCOPED_TRACE(few.name + ", init " + std::to_string(static_cast<int>(init)) + ", metric " +
                       std::to_string(static_cast<int>(metric)) + ", restarts " + std::to_string(restarts));
          Matrix<double> first(few.clusters, few.points.columns());  // some of these centroids get no points
          std::fill_n(first.data(), first.rows() * first.columns(), 1.0);
          for (std::int64_t cluster = 0; cluster + 1 < few.clusters; ++cluster)
            first(cluster, 0) = static_cast<double>(7 * cluster % 60);
          KMeansJob<double> options;
          options.clusters = few.clusters;
          options.init = init;
          options.metric = metric;
          options.restarts = restarts;
          options.tolerance = 0;
          options.weights = few.weights;
          if (init == KMeansInit::given) options.initial_centroids = view(first);
          error_of<InputError>([&] { kmeans(view(few.points), options, on(1)); });
          accept_coinciding_points(options);
          const KMeansResult<double> result = kmeans(view(few.points), options, on(1));
          EXPECT_EQ(result.stop_reason, KMeansStopReason::labels_unchanged);
          EXPECT_TRUE(metric == KMeansMetric::euclidean ? result.inertia == 0 : result.inertia < 1e-20);
          const auto with_points = [&](std::size_t cluster) { return result.counts[cluster] > 0; };
          std::int64_t used = 0;
          for (std::size_t cluster = 0; cluster < result.counts.size(); ++cluster) {
            used += with_points(cluster);
            bool repeated = false;
            for (std::size_t other = 0; other < result.counts.size(); ++other)
              repeated = repeated || (with_points(other) &&
                                      same_bits(result.centroids.row(static_cast<int>(other)),
                                                result.centroids.row(static_cast<int>(cluster)), few.points.columns()));
            EXPECT_TRUE(repeated) << "cluster " << cluster;
          }
          EXPECT_EQ(used, few.different);
          if (GetParam()->contract == core::Contract::same_bits) {
            Execution elsewhere = with_threads(1);
            elsewhere.device = Device::cpu;
            const KMeansResult<double> other = kmeans(view(few.points), options, elsewhere);
            EXPECT_TRUE(same_bits(result.centroids, other.centroids));
            EXPECT_EQ(labels_of(result), labels_of(other));
            EXPECT_EQ(result.iterations, other.iterations);
          }
          options.empty = KMeansEmptyCluster::error;
          error_of<Error>([&] { kmeans(view(few.points), options, on(1)); });
          options.empty = KMeansEmptyCluster::keep;
          EXPECT_TRUE(kmeans(view(few.points), options, on(1)).converged);
        }
}

TEST_P(Frame, to_accept_fewer_different_points_changes_nothing_else) {
  const Matrix<double> points = whole_numbers<double>(600, columns(3), 5, 8);
  KMeansJob<double> options;
  options.clusters = 30;
  options.restarts = 2;
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random}) {
    options.init = init;
    const KMeansResult<double> one = kmeans(view(points), options, on(2));
    KMeansJob<double> accepting = options;
    accept_coinciding_points(accepting);
    const KMeansResult<double> other = kmeans(view(points), accepting, on(2));
    EXPECT_TRUE(same_bits(one.centroids, other.centroids));
    EXPECT_EQ(labels_of(one), labels_of(other));
    EXPECT_EQ(one.iterations, other.iterations);
  }
}

TEST_P(Frame, first_centroids_are_rows_and_begin_the_fit) {
  const Matrix<double> points = whole_numbers<double>(400, columns(3), 21);
  std::vector<double> weights;
  for (int row = 0; row < 400; ++row) weights.push_back(row % 5);
  for (const bool weighted : {false, true})
    for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
      for (const KMeansInit init :
           {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random, KMeansInit::first}) {
        KMeansJob<double> options;
        options.clusters = 20;
        options.init = init;
        options.metric = metric;
        options.seed = 9;
        options.max_iterations = 3;
        if (weighted) options.weights = weights;
        const KMeansInitialCentroids<double> first = kmeans_initial_centroids(view(points), options, options, on(2));
        ASSERT_EQ(first.rows.size(), 20u);
        EXPECT_EQ(std::set(first.rows.begin(), first.rows.end()).size(), 20u);
        for (std::int64_t cluster = 0; cluster < 20; ++cluster) {
          const std::int64_t row = first.rows[static_cast<std::size_t>(cluster)];
          ASSERT_TRUE(row >= 0 && row < 400);
          EXPECT_TRUE(!weighted || init == KMeansInit::first || weights[static_cast<std::size_t>(row)] > 0);
          if (metric == KMeansMetric::euclidean) {
            EXPECT_TRUE(same_bits(first.centroids.row(cluster), std::as_const(points).row(row), points.columns()));
          } else {
            double length = 0;
            double product = 0;
            for (std::int64_t dim = 0; dim < points.columns(); ++dim) {
              length += points(row, dim) * points(row, dim);
              product += points(row, dim) * first.centroids(cluster, dim);
            }
            EXPECT_TRUE(std::abs(product / std::sqrt(length) - 1) <= 1e-12);
          }
        }
        if (metric == KMeansMetric::cosine) continue;  // the cosine metric would scale the given rows a second time
        const KMeansResult<double> fit = kmeans(view(points), options, on(2));
        options.init = KMeansInit::given;
        options.initial_centroids = view(first.centroids);
        EXPECT_TRUE(same_bits(kmeans(view(points), options, on(2)).centroids, fit.centroids));
        const KMeansInitialCentroids<double> given = kmeans_initial_centroids(view(points), options, options, on(2));
        EXPECT_TRUE(given.rows.empty());
        EXPECT_TRUE(same_bits(given.centroids, first.centroids));
      }
}

TEST_P(Frame, pinning_ends_with_the_job) {
  const auto affinities = [] {
    std::map<std::string, int> processors;  // for each thread id of the kernel: the number of the thread's CPU
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      cpu_set_t set;
      if (sched_getaffinity(std::stoi(entry.path().filename()), sizeof set, &set) == 0)
        processors[entry.path().filename()] = CPU_COUNT(&set);
    }
    return processors;
  };
  const Matrix<double> points = whole_numbers<double>(6000, 2, 18);
  const Matrix<double> first = Matrix<double>::copy_of(view(points).slice(0, 9));
  const KMeansResult<double> free = kmeans(view(points), from(first), on(3));
  for (const Pinning pinning : {Pinning::compact, Pinning::scatter}) {
    Execution execution = on(3);
    execution.pinning = pinning;
    const KMeansResult<double> pinned = kmeans(view(points), from(first), execution);
    EXPECT_EQ(labels_of(free), labels_of(pinned));
    for (const auto& [thread, processors] : affinities())
      EXPECT_EQ(processors, static_cast<int>(cpu::allowed_processors().size())) << "thread " << thread;
  }
}

// The GPU delivers rows of three sums without padding, and the host adds the padding.
TEST(ExactSums, takes_over_sums_without_gaps) {
  for (const std::int64_t d : {1, 2, 3, 4}) {
    const Matrix<double> points = whole_numbers<double>(50, d, 11);
    const Matrix<double> first = Matrix<double>::copy_of(view(points).slice(0, 5));
    Problem<double> problem;
    problem.points = view(points);
    problem.initial_centroids = view(first);
    problem.statistics = examine<double>(problem.points, {}, problem.initial_centroids, 1);
    ExactSums<double> sums(problem);
    for (std::int64_t point = 0; point < 50; ++point) sums.add(point, points.row(point), point % 5);
    std::vector<std::int64_t> words;
    for (std::int64_t cluster = 0; cluster < 5; ++cluster)
      for (const std::int64_t half : {std::int64_t{0}, limb_columns(d)})
        words.insert(words.end(), sums.raw(cluster) + half, sums.raw(cluster) + half + d);
    for (std::int64_t cluster = 0; cluster < 5; ++cluster) words.push_back(sums.count(cluster));
    ExactSums<double> copy(problem);
    copy.set(words.data());
    std::vector<double> mean(static_cast<std::size_t>(d));
    std::vector<double> copied(static_cast<std::size_t>(d));
    for (std::int64_t cluster = 0; cluster < 5; ++cluster) {
      EXPECT_EQ(copy.count(cluster), 10);
      std::vector<std::int32_t> doubtful;
      sums.mean(cluster, mean.data(), {}, doubtful);
      copy.mean(cluster, copied.data(), {}, doubtful);
      EXPECT_EQ(copied, mean) << d << " columns, cluster " << cluster;
    }
  }
}

TEST_P(Frame, memory_is_checked_before_the_job) {
  const Matrix<double> points = whole_numbers<double>(1000, 2, 14);
  KMeansJob<double> options;
  options.clusters = 8;
  Execution execution = on(2);
  execution.memory_limit = 1;  // this limit leaves no memory for copies, which are optional
  const std::uint64_t needed = kmeans_memory({1000, 2, 8}, options, execution).host;
  execution.memory_limit = needed;
  EXPECT_NO_THROW(kmeans(view(points), options, execution));
  execution.memory_limit = needed - 1;
  const std::string message = error_of<OutOfMemoryError>([&] { kmeans(view(points), options, execution); });
  EXPECT_TRUE(contains(message, std::to_string(needed))) << message;
  EXPECT_TRUE(contains(message, std::to_string(needed - 1))) << message;
}

std::filesystem::path scratch_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "gradus-frame-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
  return pattern;
}

bool writes_graph(const kmeans_detail::Variant& variant) {
  return variant.options != nullptr && core::find_option(variant.options->rows, "dump_graph") != nullptr;
}

TEST_P(Frame, task_graph_is_written_or_refused) {
  const std::filesystem::path folder = scratch_folder();
  const Matrix<float> points = whole_numbers<float>(5000, 2, 15);
  KMeansJob<float> options;
  options.clusters = 4;
  Execution execution = on(2);
  std::string graph = (folder / "graph.dot").string();
  execution.variant_options = {{"dump_graph", graph}};
  if (writes_graph(*GetParam())) {
    kmeans(view(points), options, execution);
    std::ifstream file(graph);
    const std::string dot(std::istreambuf_iterator<char>(file), {});
    EXPECT_TRUE(dot.starts_with("digraph ")) << dot;
    EXPECT_TRUE(dot.ends_with("}\n")) << dot;
    graph = (folder / "missing" / "graph.dot").string();
    execution.variant_options = {{"dump_graph", graph}};
    const std::string message = error_of<Error>([&] { kmeans(view(points), options, execution); });
    EXPECT_TRUE(contains(message, graph)) << message;
    if (GetParam()->backend == core::Backend::cuda) return;  // for this variant, CUDA draws the graph
    EXPECT_TRUE(dot.starts_with("digraph " + std::string(GetParam()->name) + " {\n")) << dot;
    // Exactly one task must assign each point. Every other task must depend on the start task, and the total task must
    // depend on every other task.
    const std::regex range("assign points ([0-9]+) to ([0-9]+)");
    std::int64_t next = 0;
    for (std::sregex_iterator match(dot.begin(), dot.end(), range); match != std::sregex_iterator(); ++match) {
      EXPECT_EQ(std::stoll((*match)[1]), next);
      next = std::stoll((*match)[2]) + 1;
    }
    EXPECT_EQ(next, 5000);
    const std::regex task("  task([0-9]+) \\[label=\"([a-z]+)");
    for (std::sregex_iterator match(dot.begin(), dot.end(), task); match != std::sregex_iterator(); ++match) {
      EXPECT_EQ((*match)[2] != "start", contains(dot, "-> task" + (*match)[1].str() + ";")) << match->str();
      EXPECT_EQ((*match)[2] != "total", contains(dot, "  task" + (*match)[1].str() + " -> ")) << match->str();
    }
  } else {
    const std::string message = error_of<UsageError>([&] { kmeans(view(points), options, execution); });
    EXPECT_TRUE(contains(message, std::string(GetParam()->name))) << message;
    EXPECT_TRUE(contains(message, "'tbb_flow_graph'")) << message;
  }
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    left.push_back(entry.path().filename().string());
  EXPECT_EQ(left, writes_graph(*GetParam()) ? std::vector<std::string>{"graph.dot"} : std::vector<std::string>{});
  std::filesystem::remove_all(folder);
}

// ---------------------------------------------------------------------------------------------------------------------
// The tests below pass invalid input and impossible options. Every variant must report the same errors.

const Matrix<double>& some_points() {
  static const Matrix<double> points = whole_numbers<double>(30, 3, 16);
  return points;
}

TEST(Refusal, nan_and_infinity_are_named) {
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
    Matrix<double> points = Matrix<double>::copy_of(view(some_points()));
    points(17, 1) = bad;
    points(20, 0) = bad;
    const std::string message = error_of<InputError>([&] { kmeans(view(points), KMeansOptions{}); });
    EXPECT_TRUE(contains(message, "row 17, column 1")) << message;
    EXPECT_TRUE(contains(message, std::isnan(bad) ? "NaN" : "infinite")) << message;
    error_of<InputError>([&] { kmeans_predict(view(some_points()), view(points)); });
    error_of<InputError>([&] { kmeans_transform(view(some_points()), view(points)); });
    Matrix<double> first = Matrix<double>::copy_of(view(some_points()).slice(0, 4));
    first(2, 0) = bad;
    const std::string given = error_of<InputError>([&] { kmeans(view(some_points()), from(first)); });
    EXPECT_TRUE(contains(given, "centroids") && contains(given, "row 2, column 0")) << given;
  }
}

TEST(Refusal, weights) {
  std::vector<double> weights(30, 1.0);
  KMeansJob<double> options;
  options.clusters = 3;
  const auto attempt = [&](std::int64_t size) {
    options.weights = VectorView<const double>(weights.data(), size);
    return error_of<InputError>([&] { kmeans(view(some_points()), options); });
  };
  EXPECT_TRUE(contains(attempt(29), "29 weights for 30 points"));
  weights[12] = -1;
  EXPECT_TRUE(contains(attempt(30), "row 12"));
  EXPECT_TRUE(contains(attempt(30), "negative"));
  weights[12] = std::nan("");
  EXPECT_TRUE(contains(attempt(30), "NaN"));
  weights.assign(30, 0.0);
  EXPECT_TRUE(contains(attempt(30), "all weights are zero"));
  weights[3] = weights[4] = 1;
  EXPECT_TRUE(contains(attempt(30), "2 different points"));  // only points of positive weight are counted
}

TEST(Refusal, more_clusters_than_points) {
  KMeansJob<double> options;
  options.clusters = 31;
  const std::string message = error_of<InputError>([&] { kmeans(view(some_points()), options); });
  EXPECT_TRUE(contains(message, "31") && contains(message, "30")) << message;
  options.clusters = 30;
  EXPECT_NO_THROW(kmeans(view(some_points()), options));
}

TEST(Refusal, more_clusters_than_different_points) {
  Matrix<double> points(30, 2);
  for (std::int64_t row = 0; row < 30; ++row) {
    points(row, 0) = static_cast<double>(row % 4);
    points(row, 1) = row % 8 < 4 ? 0.0 : -0.0;  // -0 and 0 are equal
  }
  KMeansJob<double> options;
  options.clusters = 5;
  const std::string message = error_of<InputError>([&] { kmeans(view(points), options); });
  EXPECT_TRUE(contains(message, "5 clusters") && contains(message, "only 4 different")) << message;
  options.clusters = 4;
  EXPECT_EQ(kmeans(view(points), options).inertia, 0);
}

TEST(Refusal, given_centroids_of_the_wrong_shape) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{4, 2}, {3, 3}, {0, 0}}) {
    const Matrix<double> first = whole_numbers<double>(rows, columns, 17);
    KMeansJob<double> options = from(first);
    options.clusters = 4;
    const std::string message = error_of<InputError>([&] { kmeans(view(some_points()), options); });
    EXPECT_TRUE(contains(message, std::to_string(rows) + " x " + std::to_string(columns))) << message;
    EXPECT_TRUE(contains(message, "4 x 3")) << message;
  }
  const Matrix<double> narrow = whole_numbers<double>(4, 2, 17);
  error_of<InputError>([&] { kmeans_predict(view(narrow), view(some_points())); });
  error_of<InputError>([&] { kmeans_transform(view(narrow), view(some_points())); });
}

TEST(Refusal, zero_row_with_the_cosine_metric) {
  Matrix<double> points = Matrix<double>::copy_of(view(some_points()));
  std::fill_n(points.row(21), 3, 0.0);
  std::fill_n(points.row(9), 3, -0.0);
  KMeansJob<double> options;
  options.metric = KMeansMetric::cosine;
  const std::string message = error_of<InputError>([&] { kmeans(view(points), options); });
  EXPECT_TRUE(contains(message, "row 9")) << message;
  options.metric = KMeansMetric::euclidean;
  EXPECT_NO_THROW(kmeans(view(points), options));
}

TEST(Refusal, points_on_a_gpu_where_there_is_none) {
  if (execution::why_no_gpu(execution::this_machine()).empty())
    GTEST_SKIP() << "there is a GPU; kmeans_gpu_points_test uses it";
  const Matrix<double> points = Matrix<double>::copy_of(view(some_points()));
  const MatrixView<const double> there(points.data(), points.rows(), points.columns(), MemoryPlace::on_gpu(0));
  error_of<UnsupportedError>([&] { kmeans(there, KMeansOptions{}); });
  error_of<UnsupportedError>([&] { kmeans_predict(view(points).slice(0, 3), there); });
  error_of<UnsupportedError>([&] { kmeans_transform(view(points).slice(0, 3), there); });
  KMeansJob<double> options;
  std::int32_t label = 0;
  options.labels = {&label, points.rows(), MemoryPlace::on_gpu(0)};
  error_of<UnsupportedError>([&] { kmeans(view(points), options); });
}

// The variant alone decides where the memory of the arrays may be. It must not matter whether the machine has a GPU.
TEST(Refusal, memory_of_a_gpu_for_a_variant_that_wants_the_hosts) {
  const std::vector<double> weights(30, 1.0);
  std::vector<std::int32_t> labels(30);
  const auto message = [&](const KMeansJob<double>& options, const char* variant) {
    Execution execution;
    execution.variant = variant;
    return error_of<UnsupportedError>([&] { kmeans(view(some_points()), options, execution); });
  };
  KMeansJob<double> options;
  options.weights = {weights.data(), 30, MemoryPlace::on_gpu(0)};
  const std::string there =
      "in host memory, but they are on GPU 0; the variants that use them there: 'cuda_update_kernel', "
      "'cuda_all_gpu', 'cuda_graph', 'cuda_small_dim', 'cuda_ordered', 'cuda_tensor'";
  EXPECT_EQ(message(options, "cuda_naive"), "kmeans variant 'cuda_naive' needs weights " + there);
  EXPECT_TRUE(contains(message(options, "simd_small_dim"), "weights: they are on GPU 0, but the job runs on the CPU"));
  options.weights = {};
  options.labels = {labels.data(), 30, MemoryPlace::on_gpu(0)};
  EXPECT_EQ(message(options, "cuda_shared"), "kmeans variant 'cuda_shared' needs labels " + there);
  options.labels = {labels.data(), 30, MemoryPlace::on_gpu(1)};
  EXPECT_TRUE(contains(message(options, "cuda_shared"), "they are on GPU 1, but the job runs on GPU 0"));
}

TEST(Labels, go_to_memory_of_the_callers) {
  const Matrix<double> points = Matrix<double>::copy_of(view(some_points()));
  KMeansJob<double> options;
  options.clusters = 3;
  const std::vector<std::int32_t> truth = labels_of(kmeans(view(points), options));
  std::vector<std::int32_t> labels(truth.size(), -1);
  options.labels = {labels.data(), points.rows()};
  const KMeansResult<double> fit = kmeans(view(points), options);
  EXPECT_EQ(fit.labels.size(), 0);
  EXPECT_EQ(labels, truth);
  std::fill(labels.begin(), labels.end(), -1);
  EXPECT_EQ(kmeans_predict(view(fit.centroids), view(points), options.labels).inertia, fit.inertia);
  EXPECT_EQ(labels, truth);
  const VectorView<std::int32_t> short_by_one(labels.data(), points.rows() - 1);
  error_of<UsageError>([&] { kmeans_predict(view(fit.centroids), view(points), short_by_one); });
  options.labels = short_by_one;
  error_of<UsageError>([&] { kmeans(view(points), options); });
}

TEST(Distances, go_to_memory_of_the_callers) {
  const Matrix<double> points = Matrix<double>::copy_of(view(some_points()));
  const MatrixView<const double> centroids = view(points).slice(0, 3);
  const Matrix<double> truth = kmeans_transform(centroids, view(points));
  Matrix<double> padded(points.rows(), 5);
  kmeans_transform(centroids, view(points), MatrixView<double>(padded.data(), points.rows(), 3, 5));
  for (std::int64_t row = 0; row < points.rows(); ++row)
    for (std::int64_t cluster = 0; cluster < 3; ++cluster) EXPECT_EQ(padded(row, cluster), truth(row, cluster));
  Matrix<double> narrow(points.rows(), 2);
  error_of<UsageError>([&] { kmeans_transform(centroids, view(points), narrow.view()); });
}

TEST(Distances, are_refused_where_they_take_more_than_the_limit) {
  const Matrix<double> points = whole_numbers<double>(4000, 3, 2);
  const MatrixView<const double> centroids = view(points).slice(0, 100);
  Execution execution = with_threads(2);
  execution.memory_limit = std::uint64_t{4000} * 100 * 8;
  const std::string message = error_of<OutOfMemoryError>(
      [&] { kmeans_transform(centroids, view(points), KMeansMetric::euclidean, execution); });
  EXPECT_TRUE(contains(message, "the memory limit allows only")) << message;
  // The caller's memory does not count towards the limit. The copy with rows of unit length counts.
  Matrix<double> distances(4000, 100);
  execution.memory_limit = 64000;
  const auto write = [&](KMeansMetric metric) {
    kmeans_transform(centroids, view(points), distances.view(), metric, execution);
  };
  EXPECT_NO_THROW(write(KMeansMetric::euclidean));
  EXPECT_TRUE(
      contains(error_of<OutOfMemoryError>([&] { write(KMeansMetric::cosine); }), "the memory limit allows only"));
}

TEST(FirstCentroids, are_refused_as_a_fit_would_be) {
  const MatrixView<const double> points = view(some_points());
  KMeansJob<double> options;
  options.clusters = 31;
  error_of<InputError>([&] { kmeans_initial_centroids(points, options); });
  options.clusters = 4;
  Execution execution = with_threads(1);
  const KMeansInitialCentroids<double> first = kmeans_initial_centroids(points, options, execution);
  EXPECT_EQ(first.report.variant, "");
  EXPECT_EQ(first.report.threads, 1);
  EXPECT_FALSE(first.report.device.empty());
  EXPECT_EQ(first.report.phases.back().name, "total");
  execution.memory_limit = 100;
  error_of<OutOfMemoryError>([&] { kmeans_initial_centroids(points, options, execution); });
  std::vector<std::int32_t> labels(30);
  options.labels = labels;
  error_of<UsageError>([&] { kmeans_initial_centroids(points, options, options); });
  std::stop_source source;
  execution = with_threads(1);
  execution.stop = source.get_token();
  source.request_stop();
  options.labels = {};
  error_of<InterruptedError>([&] { kmeans_initial_centroids(points, options, execution); });
}

TEST(FirstCentroids, repeat_the_rows_that_there_are) {
  const Matrix<double> points = matrix<double>(8, 1, {5, 5, 7, 5, 7, 9, 9, 9});
  // Four rows have positive weight, but only two different points occur among them.
  const std::vector<double> weights{0, 1, 2, 1, 1, 0, 0, 0};
  KMeansJob<double> options;
  options.clusters = 7;
  options.weights = weights;
  accept_coinciding_points(options);
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random})
    for (options.seed = 0; options.seed < 8; ++options.seed) {
      options.init = init;
      const std::vector<std::int64_t> rows = kmeans_initial_centroids(view(points), options, options).rows;
      const std::size_t period = init == KMeansInit::random ? 4 : 2;
      ASSERT_EQ(rows.size(), 7u);
      for (std::size_t index = 0; index < 7; ++index) {
        EXPECT_EQ(rows[index], rows[index % period]);
        EXPECT_GT(weights[static_cast<std::size_t>(rows[index])], 0);
      }
      EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), period);
      EXPECT_NE(points(rows[0], 0), period == 2 ? points(rows[1], 0) : -1);
    }
}

TEST(Prediction, refuses_what_it_has_no_use_for) {
  const MatrixView<const double> points = view(some_points());
  KMeansMemory<double> memory;
  memory.initial_centroids = points.slice(0, 2);
  error_of<UsageError>([&] { kmeans_predict(points.slice(0, 2), points, memory); });
  std::vector<double> weights(29, 1.0);
  const std::string message = error_of<InputError>(
      [&] { kmeans_predict(points.slice(0, 2), points, KMeansMemory<double>{.weights = weights}); });
  EXPECT_TRUE(contains(message, "29 weights for 30 points")) << message;
  weights.assign(30, 0.0);
  error_of<InputError>([&] { kmeans_predict(points.slice(0, 2), points, KMeansMemory<double>{.weights = weights}); });
}

TEST(Distances, take_one_thread_where_there_is_little_to_do) {
  const MatrixView<const double> points = view(some_points());
  Matrix<double> distances(30, 3);
  EXPECT_EQ(kmeans_transform(points.slice(0, 3), points, distances.view()).threads, 1);
  EXPECT_EQ(kmeans_predict(points.slice(0, 3), points).report.threads, 1);
  EXPECT_EQ(kmeans(points, KMeansOptions{.clusters = 3}).report.threads, 1);
  const auto on_two =
      kmeans_transform(points.slice(0, 3), points, distances.view(), KMeansMetric::euclidean, with_threads(2));
  EXPECT_EQ(on_two.threads, 2);
}

TEST(Refusal, no_points_or_no_columns) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {5, 0}, {0, 0}}) {
    const Matrix<double> points(rows, columns);
    const std::string message = error_of<InputError>([&] { kmeans(view(points), KMeansOptions{}); });
    EXPECT_TRUE(contains(message, std::to_string(rows) + " x " + std::to_string(columns))) << message;
  }
  error_of<InputError>([&] { kmeans(MatrixView<const double>(), KMeansOptions{}); });
}

TEST(Refusal, more_rows_or_columns_than_are_counted) {
  const float one = 1;  // the calls must not read this number
  const auto expect_refused = [&](std::int64_t rows, std::int64_t columns, const std::string& reason) {
    const MatrixView<const float> vast(&one, rows, columns);
    const std::string message = error_of<InputError>([&] { kmeans(vast, KMeansOptions{}); });
    EXPECT_TRUE(contains(message, reason + " are more than the supported")) << message;
    error_of<InputError>([&] { kmeans_transform(vast, vast); });
  };
  expect_refused((std::int64_t{1} << 36) + 1, 1, "68719476737 rows");
  expect_refused(1, (std::int64_t{1} << 30) + 1, "1073741825 columns");
  // Labels number the centroids by 32 bits.
  const MatrixView<const float> vast(&one, std::int64_t{1} << 31, 1);
  const std::string message = error_of<InputError>([&] { kmeans_predict(vast, MatrixView<const float>(&one, 1, 1)); });
  EXPECT_TRUE(contains(message, "centroids: 2147483648 rows are more than the supported 2147483647")) << message;
}

TEST(Refusal, impossible_options) {
  const auto refused = [](const std::function<void(KMeansJob<double>&)>& change) {
    KMeansJob<double> options;
    change(options);
    return error_of<UsageError>([&] { kmeans(view(some_points()), options); });
  };
  EXPECT_TRUE(contains(refused([](auto& options) { options.clusters = 0; }), "clusters"));
  EXPECT_TRUE(contains(refused([](auto& options) { options.clusters = -3; }), "-3"));
  EXPECT_TRUE(contains(refused([](auto& options) { options.restarts = -1; }), "restarts"));
  EXPECT_TRUE(contains(refused([](auto& options) { options.max_iterations = 0; }), "iterations"));
  EXPECT_TRUE(contains(refused([](auto& options) { options.tolerance = -1; }), "tolerance"));
  EXPECT_TRUE(contains(refused([](auto& options) { options.tolerance = std::nan(""); }), "tolerance"));
  EXPECT_TRUE(contains(refused([](auto& options) { options.changed_fraction = 1.5; }), "fraction"));
  error_of<UsageError>([] { kmeans(view(some_points()), KMeansOptions{}, with_threads(-1)); });
}

TEST(Refusal, unknown_variant_suggests_the_nearest) {
  Execution execution;
  execution.variant = "sequental";
  const std::string message = error_of<UsageError>([&] { kmeans(view(some_points()), KMeansOptions{}, execution); });
  EXPECT_TRUE(contains(message, "'sequental'") && contains(message, "did you mean 'sequential'?")) << message;
  // Hyphens are accepted instead of underscores, as on the command line.
  execution.variant = "openmp-reduce-first-touch";
  EXPECT_EQ(kmeans(view(some_points()), KMeansOptions{}, execution).report.variant, "openmp_reduce_first_touch");
}

TEST(Choice, a_gpu_with_less_shared_memory_gets_what_runs_there) {
  // The shared memory per block, in bytes, for three groups of GPUs with these compute capabilities: 8.6, 8.9 and 12.0;
  // 8.0; 9.0 and 10.0.
  for (const std::uint64_t shared : {101376, 166912, 232448}) {
    execution::Machine machine = tests::machine_with_gpu();
    execution::Gpu gpu = machine.gpus().front();
    gpu.shared_bytes = shared;
    machine.gpus = execution::Gpus({gpu});
    const auto name = [&](const Shape& shape) { return kmeans_detail::choose(shape, machine, Device::automatic).name; };
    EXPECT_EQ(name({1 << 24, 2, 64, 8, false}), "cuda_ordered") << shared;
    EXPECT_EQ(name({1 << 24, 16, 64, 8, false}), "cuda_small_dim") << shared;
    EXPECT_EQ(name({1 << 20, 192, 1024, 4, false}), "cuda_tensor") << shared;
    EXPECT_EQ(name({1 << 20, 256, 1024, 4, false}), shared > 101376 ? "cuda_tensor" : "simd_bounds") << shared;
    EXPECT_EQ(name({1 << 20, 257, 1024, 4, false}), shared > 166912 ? "cuda_tensor" : "simd_bounds") << shared;
  }
}

TEST(Choice, a_gpu_is_taken_where_it_pays_and_the_job_fits) {
  execution::Machine machine = tests::machine_with_gpu();
  const auto name = [&](Shape shape, Device device = Device::automatic) {
    return kmeans_detail::choose(shape, machine, device).name;
  };
  EXPECT_EQ(name({1 << 24, 2, 64, 8, false}), "cuda_ordered");
  // The points take 48 GB. The GPU's memory can hold them once, but not twice.
  EXPECT_EQ(name({1'500'000'000, 4, 64, 8, false}), "cuda_small_dim");
  EXPECT_EQ(name({1 << 24, 16, 64, 8, false}), "cuda_small_dim");
  EXPECT_EQ(name({1 << 20, 128, 1024, 4, false}), "cuda_tensor");
  EXPECT_EQ(name({1 << 20, 16, 1024, 4, false}), "cuda_tensor");
  EXPECT_EQ(name({1000, 2, 8, 8, false}), "simd_small_dim");  // the CPU finishes before the GPU is ready
  EXPECT_EQ(name({1 << 24, 2, 16, 8, false}), "simd_grid");
  // With this many clusters, the float filter leaves too many points undecided.
  EXPECT_EQ(name({4000, 1, 129, 4, false}), "simd_grid");
  EXPECT_EQ(name({4000, 1, 128, 4, false}), "simd_small_dim");
  EXPECT_EQ(name({4000, 2, 129, 4, false}), "simd_small_dim");
  // With the choice of initial centroids by k-means++, there are enough operations for a GPU.
  EXPECT_EQ(name({1 << 24, 2, 16, 8, false, 80}), "cuda_ordered");
  EXPECT_EQ(name({1000, 2, 8, 8, false}, Device::gpu), "cuda_small_dim");
  EXPECT_EQ(name({2'000'000'000, 128, 1024, 4, false}), "simd_bounds");  // the points take 1 TB
  EXPECT_EQ(name({2'000'000'000, 128, 1024, 4, false}, Device::gpu),
            "cuda_tensor");  // the call then fails and states both sizes
  // As float, the points take 410 GB; as they are stored, with everything else, about 115 GB.
  const Shape large{.points = 800'000'000, .dimensions = 128, .clusters = 32768};
  Shape stored = large;
  stored.kept_bytes = 1;
  EXPECT_EQ(name(large), "simd_bounds");
  EXPECT_EQ(name(stored), "cuda_tensor");
  stored.kept_bytes = 2;
  EXPECT_EQ(name(stored), "simd_bounds");
  // The points take 122 GB. Only cuda_tensor can leave them in host memory.
  EXPECT_FALSE(name({1'900'000'000, 8, 64, 8, false}).starts_with("cuda"));
  EXPECT_EQ(name({1'900'000'000, 8, 64, 8, false}, Device::gpu), "cuda_tensor");

  // Each of the next two pairs has two shapes. The tile counters fit in 32 bits for the first shape, and would overflow
  // for the second shape. Memory would suffice for both shapes.
  EXPECT_EQ(name({30, 1 << 24, 2, 4, false}), "cuda_tensor");
  EXPECT_EQ(name({30, (1 << 24) + 1, 2, 4, false}), "simd_bounds");
  EXPECT_EQ(name({1 << 26, 20, 1 << 26, 4, false}), "cuda_tensor");
  EXPECT_EQ(name({1 << 27, 20, (1 << 26) + 1, 4, false}), "simd_bounds");
  machine.gpus = execution::Gpus();
  EXPECT_EQ(name({1 << 20, 128, 1024, 4, false}), "simd_bounds");
}

TEST(Choice, nobody_looks_for_a_gpu_that_would_not_be_taken) {
  const execution::Machine machine = tests::machine_with_untouchable_gpus();
  const auto choose = [&](std::int64_t points, Device device) {
    return kmeans_detail::choose({points, 2, 8, 8, false}, machine, device).name;
  };
  EXPECT_EQ(choose(1000, Device::automatic), "simd_small_dim");
  EXPECT_EQ(choose(1 << 28, Device::cpu), "simd_grid");
  EXPECT_THROW(choose(1 << 28, Device::automatic), Error);
}

TEST(Choice, no_name_means_a_variant_of_the_table) {
  const KMeansResult<double> result = kmeans(view(some_points()), KMeansOptions{});
  EXPECT_NO_THROW(core::find_variant(variants(), result.report.variant, "kmeans"));
}

}  // namespace
}  // namespace gradus
