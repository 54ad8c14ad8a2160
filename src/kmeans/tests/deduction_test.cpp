// Tests which types the k-means calls accept as matrices and vectors, and which they reject. Calls that must not
// compile are checked by concepts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gradus/kmeans.hpp"
#include "gradus/kmeans1d.hpp"
#include "gradus/kmeans_choose.hpp"
#include "gradus/kmeans_projection.hpp"
#include "tests/deduction.hpp"

namespace gradus {
namespace {

using tests::KindsOfMatrix;
using Rows = KindsOfMatrix::Rows;

template <class Points>
concept Clusters = requires(const Points& points) {
  kmeans(points, KMeansOptions{});
  kmeans_initial_centroids(points, KMeansOptions{});
  kmeans_choose(points, KMeansOptions{}, KMeansChoiceOptions{});
  kmeans_standardization(points);
  kmeans_standardize(points, KMeansStandardization{});
  kmeans_restore(points, KMeansStandardization{});
  kmeans_projection(points);
  kmeans1d(points, KMeansOptions{});
};
template <class Points, class T>
concept ClustersWith = requires(const Points& points, const KMeansMemory<T>& memory) {
  kmeans(points, KMeansOptions{}, memory, Execution{});
  kmeans_initial_centroids(points, KMeansOptions{}, memory, Execution{});
  kmeans_choose(points, KMeansOptions{}, KMeansChoiceOptions{}, memory, Execution{});
};
template <class Centroids, class Points>
concept Predicts = requires(const Centroids& centroids, const Points& points, VectorView<std::int32_t> labels) {
  kmeans_predict(centroids, points);
  kmeans_predict(centroids, points, KMeansMetric::cosine);
  kmeans_predict(centroids, points, labels);
  kmeans_predict(centroids, points, {.labels = labels}, KMeansMetric::cosine);
};
template <class Centroids, class Points, class Distances>
concept Transforms = requires(const Centroids& centroids, const Points& points, Distances distances) {
  kmeans_transform(centroids, points);
  kmeans_transform(centroids, points, distances, KMeansMetric::cosine);
};

template <class T, class Points>
concept PredictsByModel = requires(const KMeansModel<T>& model, const Points& points, VectorView<std::int32_t> labels,
                                   MatrixView<T> distances) {
  kmeans_predict(model, points);
  kmeans_predict(model, points, {.labels = labels}, Execution{});
  kmeans_transform(model, points);
  kmeans_transform(model, points, distances, Execution{});
};
template <class T>
concept IsModelled = requires(T&& fit) {
  kmeans_model(std::forward<T>(fit));
};

template <class Points>
struct TakenByClusters {
  static constexpr bool value = Clusters<Points>;
};
template <class Points>
struct TakenByPredicts {
  static constexpr bool value = Predicts<Points, Points>;
};
static_assert(tests::takes_matrices<TakenByClusters>() && tests::takes_matrices<TakenByPredicts>());

static_assert(ClustersWith<Matrix<float>, float> && !ClustersWith<Matrix<float>, double>);
static_assert(Predicts<Matrix<float>, MatrixView<const float>> && Predicts<float[9][2], Matrix<float>>);
static_assert(!Predicts<Matrix<double>, Matrix<float>> && !Predicts<Matrix<float>, Matrix<double>>);
static_assert(PredictsByModel<float, MatrixView<const float>> && PredictsByModel<double, Matrix<double>>);
static_assert(!PredictsByModel<double, Matrix<float>>);
// A temporary fit is rejected, because the model refers to the fit, which must live longer.
static_assert(IsModelled<const KMeansResult<float>&> && !IsModelled<KMeansResult<float>>);
static_assert(Transforms<Matrix<float>, Matrix<float>, MatrixView<float>>);
static_assert(Transforms<Matrix<float>, Matrix<float>, Matrix<float>&>);
// A constant result is rejected, because the call writes to it.
static_assert(!Transforms<Matrix<float>, Matrix<float>, MatrixView<const float>>);
static_assert(!Transforms<Matrix<float>, Matrix<float>, const Matrix<float>&>);
static_assert(!Transforms<Matrix<float>, Matrix<float>, MatrixView<double>>);

KMeansOptions three_clusters() {
  KMeansOptions options;
  options.clusters = 3;
  return options;
}

class KMeansCalls : public testing::Test {
 protected:
  static constexpr std::int64_t n = KindsOfMatrix::n;

