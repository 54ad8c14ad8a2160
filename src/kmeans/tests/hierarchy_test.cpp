// Tests KMeansInit::hierarchical: the shares of the parts, and the centroids against the same two levels built from
// public calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gradus/kmeans_stored.hpp"
#include "kmeans/hierarchy/hierarchy.hpp"
#include "kmeans/seeding/initialize.hpp"
#include "kmeans/tests/ranks_job.hpp"

namespace gradus {
namespace {

using tests::Data;
using tests::Job;
using tests::make_job;
using tests::make_points;
using tests::same_bits;

constexpr KMeansInit hierarchical = KMeansInit::hierarchical;

TEST(Hierarchy, shares_are_proportional_within_their_limits) {
  const core::Philox random(3);
  std::uint64_t draw = 0;
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random.below(draw++, bound)); };
  for (int job = 0; job < 2000; ++job) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(1 + below(9)));
    std::vector<std::int64_t> limits;
    for (std::int64_t& count : rows) {
      count = below(4) == 0 ? 0 : 1 + below(job % 3 == 0 ? 5 : std::uint64_t{1} << 40);
      limits.push_back(count == 0 || job % 2 == 0 ? count : 1 + below(static_cast<std::uint64_t>(count)) % 7);
    }
    const auto used = static_cast<std::int64_t>(rows.size()) - std::ranges::count(rows, 0);
    const std::int64_t clusters = used + below(40);
    const std::vector<std::int64_t> shares = kmeans_detail::shares_of_parts(rows, limits, clusters);
    const std::int64_t room = std::reduce(limits.begin(), limits.end());
    ASSERT_EQ(std::reduce(shares.begin(), shares.end()), std::min(clusters, room));
    const double total = static_cast<double>(std::reduce(rows.begin(), rows.end()));
    for (std::size_t part = 0; part < rows.size(); ++part) {
      ASSERT_LE(shares[part], limits[part]);
      ASSERT_GE(shares[part], rows[part] > 0 ? 1 : 0);
      const double exact = static_cast<double>(clusters - used) * static_cast<double>(rows[part]) / total;
      if (job % 6 == 2 && rows[part] > 0) {  // limits out of reach
        ASSERT_LT(std::abs(static_cast<double>(shares[part] - 1) - exact), 1 + 1e-6);
      }
    }
  }
}

/// Returns the first centroids by public calls. Every part must have as many different rows as clusters.
template <class T>
Matrix<T> plain_hierarchy(const Job<T>& job) {
  const core::Philox random(job.options.seed);
  const std::int64_t d = job.points.columns();
  const std::int64_t parts = kmeans_detail::part_count(job.options.clusters);
  KMeansOptions coarse{.clusters = parts, .max_iterations = 10, .seed = random.bits(0)};
  kmeans_detail::accept_fewer_different(coarse);
  const KMeansMemory<T> memory = job.memory(0, job.points.rows());
  const KMeansResult<T> divided = kmeans(job.points, coarse, memory);
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(parts));
  for (std::int64_t row = 0; row < job.points.rows(); ++row)
    if (job.weights.empty() || job.weights[static_cast<std::size_t>(row)] > 0)
      rows[static_cast<std::size_t>(divided.labels[row])].push_back(row);
  std::vector<std::int64_t> sizes;
  for (const auto& part : rows) sizes.push_back(std::ssize(part));
  const auto shares = kmeans_detail::shares_of_parts(sizes, sizes, job.options.clusters);
  Matrix<T> all(job.options.clusters, d);
  std::int64_t next = 0;
  for (std::size_t part = 0; part < rows.size(); ++part) {
    Matrix<T> points(sizes[part], d);
    std::vector<T> weights;
    for (std::int64_t index = 0; index < points.rows(); ++index) {
      const std::int64_t row = rows[part][static_cast<std::size_t>(index)];
      std::copy_n(job.points.row(row), d, points.row(index));
      if (!job.weights.empty()) weights.push_back(job.weights[static_cast<std::size_t>(row)]);
    }
    const KMeansOptions fine{.clusters = shares[part], .max_iterations = 20, .seed = random.bits(part + 1)};
    KMeansMemory<T> of_part;
    of_part.weights = VectorView<const T>(weights.data(), std::ssize(weights));
    const KMeansResult<T> fit = kmeans(points, fine, of_part);
    for (std::int64_t row = 0; row < fit.centroids.rows(); ++row, ++next)
      std::copy_n(fit.centroids.row(row), d, all.row(next));
  }
  return all;
}

