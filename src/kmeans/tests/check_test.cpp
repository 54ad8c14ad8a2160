// Checks results with planted faults, and results of fits, and compares the check with plain arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gradus/kmeans_check.hpp"
#include "kmeans/check/block_check.hpp"
#include "kmeans/check/result_check.hpp"
#include "kmeans/problem.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

using kmeans_detail::BlockCheck;
using tests::contains;
using tests::error_of;

struct Case {
  const char* name;
  std::int64_t n, d, k;
  double offset, spread;  ///< the values are offset + spread^x * normal random numbers, with x from -1 to 1
  bool weighted;
  KMeansMetric metric;
  bool standardized;
};
constexpr Case cases[] = {
    {"one_point", 1, 1, 1, 0, 1, false, KMeansMetric::euclidean, false},
    {"one_column", 700, 1, 9, 0, 1, false, KMeansMetric::euclidean, false},
    {"plain", 499, 5, 7, 0, 1, false, KMeansMetric::euclidean, false},
    {"weighted", 499, 5, 7, 0, 1, true, KMeansMetric::euclidean, false},
    {"offset", 300, 3, 20, 1e6, 1e2, false, KMeansMetric::euclidean, false},
    {"offset_weighted", 300, 3, 20, 1e6, 1e2, true, KMeansMetric::euclidean, false},
    {"wide", 300, 4, 6, 0, 1e12, false, KMeansMetric::euclidean, false},
    {"wide_weighted", 300, 4, 6, 0, 1e12, true, KMeansMetric::euclidean, false},
    {"long_rows", 130, 300, 11, 0, 1, false, KMeansMetric::euclidean, false},
    {"many_clusters", 460, 40, 130, 0, 1, false, KMeansMetric::euclidean, false},
    {"cosine", 400, 6, 8, 0, 1, false, KMeansMetric::cosine, false},
    {"cosine_weighted", 400, 6, 8, 0, 1, true, KMeansMetric::cosine, false},
    {"standardized", 400, 6, 8, 3, 100, false, KMeansMetric::euclidean, true},
    {"standardized_weighted", 400, 6, 8, 3, 100, true, KMeansMetric::euclidean, true},
    {"standardized_cosine", 400, 6, 8, 3, 100, false, KMeansMetric::cosine, true},
};
constexpr std::int64_t all_rows = std::numeric_limits<std::int64_t>::max();

template <class T>
struct Data {
  Matrix<T> points;
  std::vector<T> weights;

  VectorView<const T> weights_view() const {
    return weights.empty() ? VectorView<const T>() : VectorView<const T>(weights.data(), points.rows());
  }
};

template <class T>
Data<T> data_of(const Case& one) {
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  Data<T> data{Matrix<T>(one.n, one.d), {}};
  for (std::int64_t row = 0; row < one.n; ++row) {
    const double scale = std::pow(one.spread, 2 * static_cast<double>(random() % 1000) / 999 - 1);
    for (std::int64_t column = 0; column < one.d; ++column)
      data.points(row, column) = static_cast<T>(one.offset + scale * normal(random));
    if (one.weighted)
      data.weights.push_back(row % 3 == 0 && one.n > 1 ? T{0} : static_cast<T>(std::exp(3 * normal(random))));
  }
  return data;
}

Execution on_cpu(int threads) {
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  return execution;
}

template <class T>
KMeansResult<T> fit(const Case& one, const Data<T>& data, int iterations = 1000) {
  KMeansOptions options;
  options.clusters = one.k;
  options.metric = one.metric;
  options.standardize = one.standardized;
  options.tolerance = 0;
  options.max_iterations = iterations;
  return kmeans(data.points, options, {.weights = data.weights_view()}, on_cpu(2));
}

template <class T>
KMeansCheck check_in_blocks(const KMeansModel<T>& model, const Data<T>& data, const Buffer<std::int32_t>& labels,
                            const KMeansCheckOptions& options, std::int64_t size) {
  const std::int64_t n = data.points.rows();
  BlockCheck<T> check(model, data.weights_view(), n, options);
  for (std::int64_t first = 0; first < n; first += size) {
    const std::int64_t rows = std::min(size, n - first);
    check.add(data.points.view().slice(first, rows), {labels.data() + first, rows}, on_cpu(size % 4 == 3 ? 2 : 1));
  }
  return check.result(on_cpu(2));
}