  Rows rows_ = KindsOfMatrix::rows();
  MatrixView<const float> view_{rows_.front().data(), n, KindsOfMatrix::d};
  KMeansResult<float> fit_ = kmeans(view_, three_clusters());
};

TEST_F(KMeansCalls, TakeEachKindOfMatrix) {
  const double inertia = kmeans_predict(fit_.centroids, view_).inertia;
  const std::vector<std::int64_t> first = kmeans_initial_centroids(view_, three_clusters()).rows;
  const Matrix<float> expected = kmeans_transform(view_, view_);
  KindsOfMatrix::each([&](const auto& points) {
    const KMeansResult<float> fit = kmeans(points, three_clusters());
    EXPECT_TRUE(std::equal(fit.labels.begin(), fit.labels.end(), fit_.labels.begin(), fit_.labels.end()));
    EXPECT_EQ(fit.inertia, fit_.inertia);
    EXPECT_EQ(kmeans_predict(fit_.centroids, points).inertia, inertia);
    EXPECT_EQ(kmeans_initial_centroids(points, three_clusters()).rows, first);
    EXPECT_EQ(kmeans_predict(kmeans_model(fit), points).inertia, inertia);
    EXPECT_EQ(kmeans_choose(points, {}, {.clusters = {3}}).result.inertia, fit_.inertia);
    EXPECT_EQ(kmeans_standardize(points, kmeans_standardization(points)).rows(), n);
    EXPECT_EQ(kmeans_projection(points).places.rows(), n);
    const Matrix<float> distances = kmeans_transform(points, points);
    ASSERT_EQ(distances.rows(), n);
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t column = 0; column < n; ++column) EXPECT_EQ(distances(row, column), expected(row, column));
  });
}

TEST_F(KMeansCalls, TakeRangesAsMemory) {
  const std::vector<float> weights(n, 2.0F);
  std::vector<std::int32_t> labels(n, -1);
  const KMeansResult<float> fit = kmeans(rows_, three_clusters(), {.weights = weights, .labels = labels});
  EXPECT_EQ(fit.labels.size(), 0);
  EXPECT_TRUE(std::equal(labels.begin(), labels.end(), fit_.labels.begin(), fit_.labels.end()));
  KMeansOptions given = three_clusters();
  given.init = KMeansInit::given;
  const Rows first(rows_.begin(), rows_.begin() + 3);
  EXPECT_EQ(kmeans(rows_, given, {.initial_centroids = first}).counts.size(), 3U);

  std::fill(labels.begin(), labels.end(), -1);
  const KMeansPrediction prediction = kmeans_predict(fit_.centroids, rows_, labels);
  EXPECT_TRUE(std::equal(labels.begin(), labels.end(), fit_.labels.begin(), fit_.labels.end()));
  EXPECT_EQ(kmeans_predict(fit_.centroids, rows_, {.weights = weights}).inertia, 2 * prediction.inertia);
  EXPECT_EQ(kmeans_initial_centroids(rows_, three_clusters(), {.weights = weights}).rows.size(), 3U);
  EXPECT_FALSE(prediction.report.variant.empty());
  EXPECT_FALSE(prediction.report.device.empty());
  EXPECT_EQ(prediction.report.phases.back().name, "total");

  Matrix<float> distances(n, 3);
  const RunReport report = kmeans_transform(fit_.centroids, rows_, distances);
  EXPECT_EQ(distances(n - 1, 2), kmeans_transform(fit_.centroids, rows_)(n - 1, 2));
  EXPECT_EQ(report.variant, "");
  EXPECT_EQ(report.device, prediction.report.device);
  EXPECT_EQ(report.phases.back().name, "total");
}

TEST_F(KMeansCalls, TakeOptionsOfTheRun) {
  const KMeansResult<float> fit = kmeans(rows_, three_clusters(), {.variant = "sequential"});
  EXPECT_EQ(fit.report.variant, "sequential");
  EXPECT_EQ(kmeans(rows_, {.clusters = 3}, {}, {.threads = 1}).inertia, fit_.inertia);
}

TEST_F(KMeansCalls, RefuseRangesThatCannotBeTrue) {
  const Matrix<float> centroids = Matrix<float>::copy_of(MatrixView<const float>(view_.data(), 1, 2));
  KindsOfMatrix::each_lie_is_refused([](const auto& points) { kmeans(points, three_clusters()); });
  KindsOfMatrix::each_lie_is_refused([&](const auto& points) { kmeans_predict(centroids, points); });
  KindsOfMatrix::each_lie_is_refused([&](const auto& points) { kmeans_predict(points, centroids); });
  KindsOfMatrix::each_lie_is_refused([&](const auto& points) { kmeans_transform(centroids, points); });
}

}  // namespace
}  // namespace gradus
