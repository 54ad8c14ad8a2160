// Tests kmeans_bisecting() against splits by public calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gradus/kmeans_bisecting.hpp"
#include "kmeans/seeding/initialize.hpp"
#include "kmeans/tests/ranks_job.hpp"

namespace gradus {
namespace {

using tests::Data;
using tests::error_of;
using tests::Job;
using tests::make_job;
using tests::make_points;
using tests::same_bits;

constexpr KMeansSplit splits[] = {KMeansSplit::biggest_inertia, KMeansSplit::largest_cluster};

template <class T>
struct Leaf {
  std::vector<std::int64_t> rows;
  std::vector<T> centroid;
  double inertia = 0;
};

template <class T>
struct Some {
  Matrix<T> points;
  std::vector<T> weights;
  KMeansMemory<T> memory() const { return {.weights = {weights.data(), std::ssize(weights)}}; }
};

template <class T>
Some<T> some(const Job<T>& job, const std::vector<std::int64_t>& rows) {
  Some<T> some{Matrix<T>(std::ssize(rows), job.points.columns()), {}};
  for (std::size_t index = 0; index < rows.size(); ++index) {
    std::copy_n(job.points.row(rows[index]), job.points.columns(), some.points.row(static_cast<std::int64_t>(index)));
    if (!job.weights.empty()) some.weights.push_back(job.weights[static_cast<std::size_t>(rows[index])]);
  }
  return some;
}

/// Splits leaves from left to right. Requires that every split succeeds.
template <class T>
std::vector<Leaf<T>> plain_leaves(const Job<T>& job, KMeansSplit split) {
  const core::Philox random(job.options.seed);
  std::vector<Leaf<T>> leaves(1);
  leaves[0].rows.resize(static_cast<std::size_t>(job.points.rows()));
  std::iota(leaves[0].rows.begin(), leaves[0].rows.end(), 0);
  for (std::uint64_t number = 0; std::ssize(leaves) < job.options.clusters; ++number) {
    const auto next = std::ranges::max_element(leaves, {}, [&](const Leaf<T>& leaf) {
      return split == KMeansSplit::biggest_inertia ? leaf.inertia : static_cast<double>(leaf.rows.size());
    });
    const Some<T> all = some(job, next->rows);
    KMeansOptions options = job.options;
    options.clusters = 2;
    kmeans_detail::accept_fewer_different(options);
    options.seed = random.bits(number);
    const KMeansResult<T> two = kmeans(all.points, options, all.memory());
    Leaf<T> sides[2];
    for (std::size_t index = 0; index < next->rows.size(); ++index)
      sides[two.labels[static_cast<std::int64_t>(index)]].rows.push_back(next->rows[index]);
    for (std::int64_t side = 0; side < 2; ++side) {
      const T* const row = two.centroids.row(side);
      sides[side].centroid.assign(row, row + job.points.columns());
      const Some<T> own = some(job, sides[side].rows);
      sides[side].inertia = kmeans_predict(two.centroids.view().slice(side, 1), own.points, own.memory()).inertia;
    }
    *next = sides[0];
    leaves.insert(next + 1, sides[1]);
  }
  return leaves;
}

template <class T>
class Bisecting : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Bisecting, Elements);

TYPED_TEST(Bisecting, splits_as_public_calls_do) {
  using T = TypeParam;
  for (const std::int64_t k : {2, 3, 9, 33})
    for (const std::int64_t d : {1, 4, 30})
      for (const bool weighted : {false, true})
        for (const KMeansSplit split : splits) {
          SCOPED_TRACE(std::to_string(k) + " clusters, " + std::to_string(d) + " columns, " +
                       std::string(to_string(split)) + (weighted ? ", weighted" : ""));
          Job<T> job =
              make_job<T>(700, d, k, Data::wild, d == 4 ? KMeansInit::random : KMeansInit::kmeans_plus_plus, weighted);
          const std::vector<Leaf<T>> leaves = plain_leaves(job, split);
          for (const int threads : {1, 3}) {
            Execution execution = job.execution(nullptr);
            execution.threads = threads;
            const KMeansBisection<T> found =
                kmeans_bisecting(job.points, job.options, split, job.memory(0, 700), execution);
            for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
              const auto label = static_cast<std::int32_t>(leaf);
              EXPECT_TRUE(same_bits(found.centroids.row(label), leaves[leaf].centroid.data(), d));
              EXPECT_EQ(found.counts[leaf], std::ssize(leaves[leaf].rows));
              for (const std::int64_t row : leaves[leaf].rows) ASSERT_EQ(found.labels[row], label);
            }
            const Buffer<std::int32_t> again = kmeans_predict(found.tree, job.points, execution);
            EXPECT_TRUE(std::ranges::equal(again, found.labels));
          }
        }
}

TYPED_TEST(Bisecting, has_the_inertia_of_its_labels) {
  using T = TypeParam;
  const Job<T> job = make_job<T>(300, 3, 7, Data::plain, KMeansInit::kmeans_plus_plus, true);
  const KMeansBisection<T> found = kmeans_bisecting(job.points, job.options, splits[0], job.memory(0, 300));
  long double inertia = 0;
  for (std::int64_t row = 0; row < 300; ++row)
    for (std::int64_t dim = 0; dim < 3; ++dim) {
      const long double difference = static_cast<long double>(job.points(row, dim)) -
                                     static_cast<long double>(found.centroids(found.labels[row], dim));
      inertia += job.weights[static_cast<std::size_t>(row)] * difference * difference;
    }
  EXPECT_NEAR(found.inertia / static_cast<double>(inertia), 1, 1e-12);
}