void expect_equal(const KMeansCheck& found, const KMeansCheck& expected) {
  EXPECT_EQ(found.labels.incorrect, expected.labels.incorrect);
  EXPECT_EQ(found.labels.within_tolerance, expected.labels.within_tolerance);
  EXPECT_EQ(found.labels.largest_excess, expected.labels.largest_excess);
  EXPECT_EQ(found.labels.row, expected.labels.row);
  EXPECT_EQ(found.labels.label, expected.labels.label);
  EXPECT_EQ(found.labels.nearest, expected.labels.nearest);
  EXPECT_EQ(found.labels.distance, expected.labels.distance);
  EXPECT_EQ(found.labels.nearest_distance, expected.labels.nearest_distance);
  EXPECT_EQ(found.means.incorrect, expected.means.incorrect);
  EXPECT_EQ(found.means.within_tolerance, expected.means.within_tolerance);
  EXPECT_EQ(found.means.without_mean, expected.means.without_mean);
  EXPECT_EQ(found.means.largest_deviation, expected.means.largest_deviation);
  EXPECT_EQ(found.means.excess_inertia, expected.means.excess_inertia);
  EXPECT_EQ(found.means.cluster, expected.means.cluster);
  EXPECT_EQ(found.means.column, expected.means.column);
  EXPECT_EQ(found.means.value, expected.means.value);
  EXPECT_EQ(found.means.mean, expected.means.mean);
  EXPECT_EQ(found.means.ulps, expected.means.ulps);
  EXPECT_EQ(found.inertia, expected.inertia);
  EXPECT_EQ(found.counts, expected.counts);
  EXPECT_EQ(found.reference_differences, 0);
}

/// Returns the labels with arbitrary changes.
Buffer<std::int32_t> scrambled(const Buffer<std::int32_t>& labels, std::int64_t clusters) {
  std::mt19937_64 random(3);
  Buffer<std::int32_t> changed(labels.size());
  for (std::int64_t row = 0; row < labels.size(); ++row)
    changed[row] =
        random() % 4 == 0 ? static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(clusters)) : labels[row];
  return changed;
}

template <class T>
class Check : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Check, Elements);

TYPED_TEST(Check, PassesConvergedFits) {
  using T = TypeParam;
  for (const Case& one : cases)
    for (const std::int64_t reference : {std::int64_t{0}, std::int64_t{50}, all_rows}) {
      SCOPED_TRACE(std::string(one.name) + ", reference " + std::to_string(reference));
      const Data<T> data = data_of<T>(one);
      const KMeansResult<T> result = fit(one, data);
      ASSERT_EQ(result.stop_reason, KMeansStopReason::labels_unchanged);
      const KMeansCheck found = kmeans_check(kmeans_model(result), data.points, result.labels.view(),
                                             {.reference_rows = reference}, data.weights_view(), on_cpu(2));
      EXPECT_TRUE(found.passed());
      EXPECT_EQ(found.labels.row, -1);
      EXPECT_EQ(found.labels.largest_excess, 0);
      EXPECT_EQ(found.means.cluster, -1);
      EXPECT_EQ(found.means.largest_deviation, 0);
      EXPECT_EQ(found.means.excess_inertia, 0);
      EXPECT_EQ(found.inertia, result.inertia);
      EXPECT_EQ(found.counts, result.counts);
      EXPECT_EQ(found.reference_rows, std::min(reference, one.n));
    }
}

TYPED_TEST(Check, DescribesFitsThatStoppedEarly) {
  using T = TypeParam;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const Data<T> data = data_of<T>(one);
    const KMeansResult<T> early = fit(one, data, 1);
    const KMeansResult<T> later = fit(one, data, 2);
    const KMeansModel<T> model = kmeans_model(early);
    const Matrix<T>& moved = one.standardized ? later.standardized_centroids : later.centroids;
    if (tests::same_bits(model.centroids.data(), moved.data(), one.k * one.d)) continue;
    const KMeansCheck found = kmeans_check(model, data.points, early.labels.view(), {}, data.weights_view(), on_cpu(1));
    EXPECT_EQ(found.labels.incorrect, 0);
    EXPECT_GT(found.means.incorrect, 0);
    EXPECT_EQ(found.inertia, early.inertia);
    EXPECT_EQ(found.counts, early.counts);
    // The next iteration moves the centroids to the means that the check compares with.
    EXPECT_EQ(found.means.value, static_cast<double>(model.centroids(found.means.cluster, found.means.column)));
    EXPECT_EQ(found.means.mean, static_cast<double>(moved(found.means.cluster, found.means.column)));
    if (one.metric == KMeansMetric::cosine) continue;
    EXPECT_GT(found.means.excess_inertia, 0);
    EXPECT_LE(later.inertia, (found.inertia - found.means.excess_inertia) * (1 + 1e-6));
  }
}