template <class T>
Matrix<T> first_centroids(const Job<T>& job, int threads) {
  Execution execution = job.execution(nullptr);
  execution.threads = threads;
  KMeansInitialCentroids<T> first =
      kmeans_initial_centroids(job.points, job.options, job.memory(0, job.points.rows()), execution);
  EXPECT_TRUE(first.rows.empty());
  return std::move(first.centroids);
}

template <class T>
class HierarchicalCentroids : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(HierarchicalCentroids, Elements);

TYPED_TEST(HierarchicalCentroids, are_those_of_two_levels_of_fits) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 2, 5, 40, 97})
    for (const std::int64_t d : {1, 2, 7, 40})
      for (const bool weighted : {false, true}) {
        Job<T> job = make_job<T>(1500, d, k, Data::wild, hierarchical, weighted);
        const Matrix<T> plain = plain_hierarchy(job);
        for (const int threads : {1, 3})
          EXPECT_TRUE(same_bits(first_centroids(job, threads), plain)) << k << " clusters, " << d << " columns";
      }
}

/// Returns the number of different rows.
template <class T>
std::int64_t different(const Matrix<T>& rows) {
  std::set<std::vector<T>> seen;
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    seen.insert(std::vector<T>(rows.row(row), rows.row(row) + rows.columns()));
  return std::ssize(seen);
}

TYPED_TEST(HierarchicalCentroids, differ_if_enough_rows_differ) {
  using T = TypeParam;
  // Row 0 is repeated 900 times, and its part would get most of the clusters.
  Matrix<T> points(1000, 3);
  for (std::int64_t row = 0; row < 1000; ++row)
    for (std::int64_t dim = 0; dim < 3; ++dim)
      points(row, dim) = row < 900 ? T{0} : static_cast<T>(row * row % 101 + dim * row);
  KMeansOptions options{.clusters = 101, .init = hierarchical};
  EXPECT_EQ(different(kmeans_initial_centroids(points, options).centroids), 101);
  options.clusters = 70;
  EXPECT_EQ(different(kmeans_initial_centroids(points, options).centroids), 70);
  options.clusters = 102;
  EXPECT_NE(tests::error_of<InputError>([&] { kmeans(points, options); }).find("only 101 different points"),
            std::string::npos);
  kmeans_detail::accept_fewer_different(options);
  EXPECT_EQ(different(kmeans_initial_centroids(points, options).centroids), 101);
  EXPECT_EQ(kmeans(points, options).inertia, 0);
}

TYPED_TEST(HierarchicalCentroids, accept_parts_without_distances) {
  using T = TypeParam;
  // Squares of the differences of the first rows are zero in double.
  Matrix<T> points(60, 1);
  for (std::int64_t row = 0; row < 60; ++row)
    points(row, 0) = row < 40 ? static_cast<T>(static_cast<double>(row) * 1e-170) : static_cast<T>(row * row);
  KMeansOptions options{.clusters = 9, .init = hierarchical};
  kmeans_detail::accept_fewer_different(options);
  EXPECT_GE(different(kmeans_initial_centroids(points, options).centroids), 9);
}