TYPED_TEST(Bisecting, handles_few_different_points) {
  using T = TypeParam;
  Matrix<T> points(90, 2);
  for (std::int64_t row = 0; row < 90; ++row) points(row, 0) = points(row, 1) = static_cast<T>(row < 80 ? 1 : row % 3);
  KMeansOptions options;
  for (const KMeansSplit split : splits) {
    options = {.clusters = 3};
    EXPECT_EQ(kmeans_bisecting(points, options, split).inertia, 0);
    options.clusters = 5;
    EXPECT_NE(error_of<InputError>([&] { kmeans_bisecting(points, options, split); }).find("only 3 different points"),
              std::string::npos);
    kmeans_detail::accept_fewer_different(options);
    const KMeansBisection<T> found = kmeans_bisecting(points, options, split);
    EXPECT_EQ(found.inertia, 0);
    EXPECT_EQ(found.tree.next.size(), 4);
    EXPECT_EQ(found.counts[3] + found.counts[4], 0);
    EXPECT_TRUE(same_bits(found.centroids.row(3), found.centroids.row(0), 2));
    EXPECT_TRUE(std::ranges::equal(kmeans_predict(found.tree, points), found.labels));
  }
  options = {.clusters = 2};
  kmeans_detail::accept_fewer_different(options);
  const Matrix<T> equal(5, 2);
  std::fill_n(const_cast<T*>(equal.data()), 10, T{3});
  const KMeansBisection<T> one = kmeans_bisecting(equal, options);
  EXPECT_EQ(one.counts, (std::vector<std::int64_t>{5, 0}));
  EXPECT_EQ(kmeans_predict(one.tree, equal)[4], 0);
}

TYPED_TEST(Bisecting, has_one_cluster_of_all_points_or_one_of_each) {
  using T = TypeParam;
  const Matrix<T> points = make_points<T>(40, 3, Data::wild);
  const KMeansBisection<T> one = kmeans_bisecting(points, {.clusters = 1});
  EXPECT_TRUE(same_bits(one.centroids, kmeans(points, {.clusters = 1}).centroids));
  EXPECT_EQ(one.inertia, kmeans(points, {.clusters = 1}).inertia);
  EXPECT_EQ(kmeans_predict(one.tree, points)[39], 0);
  const KMeansBisection<T> all = kmeans_bisecting(points, {.clusters = 40});
  EXPECT_EQ(all.counts, std::vector<std::int64_t>(40, 1));
  EXPECT_EQ(all.inertia, 0);
}

TYPED_TEST(Bisecting, accepts_centroids_of_a_function) {
  using T = TypeParam;
  const Matrix<T> points = make_points<T>(100, 2, Data::plain);
  const KMeansFirstTwo<T> first_rows = [&](std::span<const std::int64_t> rows) {
    Matrix<T> two(2, 2);
    for (std::int64_t row = 0; row < 2; ++row)
      std::copy_n(points.row(rows[static_cast<std::size_t>(row)]), 2, two.row(row));
    return two;
  };
  const KMeansBisection<T> given =
      kmeans_bisecting(points, {.clusters = 6, .restarts = 2}, splits[0], {}, {}, first_rows);
  const KMeansBisection<T> first = kmeans_bisecting(points, {.clusters = 6, .init = KMeansInit::first});
  EXPECT_TRUE(same_bits(given.centroids, first.centroids));
}

TEST(BisectingCalls, are_refused) {
  const Matrix<double> points = make_points<double>(20, 2, Data::plain);
  const auto message = [&]<class E>(E, const KMeansOptions& options, const Execution& execution = {}) {
    return error_of<E>([&] { kmeans_bisecting(points, options, splits[0], {}, execution); });
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(message(UsageError(""), {.metric = KMeansMetric::cosine}), "metric"));
  EXPECT_TRUE(has(message(UsageError(""), {.standardize = true}), "standardize"));
  EXPECT_TRUE(has(message(UsageError(""), {.clusters = 2, .balanced = true}), "balanced"));
  EXPECT_TRUE(has(message(InputError(""), {.clusters = 21}), "only 20 points"));
  Execution little;
  little.memory_limit = 10;
  EXPECT_TRUE(has(message(OutOfMemoryError(""), {.clusters = 2}, little), "memory"));
  tests::common_error<UnsupportedError>(1, [&](Communicator& communicator) {
    Execution execution;
    execution.communicator = &communicator;
    kmeans_bisecting(points, {.clusters = 2}, splits[0], {}, execution);
  });
  KMeansTree<double> tree = kmeans_bisecting(points, {.clusters = 3}).tree;
  EXPECT_TRUE(has(error_of<InputError>([&] { kmeans_predict(tree, Matrix<double>(1, 3)); }), "columns"));
  tree.next[0] = 0;
  EXPECT_TRUE(has(error_of<UsageError>([&] { kmeans_predict(tree, points); }), "tree"));
}

}  // namespace
}  // namespace gradus