template <class T>
Matrix<T> zeros(std::int64_t rows, std::int64_t columns) {
  Matrix<T> matrix(rows, columns);
  std::fill_n(matrix.data(), rows * columns, T{0});
  return matrix;
}

/// A result that a fault is planted in.
template <class T>
struct Result {
  Matrix<T> points;
  Matrix<T> centroids;
  Buffer<std::int32_t> labels;
};

/// 60 points around (0, 0), (100, 0) and (0, 100), with their means as centroids.
template <class T>
Result<T> blobs() {
  Result<T> result{Matrix<T>(60, 2), Matrix<T>(3, 2), Buffer<std::int32_t>(60)};
  for (std::int64_t row = 0; row < 60; ++row) {
    const auto cluster = static_cast<std::int32_t>(row % 3);
    result.labels[row] = cluster;
    result.points(row, 0) = static_cast<T>((cluster == 1 ? 100 : 0) + static_cast<int>(row % 7) - 3);
    result.points(row, 1) = static_cast<T>((cluster == 2 ? 100 : 0) + static_cast<int>(row % 5) - 2);
  }
  for (std::int64_t cluster = 0; cluster < 3; ++cluster)
    for (std::int64_t column = 0; column < 2; ++column) {
      double sum = 0;
      for (std::int64_t row = cluster; row < 60; row += 3) sum += static_cast<double>(result.points(row, column));
      result.centroids(cluster, column) = static_cast<T>(sum / 20);
    }
  return result;
}

/// A fault, and what the check reports. -1: no label or centroid is reported.
template <class T>
struct Fault {
  const char* name;
  std::function<void(Result<T>&)> plant;
  std::int64_t labels = 0, row = -1;
  std::int32_t label = -1, nearest = -1;
  std::int64_t means = 0, cluster = -1, column = -1;
  double ulps = 0;
  std::int64_t without_mean = 0;
  double tolerance = 0;
};

