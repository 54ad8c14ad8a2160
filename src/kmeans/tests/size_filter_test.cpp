// The filter of fits with limits of size: in random sequences of searches, it must keep every cluster that may have the
// least sum of distance and price, according to distances in long double.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/sizes/size_filter.hpp"

namespace gradus::kmeans_detail {
namespace {

enum class Data { normal, grid, copies };

constexpr std::int64_t points_number = 150;
constexpr std::int64_t clusters_number = 37;

template <class T>
class SearchedPoints {
 public:
  SearchedPoints(Data data, std::int64_t dimensions, std::uint64_t seed)
      : random_(seed), points_(points_number, dimensions), centroids_(clusters_number, dimensions),
        prices_(clusters_number, 0), widths_(clusters_number, 0), settled_(clusters_number), labels_(points_number) {
    std::normal_distribution<double> normal;
    for (std::int64_t row = 0; row < points_number; ++row)
      for (std::int64_t column = 0; column < dimensions; ++column) {
        double value = normal(random_) + (row % 7 < 4 ? 0 : 1);
        if (data == Data::grid) value = static_cast<double>(random_() % 3);
        if (data == Data::copies && row % 5 > 0) value = static_cast<double>(points_(row - 1, column));
        points_(row, column) = static_cast<T>(value);
      }
    for (std::int64_t cluster = 0; cluster < clusters_number; ++cluster)
      std::copy_n(&points_(4 * cluster, 0), dimensions, &centroids_(cluster, 0));
    problem_.points = std::as_const(points_).view();
    problem_.initial_centroids = std::as_const(centroids_).view();
    problem_.statistics = examine<T>(problem_.points, {}, problem_.initial_centroids, 1);
    filter_.emplace(problem_, 2);
    filter_->prepare(problem_.initial_centroids);
  }

  /// Makes a random step. Returns a description of the first fault, or an empty text.
  std::string step() {
    switch (random_() % 8) {
      case 0: move_centroids(); return "";
      case 1:
        change_prices();
        filter_->list(prices_, widths_, stride(), labels_.data(), settled_);
        return "";
      default: change_prices(); return search();
    }
  }

  bool has_lists() const { return filter_->has_lists(); }

 private:
  double uniform() { return std::uniform_real_distribution<double>()(random_); }
  std::int64_t stride() { return random_() % 6 == 0 ? 3 : 1; }

  void move_centroids() {
    const double length = std::ldexp(1.0, -static_cast<int>(random_() % 12));
    for (std::int64_t index = 0; index < centroids_.rows() * centroids_.columns(); ++index)
      centroids_.data()[index] += static_cast<T>(length * (uniform() - 0.5));
    filter_->prepare(std::as_const(centroids_).view());
  }

  void change_prices() {
    const double scale = static_cast<double>(points_.columns());
    const double change = random_() % 3 == 0 ? 0 : std::ldexp(scale, -static_cast<int>(random_() % 12));
    const double width = random_() % 8 == 0 ? 0 : std::ldexp(scale, -static_cast<int>(random_() % 14));
    for (std::int64_t cluster = 0; cluster < clusters_number; ++cluster) {
      const auto at = static_cast<std::size_t>(cluster);
      if (random_() % 2 == 0) prices_[at] += change * (uniform() - 0.5);
      widths_[at] = width * uniform();
    }
  }

  std::string search() {
    const std::int64_t step = stride();
    const std::int64_t most = random_() % 6 == 0 ? 200 : std::numeric_limits<std::int64_t>::max();
    if (!filter_->search(prices_, widths_, step, most, labels_.data(), open_, settled_)) return "";
    std::vector<std::int64_t> counts(clusters_number, 0);
    std::size_t next = 0;
    for (std::int64_t row = 0; row < points_number; row += step) {
      const bool is_open = next < open_.points.size() && open_.points[next] == row;
      const auto begin = is_open ? open_.clusters.begin() + open_.begins[next] : open_.clusters.end();
      const auto end = is_open ? open_.clusters.begin() + open_.begins[next + 1] : open_.clusters.end();
      if (!is_open) ++counts[static_cast<std::size_t>(labels_[row])];
      for (const std::int32_t cluster : necessary(row))
        if (is_open ? !std::binary_search(begin, end, cluster) : cluster != labels_[row])
          return "row " + std::to_string(row) + " lacks cluster " + std::to_string(cluster);
      if (!is_open) continue;
      // any candidate may become the label
      labels_[row] = *(begin + static_cast<std::ptrdiff_t>(random_() % static_cast<std::uint64_t>(end - begin)));
      ++next;
    }
    return counts == settled_ && next == open_.points.size() ? "" : "wrong numbers of settled or open points";
  }

