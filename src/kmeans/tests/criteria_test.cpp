// Compares kmeans_criteria() with plain loops in long double, for several shapes, metrics and numbers of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "cpu/forced_target.hpp"
#include "gradus/kmeans_criteria.hpp"
#include "tests/helpers.hpp"

namespace gradus {
namespace {

using Labels = std::vector<std::int32_t>;

template <class T>
class Criteria : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Criteria, Elements);

template <class T>
Matrix<T> random_points(std::int64_t n, std::int64_t d, unsigned seed, double offset = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Matrix<T> points(n, d);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t dim = 0; dim < d; ++dim)
      points(row, dim) = static_cast<T>(offset + normal(random) + static_cast<double>(row % 3) * 4);
  return points;
}

Labels random_labels(std::int64_t n, std::int32_t k, unsigned seed) {
  std::mt19937 random(seed);
  Labels labels;
  for (std::int64_t row = 0; row < n; ++row) labels.push_back(static_cast<std::int32_t>(random() % k));
  return labels;
}

VectorView<const std::int32_t> view(const Labels& labels) { return {labels.data(), std::ssize(labels)}; }

template <class T>
long double distance(const Matrix<T>& points, std::int64_t one, std::int64_t other, KMeansMetric metric) {
  long double squares = 0;
  long double product = 0;
  long double lengths[2] = {};
  for (std::int64_t dim = 0; dim < points.columns(); ++dim) {
    const auto a = static_cast<long double>(points(one, dim));
    const auto b = static_cast<long double>(points(other, dim));
    squares += (a - b) * (a - b);
    product += a * b;
    lengths[0] += a * a;
    lengths[1] += b * b;
  }
  return metric == KMeansMetric::cosine ? 1 - product / std::sqrt(lengths[0] * lengths[1]) : std::sqrt(squares);
}

template <class T>
long double plain_silhouette(const Matrix<T>& points, const Labels& labels, KMeansMetric metric) {
  long double sum = 0;
  for (std::int64_t one = 0; one < points.rows(); ++one) {
    std::map<std::int32_t, std::pair<long double, int>> clusters;
    for (std::int64_t other = 0; other < points.rows(); ++other) {
      if (other == one) continue;
      auto& [total, count] = clusters[labels[static_cast<std::size_t>(other)]];
      total += distance(points, one, other, metric);
      ++count;
    }
    const std::int32_t own = labels[static_cast<std::size_t>(one)];
    if (!clusters.contains(own)) continue;
    const long double within = clusters[own].first / clusters[own].second;
    long double nearest = INFINITY;
    for (const auto& [label, cluster] : clusters)
      if (label != own) nearest = std::min(nearest, cluster.first / cluster.second);
    if (std::max(within, nearest) > 0) sum += (nearest - within) / std::max(within, nearest);
  }
  return sum / points.rows();
}

struct Means {
  std::map<std::int32_t, std::vector<long double>> of;
  std::map<std::int32_t, std::int64_t> counts;
};

template <class T>
Means means_of(const Matrix<T>& points, const Labels& labels) {
  Means means;
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    const std::int32_t label = labels[static_cast<std::size_t>(row)];
    means.of[label].resize(static_cast<std::size_t>(points.columns()));
    ++means.counts[label];
    for (std::int64_t dim = 0; dim < points.columns(); ++dim)
      means.of[label][static_cast<std::size_t>(dim)] += static_cast<long double>(points(row, dim));
  }
  for (auto& [label, mean] : means.of)
    for (long double& value : mean) value /= means.counts[label];
  return means;
}

long double squared(const std::vector<long double>& one, const std::vector<long double>& other) {
  long double sum = 0;
  for (std::size_t dim = 0; dim < one.size(); ++dim) sum += (one[dim] - other[dim]) * (one[dim] - other[dim]);
  return sum;
}

template <class T>
std::vector<long double> row_of(const Matrix<T>& points, std::int64_t row) {
  return {points.row(row), points.row(row) + points.columns()};
}

template <class T>
long double plain_calinski_harabasz(const Matrix<T>& points, const Labels& labels) {
  const Means means = means_of(points, labels);
  const std::vector<long double> mean = means_of(points, Labels(labels.size())).of.at(0);
  long double between = 0;
  long double within = 0;
  for (const auto& [label, own] : means.of) between += means.counts.at(label) * squared(own, mean);
  for (std::int64_t row = 0; row < points.rows(); ++row)
    within += squared(row_of(points, row), means.of.at(labels[static_cast<std::size_t>(row)]));
  const auto k = static_cast<long double>(means.of.size());
  return within == 0 ? 1 : between / (k - 1) / (within / (points.rows() - k));
}