TYPED_TEST(HierarchicalCentroids, ignore_rows_without_weight) {
  using T = TypeParam;
  Job<T> job = make_job<T>(800, 4, 30, Data::plain, hierarchical, true);
  const Matrix<T> one = first_centroids(job, 2);
  for (std::size_t row = 0; row < job.weights.size(); ++row)
    if (!(job.weights[row] > 0)) job.points(static_cast<std::int64_t>(row), 1) += 7;
  EXPECT_TRUE(same_bits(first_centroids(job, 2), one));
}

TYPED_TEST(HierarchicalCentroids, have_the_same_bits_on_ranks) {
  using T = TypeParam;
  for (const Data data : {Data::plain, Data::duplicates, Data::ends})
    for (const bool weighted : {false, true})
      for (const auto& change : tests::changes_of_options) {
        Job<T> job = make_job<T>(600, 5, 21, data, hierarchical, weighted);
        change.make(job.options);
        if (job.options.init_rows > 0 ||
            (data != Data::plain && (weighted || job.options.metric == KMeansMetric::cosine)))
          continue;
        SCOPED_TRACE(std::string(change.name) + (weighted ? ", weighted, data " : ", data ") +
                     std::to_string(static_cast<int>(data)));
        const KMeansResult<T> one = kmeans(job.points, job.options, job.memory(0, 600), job.execution(nullptr));
        const bool holes = change.name[0] % 2 == 0 || weighted;
        EXPECT_EQ(tests::differs(one, holes ? 4 : 2, holes ? "holes" : "even",
                                 [&](Communicator& communicator, std::int64_t from, std::int64_t rows) {
                                   return kmeans(job.rows(from, rows), job.options, job.memory(from, rows),
                                                 job.execution(&communicator));
                                 }),
                  "");
      }
}

TEST(Hierarchy, serves_stored_points) {
  Matrix<float> points(2000, 6);
  std::vector<std::uint8_t> bytes;
  const core::Philox random(8);
  for (std::int64_t index = 0; index < points.rows() * points.columns(); ++index) {
    bytes.push_back(static_cast<std::uint8_t>(random.below(static_cast<std::uint64_t>(index), 256)));
    points.data()[index] = bytes.back();
  }
  const StoredMatrixView stored(bytes.data(), StoredType::u8, 2000, 6, 6);
  const KMeansOptions options{.clusters = 50, .init = hierarchical};
  EXPECT_TRUE(tests::same_bits(kmeans_initial_centroids(stored, options, {}).centroids,
                               kmeans_initial_centroids(points, options).centroids));
}

TEST(Hierarchy, finds_better_centroids_than_random_rows) {
  const Matrix<float> points = make_points<float>(4000, 8, Data::plain);
  KMeansOptions options{.clusters = 200, .max_iterations = 3};
  options.init = KMeansInit::random;
  const double random = kmeans(points, options).inertia;
  options.init = hierarchical;
  EXPECT_LT(kmeans(points, options).inertia, random);
}

TEST(Hierarchy, refuses_some_rows_and_reports_its_parts) {
  const Matrix<double> points = make_points<double>(300, 3, Data::plain);
  KMeansOptions options{.clusters = 16, .init = hierarchical, .init_rows = 50};
  EXPECT_NE(tests::error_of<UsageError>([&] { kmeans(points, options); }).find("uses all rows"), std::string::npos);
  options.init_rows = 0;
  std::vector<std::int64_t> parts;
  Execution execution;
  execution.progress = [&](const Progress& progress) {
    if (progress.phase == "initialize") parts.push_back(progress.done);
  };
  kmeans(points, options, {}, execution);
  EXPECT_EQ(parts, (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(Hierarchy, stops) {
  const Matrix<float> points = make_points<float>(3000, 8, Data::plain);
  std::stop_source stop;
  Execution execution;
  execution.stop = stop.get_token();
  execution.progress = [&](const Progress& progress) {
    if (progress.phase == "initialize" && progress.done == 3) stop.request_stop();
  };
  EXPECT_THROW(kmeans(points, {.clusters = 100, .init = hierarchical}, {}, execution), InterruptedError);
}

}  // namespace
}  // namespace gradus