TYPED_TEST(Check, NamesPlantedFaults) {
  using T = TypeParam;
  const auto next = [](T& value, int steps) {
    for (; steps > 0; --steps) value = std::nextafter(value, std::numeric_limits<T>::infinity());
    for (; steps < 0; ++steps) value = std::nextafter(value, -std::numeric_limits<T>::infinity());
  };
  const double far = std::numeric_limits<double>::quiet_NaN();  // the number of steps is not compared
  const std::vector<Fault<T>> faults{
      {.name = "none", .plant = [](Result<T>&) {}},
      {.name = "a label moved",
       .plant = [](Result<T>& result) { result.labels[17] = 0; },
       .labels = 1,
       .row = 17,
       .label = 0,
       .nearest = 2,
       .means = 2,
       .cluster = 0,
       .column = 0,
       .ulps = far},
      {.name = "the last label moved",
       .plant = [](Result<T>& result) { result.labels[59] = 1; },
       .labels = 1,
       .row = 59,
       .label = 1,
       .nearest = 2,
       .means = 2,
       .cluster = 1,
       .column = 0,
       .ulps = far},
      {.name = "two labels swapped",
       .plant = [](Result<T>& result) { std::swap(result.labels[30], result.labels[31]); },
       .labels = 2,
       .row = 30,
       .label = 1,
       .nearest = 0,
       .means = 2,
       .cluster = 0,
       .column = 0,
       .ulps = far},
      {.name = "two rows swapped",
       .plant =
           [](Result<T>& result) {
             std::swap_ranges(result.points.row(4), result.points.row(4) + 2, result.points.row(8));
           },
       .labels = 2,
       .row = 4,
       .label = 1,
       .nearest = 2,
       .means = 2,
       .cluster = 1,
       .column = 0,
       .ulps = far},
      {.name = "a centroid one ulp up",
       .plant = [&](Result<T>& result) { next(result.centroids(2, 1), 1); },
       .means = 1,
       .cluster = 2,
       .column = 1,
       .ulps = 1},
      {.name = "a centroid three ulps down",
       .plant = [&](Result<T>& result) { next(result.centroids(1, 0), -3); },
       .means = 1,
       .cluster = 1,
       .column = 0,
       .ulps = 3},
      {.name = "a centroid one ulp up, within the tolerance",
       .plant = [&](Result<T>& result) { next(result.centroids(2, 1), 1); },
       .tolerance = 1e-6},
      {.name = "a point changed",
       .plant = [](Result<T>& result) { result.points(6, 1) += 1; },
       .means = 1,
       .cluster = 0,
       .column = 1,
       .ulps = far},
      {.name = "all labels the same",
       .plant = [](Result<T>& result) { std::fill_n(result.labels.data(), 60, 2); },
       .labels = 40,
       .row = 0,
       .label = 2,
       .nearest = 0,
       .means = 1,
       .cluster = 2,
       .column = 0,
       .ulps = far,
       .without_mean = 2},
      {.name = "centroids swapped",
       .plant =
           [](Result<T>& result) {
             std::swap_ranges(result.centroids.row(0), result.centroids.row(0) + 2, result.centroids.row(1));
           },
       .labels = 40,
       .row = 0,
       .label = 0,
       .nearest = 1,
       .means = 2,
       .cluster = 0,
       .column = 0,
       .ulps = far},
      {.name = "two equal centroids, and the label of the second",
       .plant =
           [](Result<T>& result) {
             for (std::int64_t row = 2; row < 60; row += 3) {
               result.points(row, 0) = 7;
               result.points(row, 1) = 9;
               result.points(row - 1, 0) = 7;
               result.points(row - 1, 1) = 9;
             }
             for (const std::int64_t cluster : {1, 2}) {
               result.centroids(cluster, 0) = 7;
               result.centroids(cluster, 1) = 9;
             }
           },
       .labels = 20,
       .row = 2,
       .label = 2,
       .nearest = 1},
  };
  for (const Fault<T>& fault : faults)
    for (const std::int64_t reference : {std::int64_t{0}, std::int64_t{7}, all_rows}) {
      SCOPED_TRACE(std::string(fault.name) + ", reference " + std::to_string(reference));
      Result<T> result = blobs<T>();
      fault.plant(result);
      const KMeansCheck found =
          kmeans_check(KMeansModel<T>{std::as_const(result.centroids).view()}, result.points, result.labels.view(),
                       {.tolerance = fault.tolerance, .reference_rows = reference}, {}, on_cpu(2));
      EXPECT_EQ(found.passed(), fault.labels == 0 && fault.means == 0);
      EXPECT_EQ(found.labels.incorrect, fault.labels);
      EXPECT_EQ(found.labels.row, fault.row);
      EXPECT_EQ(found.labels.label, fault.label);
      EXPECT_EQ(found.labels.nearest, fault.nearest);
      EXPECT_EQ(found.means.incorrect, fault.means);
      EXPECT_EQ(found.means.cluster, fault.cluster);
      EXPECT_EQ(found.means.column, fault.column);
      EXPECT_EQ(found.means.without_mean, fault.without_mean);
      EXPECT_EQ(found.means.within_tolerance, fault.tolerance > 0 ? 1 : 0);
      if (!std::isnan(fault.ulps)) {
        EXPECT_EQ(found.means.ulps, fault.ulps);
      }
      double inertia = 0;  // exact, because all numbers are small
      for (std::int64_t row = 0; row < 60; ++row)
        inertia += kmeans_detail::squared_distance(result.points.row(row), result.centroids.row(result.labels[row]), 2);
      EXPECT_NEAR(found.inertia, inertia, 1e-12 * inertia);
    }
}

TYPED_TEST(Check, PassesLabelsWithinTheTolerance) {
  using T = TypeParam;
  Result<T> result = blobs<T>();
  // Row 3 is nearer to centroid 1, at a squared distance of 49^2 instead of 50^2, plus small changes.
  result.points(3, 0) = 51;
  result.points(3, 1) = result.centroids(0, 1);
  const KMeansModel<T> model{std::as_const(result.centroids).view()};
  const auto checked = [&](double tolerance) {
    return kmeans_check(model, result.points, result.labels.view(), {.tolerance = tolerance}, {}, on_cpu(1)).labels;
  };
  const KMeansLabelCheck strict = checked(0);
  const double excess = (strict.distance - strict.nearest_distance) / strict.distance;
  EXPECT_EQ(strict.incorrect, 1);
  EXPECT_EQ(strict.row, 3);
  EXPECT_EQ(strict.largest_excess, excess);
  EXPECT_EQ(strict.distance, kmeans_detail::squared_distance(result.points.row(3), result.centroids.row(0), 2));
  EXPECT_EQ(strict.nearest_distance, kmeans_detail::squared_distance(result.points.row(3), result.centroids.row(1), 2));
  EXPECT_EQ(checked(std::nextafter(excess, 0)).incorrect, 1);
  const KMeansLabelCheck within = checked(excess);
  EXPECT_EQ(within.incorrect, 0);
  EXPECT_EQ(within.within_tolerance, 1);
  EXPECT_EQ(within.largest_excess, excess);
  EXPECT_EQ(within.row, -1);
}