template <class T>
long double plain_davies_bouldin(const Matrix<T>& points, const Labels& labels) {
  const Means means = means_of(points, labels);
  std::map<std::int32_t, long double> spread;
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    const std::int32_t label = labels[static_cast<std::size_t>(row)];
    spread[label] += std::sqrt(squared(row_of(points, row), means.of.at(label))) / means.counts.at(label);
  }
  long double sum = 0;
  for (const auto& [one, mean] : means.of) {
    long double worst = 0;
    for (const auto& [other, others_mean] : means.of)
      if (other != one && squared(mean, others_mean) > 0)
        worst = std::max(worst, (spread[one] + spread[other]) / std::sqrt(squared(mean, others_mean)));
    sum += worst;
  }
  return sum / means.of.size();
}

void expect_near(double value, long double truth, double bound) {
  EXPECT_TRUE(std::abs(static_cast<long double>(value) - truth) <= bound * std::max(1.0L, std::abs(truth)))
      << value << " is not " << static_cast<double>(truth);
}

struct Shape {
  std::int64_t n, d;
  std::int32_t k;
};
constexpr Shape shapes[] = {{3, 1, 2},    {31, 2, 3},   {32, 3, 30},  {33, 4, 2},    {64, 5, 5},   {65, 7, 64},
                            {129, 1, 40}, {257, 16, 9}, {300, 65, 4}, {100, 700, 7}, {999, 10, 12}};

TYPED_TEST(Criteria, are_those_of_the_definitions) {
  for (const auto& [n, d, k] : shapes)
    for (const double offset : {0.0, 1e5}) {
      const Matrix<TypeParam> points = random_points<TypeParam>(n, d, 7, offset);
      const Labels labels = random_labels(n, k, 3);
      if (std::set(labels.begin(), labels.end()).size() < 2) continue;
      SCOPED_TRACE(testing::Message() << n << " x " << d << ", " << k << ", offset " << offset);
      const KMeansCriteriaResult result = kmeans_criteria(points, view(labels));
      ASSERT_EQ(result.labelings.size(), 1U);
      EXPECT_EQ(result.silhouette_points, n);
      expect_near(result.labelings[0].silhouette.value(), plain_silhouette(points, labels, KMeansMetric::euclidean),
                  1e-12);
      expect_near(result.labelings[0].calinski_harabasz, plain_calinski_harabasz(points, labels), 1e-9);
      expect_near(result.labelings[0].davies_bouldin, plain_davies_bouldin(points, labels), 1e-9);
    }
}

TYPED_TEST(Criteria, have_the_same_bits_on_any_number_of_threads_and_beside_other_labelings) {
  const Matrix<TypeParam> points = random_points<TypeParam>(1500, 20, 1);
  std::vector<Labels> labels;
  for (std::int32_t k = 2; k < 12; ++k) labels.push_back(random_labels(1500, k, static_cast<unsigned>(k)));
  labels.push_back(random_labels(1500, 1400, 99));
  std::vector<VectorView<const std::int32_t>> views;
  for (const Labels& some : labels) views.push_back(view(some));
  std::vector<KMeansCriteria> alone;
  for (const Labels& some : labels)
    alone.push_back(kmeans_criteria(points, view(some), {}, {.threads = 1}).labelings.at(0));
  for (const int threads : {1, 2, 3, 7}) {
    const KMeansCriteriaResult together = kmeans_criteria(points, views, {}, {.threads = threads});
    ASSERT_EQ(together.labelings.size(), labels.size());
    for (std::size_t index = 0; index < labels.size(); ++index) {
      EXPECT_EQ(together.labelings[index].silhouette, alone[index].silhouette) << threads << ' ' << index;
      EXPECT_EQ(together.labelings[index].calinski_harabasz, alone[index].calinski_harabasz) << threads << ' ' << index;
      EXPECT_EQ(together.labelings[index].davies_bouldin, alone[index].davies_bouldin) << threads << ' ' << index;
    }
  }
}

TYPED_TEST(Criteria, have_the_same_bits_with_any_set_of_instructions) {
  const Matrix<TypeParam> points = random_points<TypeParam>(333, 17, 4);
  const Labels labels = random_labels(333, 5, 6);
  const KMeansCriteria best = kmeans_criteria(points, view(labels)).labelings.at(0);
  for (const std::int64_t target : cpu::compiled_targets()) {
    const cpu::ForcedTarget forced(target);
    const KMeansCriteria other = kmeans_criteria(points, view(labels)).labelings.at(0);
    EXPECT_EQ(other.silhouette, best.silhouette) << target;
    EXPECT_EQ(other.davies_bouldin, best.davies_bouldin) << target;
  }
}

