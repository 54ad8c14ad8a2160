// Fits with limits of size, compared with references that share no code: an assignment algorithm on replicated columns,
// all assignments of small problems, and fits without limits.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gradus/error.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/cases.hpp"

namespace gradus {
namespace {

__extension__ using Cost = __int128;

enum class Data { blobs, grid, duplicates, fives };

template <class T>
Matrix<T> points_of(Data data, std::int64_t n, std::int64_t d, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Matrix<T> points(n, d);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t column = 0; column < d; ++column) {
      double value = normal(random) + (row % 7 < 4 ? 0 : 5);
      if (data == Data::grid) value = static_cast<double>(random() % 4) + 1;
      if (data == Data::duplicates && row >= 5) value = static_cast<double>(points(row % 5, column));
      if (data == Data::fives && row % 5 > 0) value = static_cast<double>(points(row - 1, column));
      points(row, column) = static_cast<T>(value);
    }
  return points;
}

/// Returns the rows with unit length, as spherical k-means defines them.
template <class T>
Matrix<T> unit_rows(const Matrix<T>& points) {
  Matrix<T> unit(points.rows(), points.columns());
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    double largest = 0;
    for (std::int64_t column = 0; column < points.columns(); ++column)
      largest = std::max(largest, std::abs(static_cast<double>(points(row, column))));
    int exponent = 0;
    std::frexp(largest, &exponent);
    double square = 0;
    for (std::int64_t column = 0; column < points.columns(); ++column) {
      const double scaled = std::ldexp(static_cast<double>(points(row, column)), -exponent);
      square = std::fma(scaled, scaled, square);
    }
    for (std::int64_t column = 0; column < points.columns(); ++column)
      unit(row, column) =
          static_cast<T>(std::ldexp(static_cast<double>(points(row, column)), -exponent) / std::sqrt(square));
  }
  return unit;
}

/// Returns the squared distances, points x clusters, in units of 2^-90, rounded down. Few distances are below 2^-38 and
/// have lower bits.
template <class T>
std::vector<Cost> costs_of(const Matrix<T>& points, const Matrix<T>& centroids) {
  std::vector<Cost> costs;
  for (std::int64_t row = 0; row < points.rows(); ++row)
    for (std::int64_t cluster = 0; cluster < centroids.rows(); ++cluster) {
      double distance = 0;
      for (std::int64_t column = 0; column < points.columns(); ++column) {
        const double difference =
            static_cast<double>(points(row, column)) - static_cast<double>(centroids(cluster, column));
        distance = std::fma(difference, difference, distance);
      }
      const double high = std::floor(std::ldexp(distance, 40));
      const double low = std::ldexp(std::ldexp(distance, 40) - high, 50);
      costs.push_back((static_cast<Cost>(high) * (Cost{1} << 50)) + static_cast<Cost>(low));
    }
  return costs;
}