TYPED_TEST(Check, DoesNotDependOnBlocksRanksThreadsAndTheReference) {
  using T = TypeParam;
  for (const Case& one : cases) {
    const Data<T> data = data_of<T>(one);
    const KMeansResult<T> result = fit(one, data, 2);
    const Buffer<std::int32_t> labels = scrambled(result.labels, one.k);
    const KMeansModel<T> model = kmeans_model(result);
    const KMeansCheck expected = kmeans_check(model, data.points, labels.view(), {}, data.weights_view(), on_cpu(1));
    for (const std::int64_t size : {31, 128})
      for (const std::int64_t reference : {std::int64_t{0}, std::int64_t{50}, all_rows}) {
        if (size == 31 && reference == all_rows) continue;
        SCOPED_TRACE(std::string(one.name) + " in blocks of " + std::to_string(size) + ", reference " +
                     std::to_string(reference));
        expect_equal(check_in_blocks(model, data, labels, {.reference_rows = reference}, size), expected);
      }
    for (const int size : {1, 3})
      for (const std::int64_t reference : {std::int64_t{50}, all_rows}) {
        SCOPED_TRACE(std::string(one.name) + " on " + std::to_string(size) + " ranks, reference " +
                     std::to_string(reference));
        tests::ThreadRanks ranks(size);
        const auto thrown = ranks.run([&](Communicator& communicator) {
          // The last rank has no rows.
          const std::int64_t first = size == 1 ? 0 : communicator.rank() * (one.n / 2 + 1);
          const std::int64_t begin = std::min(first, one.n);
          const std::int64_t rows = size == 1 ? one.n : std::min(one.n / 2 + 1, one.n - begin);
          Execution execution = on_cpu(1);
          execution.communicator = &communicator;
          VectorView<const T> weights;
          if (one.weighted) weights = {data.weights.data() + begin, rows};
          expect_equal(kmeans_check(model, data.points.view().slice(begin, rows), {labels.data() + begin, rows},
                                    {.reference_rows = reference}, weights, execution),
                       expected);
        });
        for (const std::exception_ptr& each : thrown)
          EXPECT_NO_THROW({
            if (each) std::rethrow_exception(each);
          });
      }
  }
}

TYPED_TEST(Check, FindsAFaultOfTheVariantByTheReference) {
  using T = TypeParam;
  Result<T> result = blobs<T>();
  Buffer<std::int32_t> found(60);
  std::copy_n(result.labels.data(), 60, found.data());
  found[30] = 2;  // a row of the sample
  result.labels[31] = 0;
  kmeans_detail::ResultCheck<T> check(std::as_const(result.centroids).view(), KMeansMetric::euclidean,
                                      {.reference_rows = 6}, 60);
  check.add({std::as_const(result.points).view(), {}, result.labels.data(), found.data(), 0}, 2, {});
  const KMeansCheck checked = check.result({}, 1);
  EXPECT_EQ(checked.reference_differences, 1);
  EXPECT_EQ(checked.labels.incorrect, 1);
  EXPECT_EQ(checked.labels.row, 31);
  EXPECT_FALSE(checked.passed());
}