  /// Returns the clusters that have the least sum for some prices in the intervals.
  std::vector<std::int32_t> necessary(std::int64_t row) const {
    std::vector<long double> sums;
    long double limit = std::numeric_limits<long double>::infinity();
    for (std::int64_t cluster = 0; cluster < clusters_number; ++cluster) {
      const auto at = static_cast<std::size_t>(cluster);
      long double sum = static_cast<long double>(prices_[at]);
      for (std::int64_t column = 0; column < points_.columns(); ++column) {
        const long double difference =
            static_cast<long double>(points_(row, column)) - static_cast<long double>(centroids_(cluster, column));
        sum += difference * difference;
      }
      sums.push_back(sum);
      limit = std::min(limit, sum + static_cast<long double>(widths_[at]));
    }
    std::vector<std::int32_t> clusters;
    for (std::size_t at = 0; at < sums.size(); ++at)
      if (sums[at] - static_cast<long double>(widths_[at]) <= limit) clusters.push_back(static_cast<std::int32_t>(at));
    return clusters;
  }

  std::mt19937_64 random_;
  Matrix<T> points_;
  Matrix<T> centroids_;
  Problem<T> problem_;
  std::optional<SizeFilter<T>> filter_;
  std::vector<double> prices_;
  std::vector<double> widths_;
  std::vector<std::int64_t> settled_;
  Buffer<std::int32_t> labels_;
  OpenPoints open_;
};

template <class T>
class SizeFilterOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SizeFilterOf, Types);

TYPED_TEST(SizeFilterOf, KeepsEveryClusterThatMayBeNearest) {
  for (const Data data : {Data::normal, Data::grid, Data::copies})
    for (const std::int64_t dimensions : {3, 450}) {
      SearchedPoints<TypeParam> points(data, dimensions, static_cast<std::uint64_t>(dimensions));
      EXPECT_EQ(points.has_lists(), dimensions == 450);
      for (int step = 0; step < 120; ++step)
        ASSERT_EQ(points.step(), "") << "data " << static_cast<int>(data) << ", " << dimensions << " columns, step "
                                     << step;
    }
}

TYPED_TEST(SizeFilterOf, ListsOfEqualClustersAreFull) {
  Matrix<TypeParam> points(3, 450);
  Matrix<TypeParam> centroids(clusters_number, 450);
  std::ranges::fill(points.data(), points.data() + points.rows() * points.columns(), TypeParam{1});
  std::ranges::fill(centroids.data(), centroids.data() + centroids.rows() * centroids.columns(), TypeParam{2});
  Problem<TypeParam> problem;
  problem.points = std::as_const(points).view();
  problem.initial_centroids = std::as_const(centroids).view();
  problem.statistics = examine<TypeParam>(problem.points, {}, problem.initial_centroids, 1);
  SizeFilter<TypeParam> filter(problem, 1);
  filter.prepare(problem.initial_centroids);
  const std::vector<double> zeros(clusters_number, 0);
  std::vector<std::int64_t> settled(clusters_number);
  std::vector<std::int32_t> labels(3);
  EXPECT_EQ(filter.list(zeros, zeros, 1, labels.data(), settled), (std::vector<std::int64_t>{0, 1, 2}));
  for (std::int64_t row = 0; row < 3; ++row)
    for (std::int64_t at = 0; at < NearClusters::most; ++at) {
      const NearCluster& near = filter.near().of(row)[static_cast<std::size_t>(at)];
      EXPECT_EQ(near.cluster, at);
      EXPECT_LT(near.score, NearCluster::no_score);
    }
}

}  // namespace
}  // namespace gradus::kmeans_detail