/// Returns the least cost of an assignment of all rows to different columns (Kuhn's Hungarian method with potentials).
Cost least_matching(const std::vector<std::vector<Cost>>& matrix) {
  const std::size_t n = matrix.size();
  const std::size_t m = matrix.front().size();
  std::vector<Cost> u(n + 1, 0), v(m + 1, 0);
  std::vector<std::size_t> row_of(m + 1, 0), way(m + 1, 0);
  for (std::size_t row = 1; row <= n; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<Cost> least(m + 1, std::numeric_limits<Cost>::max());
    std::vector<bool> used(m + 1, false);
    do {
      used[column] = true;
      const std::size_t current = row_of[column];
      Cost delta = std::numeric_limits<Cost>::max();
      std::size_t next = 0;
      for (std::size_t other = 1; other <= m; ++other) {
        if (used[other]) continue;
        const Cost reduced = matrix[current - 1][other - 1] - u[current] - v[other];
        if (reduced < least[other]) {
          least[other] = reduced;
          way[other] = column;
        }
        if (least[other] < delta) {
          delta = least[other];
          next = other;
        }
      }
      for (std::size_t other = 0; other <= m; ++other) {
        if (used[other]) {
          u[row_of[other]] += delta;
          v[other] -= delta;
        } else {
          least[other] -= delta;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    do {
      const std::size_t before = way[column];
      row_of[column] = row_of[before];
      column = before;
    } while (column != 0);
  }
  Cost sum = 0;
  for (std::size_t column = 1; column <= m; ++column)
    if (row_of[column] != 0) sum += matrix[row_of[column] - 1][column - 1];
  return sum;
}

/// Returns the least cost within the limits. Each cluster has `most` columns; a large bonus makes an assignment use
/// `least` of them.
Cost least_cost(const std::vector<Cost>& costs, std::int64_t k, std::int64_t least, std::int64_t most) {
  const Cost bonus = Cost{1} << 110;
  const auto n = static_cast<std::int64_t>(costs.size()) / k;
  std::vector<std::vector<Cost>> matrix(static_cast<std::size_t>(n));
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t cluster = 0; cluster < k; ++cluster)
      for (std::int64_t place = 0; place < most; ++place)
        matrix[static_cast<std::size_t>(row)].push_back(costs[static_cast<std::size_t>((row * k) + cluster)] -
                                                        (place < least ? bonus : 0));
  return least_matching(matrix) + (bonus * (least * k));
}

struct Limits {
  std::int64_t least;
  std::int64_t most;
};

template <class T>
void expect_minimal(const Matrix<T>& points, const KMeansResult<T>& result, Limits limits, const std::string& where) {
  const std::int64_t k = result.centroids.rows();
  const std::vector<Cost> costs = costs_of(points, result.centroids);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(k), 0);
  Cost cost = 0;
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    ++counts[static_cast<std::size_t>(result.labels[row])];
    cost += costs[static_cast<std::size_t>((row * k) + result.labels[row])];
  }
  EXPECT_EQ(counts, result.counts) << where;
  for (const std::int64_t count : counts) {
    EXPECT_GE(count, limits.least) << where;
    EXPECT_LE(count, limits.most) << where;
  }
  const Cost least = least_cost(costs, k, limits.least, limits.most);
  EXPECT_TRUE(cost - least >= 0 && cost - least <= points.rows()) << where;  // costs are rounded down
  for (std::size_t step = 1; step < result.history.size(); ++step)
    EXPECT_LE(result.history[step].inertia, result.history[step - 1].inertia * (1 + 1e-12) + 1e-12) << where;
}

template <class T>
void expect_same_bits(const KMeansResult<T>& one, const KMeansResult<T>& other, const std::string& where) {
  EXPECT_EQ(one.iterations, other.iterations) << where;
  EXPECT_EQ(one.inertia, other.inertia) << where;
  EXPECT_EQ(one.counts, other.counts) << where;
  ASSERT_EQ(one.labels.size(), other.labels.size()) << where;
  for (std::int64_t row = 0; row < one.labels.size(); ++row) ASSERT_EQ(one.labels[row], other.labels[row]) << where;
  for (std::int64_t index = 0; index < one.centroids.rows() * one.centroids.columns(); ++index)
    ASSERT_EQ(one.centroids.data()[index], other.centroids.data()[index]) << where;
}

template <class T>
class LimitedSizes : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(LimitedSizes, Types);

TYPED_TEST(LimitedSizes, AssignmentsHaveTheLeastCost) {
  std::mt19937_64 random(1);
  int index = 0;
  for (const Data data : {Data::blobs, Data::grid, Data::duplicates})
    for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
      for (const auto& [n, d, k] : {std::array<std::int64_t, 3>{12, 2, 3},
                                    {40, 1, 4},
                                    {90, 3, 5},
                                    {140, 19, 2},
                                    {150, 2, 1},
                                    {300, 2, 2},
                                    {60, 900, 19}})
        for (int variation = 0; variation < 3; ++variation, ++index) {
          if (metric == KMeansMetric::cosine && d == 1) continue;  // all rows would be equal
          const std::string where = "case " + std::to_string(index);
          Matrix<TypeParam> points = points_of<TypeParam>(data, n, d, random());
          KMeansOptions options{.clusters = k,
                                .init = KMeansInit::random,
                                .max_iterations = 1 + variation * 20,
                                .metric = metric,
                                .seed = random()};
          kmeans_detail::accept_coinciding_points(options);
          const std::int64_t mean = n / k;
          if (variation == 0) options.balanced = true;
          if (variation != 0) options.size_min = mean - (variation == 2 ? 0 : 1);
          if (variation == 1) options.size_max = mean + 2;
          const Limits limits = options.balanced
                                    ? Limits{9 * n / (10 * k), (11 * n + 10 * k - 1) / (10 * k)}
                                    : Limits{options.size_min, options.size_max > 0 ? options.size_max : n};
          const KMeansResult<TypeParam> result = kmeans(points, options);
          EXPECT_EQ(result.report.variant, "limited_sizes");
          if (metric == KMeansMetric::cosine) points = unit_rows(points);
          expect_minimal(points, result, limits, where);
        }
}