TYPED_TEST(Criteria, of_directions) {
  const Matrix<TypeParam> points = random_points<TypeParam>(200, 6, 5, 1);
  const Labels labels = random_labels(200, 4, 8);
  const KMeansCriteriaResult result = kmeans_criteria(points, view(labels), {.metric = KMeansMetric::cosine});
  expect_near(result.labelings[0].silhouette.value(), plain_silhouette(points, labels, KMeansMetric::cosine),
              sizeof(TypeParam) == 4 ? 1e-5 : 1e-12);
}

TYPED_TEST(Criteria, of_a_sample_are_those_of_its_points_alone) {
  const Matrix<TypeParam> points = random_points<TypeParam>(5000, 3, 2);
  Labels labels;
  for (std::int32_t row = 0; row < 5000; ++row) labels.push_back(row % 3);
  const KMeansCriteriaResult all = kmeans_criteria(points, view(labels));
  const KMeansCriteriaResult some = kmeans_criteria(points, view(labels), {.silhouette_points = 1000, .seed = 1});
  const KMeansCriteriaResult others = kmeans_criteria(points, view(labels), {.silhouette_points = 1000, .seed = 2});
  const KMeansCriteriaResult most = kmeans_criteria(points, view(labels), {.silhouette_points = 4999});
  EXPECT_EQ(some.silhouette_points, 1000);
  EXPECT_NE(some.labelings[0].silhouette, others.labelings[0].silhouette);
  EXPECT_NEAR(some.labelings[0].silhouette.value(), all.labelings[0].silhouette.value(), 0.03);
  EXPECT_NEAR(most.labelings[0].silhouette.value(), all.labelings[0].silhouette.value(), 1e-3);
  EXPECT_EQ(some.labelings[0].calinski_harabasz, all.labelings[0].calinski_harabasz);
  // A sample of two of the 5000 points has no silhouette: either both points are in one cluster, or each of them is
  // alone in its cluster.
  bool missed = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    missed |= !kmeans_criteria(points, view(labels), {.silhouette_points = 2, .seed = seed}).labelings[0].silhouette;
  EXPECT_TRUE(missed);
}

TEST(CriteriaOf, points_that_fall_together) {
  const std::vector<std::array<double, 2>> points{{1, 1}, {1, 1}, {2, 2}, {2, 2}, {1, 1}};
  const Labels apart{0, 0, 1, 1, 0};
  const KMeansCriteria good = kmeans_criteria(points, view(apart)).labelings.at(0);
  EXPECT_EQ(good.silhouette, 1.0);
  EXPECT_EQ(good.calinski_harabasz, 1.0);  // scikit-learn also returns 1 if the within-cluster dispersion W is 0
  EXPECT_EQ(good.davies_bouldin, 0.0);
  const std::vector<std::array<double, 2>> equal(5, {3, 3});
  const KMeansCriteria none = kmeans_criteria(equal, view(apart)).labelings.at(0);
  EXPECT_EQ(none.silhouette, 0.0);
  EXPECT_EQ(none.davies_bouldin, 0.0);
}

TEST(CriteriaOf, impossible_input) {
  using tests::contains;
  using tests::error_of;
  const Matrix<double> points = random_points<double>(10, 2, 1);
  const auto message = [&](const Labels& labels) {
    return error_of<InputError>([&] { kmeans_criteria(points, view(labels)); });
  };
  EXPECT_TRUE(contains(message(Labels(10)), "1 of the clusters"));
  EXPECT_TRUE(contains(message({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "10 of the clusters"));
  EXPECT_TRUE(contains(message({0, 1, 2, 3, 4, 5, 6, 7, 8, 10}), "row 9 is 10"));
  EXPECT_TRUE(contains(message({0, -1, 2, 3, 4, 5, 6, 7, 8, 1}), "row 1 is -1"));
  EXPECT_TRUE(contains(message({0, 1}), "there are 2, but 10 points"));
  Matrix<double> bad = random_points<double>(10, 2, 1);
  bad(3, 1) = NAN;
  const Labels labels{0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  EXPECT_TRUE(contains(error_of<InputError>([&] { kmeans_criteria(bad, view(labels)); }), "row 3"));
  EXPECT_TRUE(contains(error_of<UsageError>([&] { kmeans_criteria(points, view(labels), {.silhouette_points = 1}); }),
                       "at least 2"));
  EXPECT_TRUE(contains(error_of<UnsupportedError>([&] {
                         kmeans_criteria(MatrixView<const double>(points.data(), 10, 2, 2, MemoryPlace::on_gpu(0)),
                                         view(labels));
                       }),
                       "host memory"));
  std::stop_source stop;
  stop.request_stop();
  error_of<InterruptedError>([&] { kmeans_criteria(points, view(labels), {}, {.stop = stop.get_token()}); });
}

}  // namespace
}  // namespace gradus