TYPED_TEST(Check, LeavesOutClustersWithoutMean) {
  using T = TypeParam;
  Matrix<T> points(4, 2);
  const T rows[4][2] = {{1, 0}, {-1, 0}, {0, 2}, {0, 3}};
  for (std::int64_t row = 0; row < 4; ++row) std::copy_n(rows[row], 2, points.row(row));
  Matrix<T> centroids = zeros<T>(3, 2);
  centroids(0, 0) = T{1};
  centroids(1, 1) = T{1};
  centroids(2, 0) = T{-5};
  Buffer<std::int32_t> labels(4);
  labels[0] = labels[1] = 0;  // these rows cancel out
  labels[2] = labels[3] = 1;
  KMeansModel<T> model{std::as_const(centroids).view(), KMeansMetric::cosine};
  const KMeansCheck found = kmeans_check(model, points, labels.view(), {}, {}, on_cpu(1));
  EXPECT_EQ(found.means.without_mean, 2);
  EXPECT_EQ(found.means.incorrect, 0);
  EXPECT_EQ(found.counts, (std::vector<std::int64_t>{2, 2, 0}));
  // Weights of zero leave a cluster without a mean, too. Its points still have labels.
  model.metric = KMeansMetric::euclidean;
  const std::vector<T> weights{0, 0, 1, 1};
  const KMeansCheck weighted =
      kmeans_check(model, points, labels.view(), {}, VectorView<const T>(weights.data(), 4), on_cpu(1));
  EXPECT_EQ(weighted.means.without_mean, 2);
  EXPECT_EQ(weighted.means.incorrect, 1);
  EXPECT_EQ(weighted.means.cluster, 1);
  EXPECT_EQ(weighted.means.mean, 2.5);
  EXPECT_EQ(weighted.counts, (std::vector<std::int64_t>{2, 2, 0}));
}

TYPED_TEST(Check, RefusesBadInput) {
  using T = TypeParam;
  struct Refusal {
    const char* words;
    std::function<void(Result<T>&)> change;
  };
  const Refusal refusals[] = {
      {"labels: the label in row 17 (counted from 0) is 3, but there are 3 centroids",
       [](Result<T>& result) { result.labels[17] = 3; }},
      {"labels: the label in row 59 (counted from 0) is -1, but there are 3 centroids",
       [](Result<T>& result) { result.labels[59] = -1; }},
      {"labels: there are 59 labels for 60 points",
       [](Result<T>& result) { result.labels = Buffer<std::int32_t>(59); }},
      {"points: the value in row 12, column 1 (counted from 0) is NaN",
       [](Result<T>& result) { result.points(12, 1) = std::numeric_limits<T>::quiet_NaN(); }},
      {"centroids: the value in row 1, column 0 (counted from 0) is infinite",
       [](Result<T>& result) { result.centroids(1, 0) = std::numeric_limits<T>::infinity(); }},
      {"centroids: the shape is 3 x 1, but the points have 2 columns",
       [](Result<T>& result) { result.centroids = zeros<T>(3, 1); }},
      {"the label in row 2 (counted from 0) is 2, but there are 2 centroids",
       [](Result<T>& result) { result.centroids = zeros<T>(2, 2); }},
  };
  for (const Refusal& refusal : refusals) {
    Result<T> result = blobs<T>();
    refusal.change(result);
    const auto check = [&](const Execution& execution) {
      kmeans_check(KMeansModel<T>{std::as_const(result.centroids).view()}, result.points, result.labels.view(), {}, {},
                   execution);
    };
    const std::string alone = error_of<InputError>([&] { check(on_cpu(1)); });
    EXPECT_TRUE(contains(alone, refusal.words)) << alone;
    EXPECT_TRUE(contains(tests::common_error<InputError>(1,
                                                         [&](Communicator& communicator) {
                                                           Execution execution = on_cpu(1);
                                                           execution.communicator = &communicator;
                                                           check(execution);
                                                         }),
                         refusal.words));
  }
  const Result<T> result = blobs<T>();
  const KMeansModel<T> model{result.centroids.view()};
  for (const double tolerance : {-1e-9, 1.5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_TRUE(contains(error_of<UsageError>([&] {
                           kmeans_check(model, result.points, result.labels.view(), {.tolerance = tolerance}, {},
                                        on_cpu(1));
                         }),
                         "is not a number from 0 to 1"));
  EXPECT_TRUE(contains(error_of<UsageError>([&] {
                         kmeans_check(model, result.points, result.labels.view(), {.reference_rows = -1}, {},
                                      on_cpu(1));
                       }),
                       "-1 is not a number of rows"));
  Execution textbook = on_cpu(1);
  textbook.variant = "sequential";
  EXPECT_TRUE(contains(
      error_of<UnsupportedError>([&] { kmeans_check(model, result.points, result.labels.view(), {}, {}, textbook); }),
      "sequential"));
}

}  // namespace
}  // namespace gradus