// With this many columns, the filter keeps lists of near clusters.
TYPED_TEST(LimitedSizes, AssignmentsFromListsHaveTheLeastCost) {
  const std::int64_t n = 100;
  const std::int64_t k = 20;
  std::mt19937_64 random(6);
  for (int index = 0; index < 60; ++index) {
    const Matrix<TypeParam> points = points_of<TypeParam>(index % 3 == 0   ? Data::blobs
                                                          : index % 3 == 1 ? Data::grid
                                                                           : Data::fives,
                                                          n, 820, random());
    KMeansOptions options{.clusters = k, .init = KMeansInit::random, .max_iterations = 1 + index % 5, .seed = random()};
    options.size_min = index % 2 == 0 ? 4 : 5;
    options.size_max = 6;
    kmeans_detail::accept_coinciding_points(options);
    expect_minimal(points, kmeans(points, options), {options.size_min, options.size_max},
                   "case " + std::to_string(index));
  }
}

TYPED_TEST(LimitedSizes, TiesGetTheLexicographicallyLeastLabels) {
  std::mt19937_64 random(2);
  for (int index = 0; index < 60; ++index) {
    const std::int64_t k = 2 + index % 2;
    const std::int64_t n = 8;
    const std::int64_t d = index % 4 == 3 ? 8192 : 2;
    const Matrix<TypeParam> points =
        points_of<TypeParam>(index % 3 == 0 ? Data::duplicates : Data::grid, n, d, random());
    KMeansOptions options{.clusters = k, .init = KMeansInit::random, .max_iterations = 3, .seed = random()};
    kmeans_detail::accept_coinciding_points(options);
    options.size_min = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n / k + 1));
    options.size_max = (n + k - 1) / k + static_cast<std::int64_t>(random() % 2);
    const KMeansResult<TypeParam> result = kmeans(points, options);
    const std::vector<Cost> costs = costs_of(points, result.centroids);
    std::vector<std::int32_t> labels(n, 0);
    std::optional<Cost> least;
    std::vector<std::int32_t> best;
    for (std::size_t place = n; place > 0;) {
      std::vector<std::int64_t> counts(static_cast<std::size_t>(k), 0);
      Cost cost = 0;
      for (std::size_t row = 0; row < n; ++row) {
        ++counts[static_cast<std::size_t>(labels[row])];
        cost += costs[(row * static_cast<std::size_t>(k)) + static_cast<std::size_t>(labels[row])];
      }
      bool is_allowed = true;
      for (const std::int64_t count : counts) is_allowed &= count >= options.size_min && count <= options.size_max;
      if (is_allowed && (!least || cost < *least)) {
        least = cost;
        best = labels;
      }
      place = n;
      while (place > 0 && ++labels[place - 1] == k) labels[--place] = 0;
    }
    EXPECT_EQ(std::vector<std::int32_t>(result.labels.data(), result.labels.data() + n), best) << "case " << index;
  }
}

TYPED_TEST(LimitedSizes, LimitsThatDoNotBindChangeNothing) {
  for (const Data data : {Data::blobs, Data::grid})
    for (const std::int64_t d : {1, 3, 20}) {
      const Matrix<TypeParam> points = points_of<TypeParam>(data, 3000, d, 3);
      KMeansOptions options{.clusters = data == Data::grid ? 4 : 9, .restarts = 2};
      const KMeansResult<TypeParam> plain = kmeans(points, options);
      options.size_max = 3000;
      expect_same_bits(plain, kmeans(points, options), "most " + std::to_string(d));
      options.size_min = 1;
      expect_same_bits(plain, kmeans(points, options), "both " + std::to_string(d));
    }
}

TYPED_TEST(LimitedSizes, ResultsDoNotDependOnThreads) {
  for (const Data data : {Data::blobs, Data::grid, Data::duplicates})
    for (const std::int64_t k : {12, 150}) {
      const std::int64_t n = 5000;
      const Matrix<TypeParam> points = points_of<TypeParam>(data, n, k == 12 ? 4 : 110, 4);
      KMeansOptions options{.clusters = k, .max_iterations = 8, .balanced = true};
      kmeans_detail::accept_coinciding_points(options);
      const KMeansResult<TypeParam> one = kmeans(points, options, {.threads = 1});
      for (const int threads : {2, 3}) expect_same_bits(one, kmeans(points, options, {.threads = threads}), "threads");
      for (const std::int64_t count : one.counts) {
        EXPECT_GE(count, 9 * n / (10 * k));
        EXPECT_LE(count, (11 * n + 10 * k - 1) / (10 * k));
      }
    }
}

// The state of a fit has no prices. A resumed fit therefore shows that they do not affect the result.
TYPED_TEST(LimitedSizes, ResumesToTheSameBits) {
  const std::string file = testing::TempDir() + "limited_sizes_" + std::to_string(sizeof(TypeParam)) + ".npz";
  const Matrix<TypeParam> points = points_of<TypeParam>(Data::grid, 4000, 3, 5);
  KMeansOptions options{.clusters = 7, .max_iterations = 30, .tolerance = 0, .balanced = true};
  const KMeansResult<TypeParam> whole = kmeans(points, options);
  ASSERT_GT(whole.iterations, 4);
  options.checkpoint = {.file = file, .iterations = 1};
  Execution execution;
  std::stop_source stop;
  execution.stop = stop.get_token();
  execution.progress = [&](const Progress& progress) {
    if (progress.phase == "iteration" && progress.done == 3) stop.request_stop();
  };
  std::filesystem::remove(file);
  EXPECT_THROW(kmeans(points, options, execution), InterruptedError);
  options.checkpoint.resume = true;
  const KMeansResult<TypeParam> resumed = kmeans(points, options);
  EXPECT_TRUE(resumed.resumed);
  expect_same_bits(whole, resumed, "resumed");
  std::filesystem::remove(file);
}

/// A distance in units of 2^-4 or of 2^-804.
struct TwoScales {
  std::int64_t coarse = 0;
  std::int64_t fine = 0;
  friend auto operator<=>(const TwoScales&, const TwoScales&) = default;
};

// Half of the coordinates are multiples of 2^-400, so 128-bit integers cannot hold all distances.
TEST(LimitedSizesRange, DistancesOfAnyScale) {
  std::mt19937_64 random(7);
  for (int index = 0; index < 20; ++index) {
    constexpr std::int64_t n = 8;
    constexpr std::int64_t k = 4;
    Matrix<double> points(n, 1);
    for (std::int64_t row = 0; row < n; ++row)
      points(row, 0) = std::ldexp(static_cast<double>(random() % 64 + 1), row % 2 == 0 ? 0 : -400);
    KMeansOptions options{.clusters = k, .init = KMeansInit::random, .max_iterations = 1, .seed = random()};
    kmeans_detail::accept_coinciding_points(options);
    options.size_min = options.size_max = 2;
    const KMeansResult<double> result = kmeans(points, options);
    std::vector<std::int32_t> labels(n, 0), best;
    TwoScales least;
    for (std::size_t place = n; place > 0;) {
      std::vector<std::int64_t> counts(k, 0);
      TwoScales cost;
      for (std::int64_t row = 0; row < n; ++row) {
        const std::int32_t label = labels[static_cast<std::size_t>(row)];
        ++counts[static_cast<std::size_t>(label)];
        const double difference = points(row, 0) - result.centroids(label, 0);
        const double distance = difference * difference;
        if (distance > 0x1p-100) cost.coarse += static_cast<std::int64_t>(std::ldexp(distance, 4));
        else cost.fine += static_cast<std::int64_t>(std::ldexp(distance, 804));
      }
      if (counts == std::vector<std::int64_t>(k, 2) && (best.empty() || cost < least)) {
        least = cost;
        best = labels;
      }
      place = n;
      while (place > 0 && ++labels[place - 1] == k) labels[--place] = 0;
    }
    EXPECT_EQ(std::vector<std::int32_t>(result.labels.data(), result.labels.data() + n), best) << index;
  }
}

// The squares of these coordinates lose digits, and the square of their scale exceeds the largest double.
TEST(LimitedSizesRange, ListsOfTinyDistances) {
  for (const double scale : {1e-155, 1e-158, 1e-160, 1e-162}) {
    Matrix<double> points = points_of<double>(Data::blobs, 100, 820, 8);
    for (double* value = points.data(); value != points.data() + points.rows() * points.columns(); ++value)
      *value *= scale;
    KMeansOptions options{.clusters = 20, .init = KMeansInit::first, .max_iterations = 2};
    options.size_min = options.size_max = 5;
    kmeans_detail::accept_coinciding_points(options);
    expect_minimal(points, kmeans(points, options), {5, 5}, "scale " + std::to_string(std::log10(scale)));
  }
}

struct Refusal {
  std::string_view name;
  std::function<void(KMeansOptions&)> change;
  std::string_view argument;
  std::string_view allowed;
  int exit_status;
  std::string_view text;
};

TEST(LimitedSizesErrors, RefusesWhatIsImpossible) {
  const Matrix<float> points = points_of<float>(Data::blobs, 30, 2, 6);
  const Refusal refusals[] = {
      {"too large a minimum", [](KMeansOptions& options) { options.size_min = 8; }, "size_min", "at most 7", 2,
       "30 points in 4 clusters"},
      {"too small a maximum", [](KMeansOptions& options) { options.size_max = 7; }, "size_max", "at least 8", 2,
       "no room"},
      {"crossed limits", [](KMeansOptions& options) { options.size_min = 7, options.size_max = 6; }, "size_min",
       "at most 6", 2, "exceeds"},
      {"negative", [](KMeansOptions& options) { options.size_min = -1; }, "size_min", "", 2, "-1"},
      {"both ways", [](KMeansOptions& options) { options.balanced = true, options.size_max = 9; }, "size_max", "", 2,
       "leave one of them out"},
  };
  for (const Refusal& refusal : refusals) {
    KMeansOptions options{.clusters = 4};
    refusal.change(options);
    try {
      kmeans(points, options);
      ADD_FAILURE() << refusal.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), refusal.exit_status) << refusal.name;
      EXPECT_EQ(error.fields().argument, refusal.argument) << refusal.name;
      if (!refusal.allowed.empty()) {
        EXPECT_EQ(error.fields().allowed, refusal.allowed) << refusal.name;
      }
      EXPECT_NE(std::string(error.what()).find(refusal.text), std::string::npos) << error.what();
    }
  }
}

TEST(LimitedSizesErrors, RefusesWhatIsNotSupported) {
  const Matrix<float> points = points_of<float>(Data::blobs, 30, 2, 6);
  const std::vector<float> weights(30, 1.0F);
  const KMeansOptions options{.clusters = 4, .balanced = true};
  EXPECT_THROW(kmeans(points, options, {.variant = "simd_bounds"}), UnsupportedError);
  EXPECT_THROW(kmeans(points, options, {.device = Device::gpu}), UnsupportedError);
  EXPECT_THROW(kmeans(points, options, KMeansMemory<float>{.weights = {weights.data(), 30}}), UnsupportedError);
  KMeansOptions tight{.clusters = 4};
  tight.size_min = 7;
  tight.size_max = 8;
  EXPECT_NO_THROW(kmeans(points, tight));
}

}  // namespace
}  // namespace gradus
