// Tests kmeans1d() against all partitions of few integers, and against a plain dynamic program of many.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gradus/kmeans1d.hpp"
#include "kmeans/cases.hpp"
#include "tests/helpers.hpp"

namespace gradus {
namespace {

using tests::contains;
using tests::error_of;

template <class T>
KMeans1dResult<T> optimum(const std::vector<T>& values, std::int64_t clusters, const std::vector<T>& weights = {}) {
  return kmeans1d<T>(VectorView<const T>(values), {.clusters = clusters}, {.weights = weights});
}

/// Returns the message of the error that action() throws.
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Different integers with integer weights, ascending.
struct Small {
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> weights;
};

/// Returns the first value of each cluster in the best partition with the least borders, by trying all partitions. A
/// partition is best if the sum of S^2 / W over its clusters is the greatest. `multiple` is divisible by every W.
std::vector<std::int64_t> best_starts(const Small& small, std::size_t clusters, std::int64_t multiple) {
  const std::size_t many = small.values.size();
  std::int64_t greatest = -1;
  std::vector<std::vector<std::int64_t>> best;
  for (unsigned borders = 0; borders < 1U << (many - 1); ++borders) {
    if (static_cast<std::size_t>(std::popcount(borders)) + 1 != clusters) continue;
    std::int64_t total = 0;
    std::int64_t sum = 0;
    std::int64_t weight = 0;
    std::vector<std::int64_t> starts{small.values[0]};
    for (std::size_t index = 0; index < many; ++index) {
      sum += small.values[index] * small.weights[index];
      weight += small.weights[index];
      const bool ends = index + 1 == many || (borders >> index & 1) != 0;
      if (!ends) continue;
      total += sum * sum * (multiple / weight);
      sum = weight = 0;
      if (index + 1 < many) starts.push_back(small.values[index + 1]);
    }
    if (total > greatest) best.clear();
    greatest = std::max(greatest, total);
    if (total == greatest) best.push_back(std::move(starts));
  }
  std::vector<std::int64_t> least = best.front();
  for (const std::vector<std::int64_t>& starts : best)
    for (std::size_t index = 0; index < clusters; ++index) least[index] = std::min(least[index], starts[index]);
  EXPECT_EQ(std::ranges::count(best, least), 1) << "the least borders together are one of the best partitions";
  return least;
}

/// Maps integers to values of type T: offset + unit * integer.
struct Scale {
  double offset;
  double unit;
};

template <class T>
void expect_best(const Small& small, std::size_t clusters, std::int64_t multiple, Scale scale, bool weighted,
                 std::mt19937_64& random) {
  std::vector<std::pair<std::int64_t, T>> rows;  // integer and weight of each row
  for (std::size_t index = 0; index < small.values.size(); ++index) {
    if (weighted) rows.emplace_back(small.values[index], static_cast<T>(small.weights[index]));
    else rows.insert(rows.end(), static_cast<std::size_t>(small.weights[index]), {small.values[index], T{1}});
  }
  std::ranges::shuffle(rows, random);
  std::vector<T> values;
  std::vector<T> weights;
  for (const auto& [integer, weight] : rows) {
    values.push_back(static_cast<T>(scale.offset + scale.unit * static_cast<double>(integer)));
    if (weighted) weights.push_back(weight);
  }
  const KMeans1dResult<T> result = optimum(values, static_cast<std::int64_t>(clusters), weights);
  const std::vector<std::int64_t> starts = best_starts(small, clusters, multiple);
  std::vector<std::int64_t> counts(clusters);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto label = std::ranges::upper_bound(starts, rows[row].first) - starts.begin() - 1;
    ++counts[static_cast<std::size_t>(label)];
    ASSERT_EQ(result.labels[static_cast<std::int64_t>(row)], label)
        << testing::PrintToString(values) << ", weights " << testing::PrintToString(weights) << ", k " << clusters;
  }
  EXPECT_EQ(result.counts, counts);
}

template <class T>
class Optimum : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Optimum, Elements);

TYPED_TEST(Optimum, IsTheBestOfAllPartitionsOfFewIntegers) {
  using T = TypeParam;
  constexpr std::int64_t multiple = 5354228880;  // of 1 to 24
  const double largest_unit = sizeof(T) == sizeof(float) ? 0x1p90 : 0x1p490;
  const std::vector<Scale> scales{{0, 1},
                                  {-7, 1},
                                  {sizeof(T) == sizeof(float) ? 0x1p20 : 1e15, 1},
                                  {0, static_cast<double>(std::numeric_limits<T>::denorm_min())},
                                  {0, largest_unit}};
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 5000; ++trial) {
    const auto draw = [&](std::int64_t least, std::int64_t most) {
      return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
    };
    Small small;
    const std::int64_t many = draw(1, 8);
    const std::int64_t step = draw(1, 6);  // 1: equally spaced, with many ties
    const std::int64_t heaviest = draw(1, 3);
    for (std::int64_t index = 0, value = draw(-9, 9); index < many; ++index, value += draw(1, step)) {
      small.values.push_back(value);
      small.weights.push_back(draw(1, heaviest));
    }
    const auto clusters = static_cast<std::size_t>(draw(1, many));
    expect_best<T>(small, clusters, multiple, scales[static_cast<std::size_t>(trial) % scales.size()], trial % 2 == 0,
                   random);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Optimum, IsTheBestOfAllPartitionsOfTwelveIntegers) {
  constexpr std::int64_t multiple = 27720;  // of 1 to 12
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    Small small;
    std::int64_t value = 0;
    for (int index = 0; index < 12; ++index) {
      small.values.push_back(value += 1 + static_cast<std::int64_t>(random() % (trial % 4 == 0 ? 1 : 20)));
      small.weights.push_back(1);
    }
    expect_best<TypeParam>(small, 1 + static_cast<std::size_t>(trial) % 12, multiple, {100, 0.25}, false, random);
    if (testing::Test::HasFailure()) return;
  }
}

/// Returns the least inertia of the sorted values, by a dynamic program over all pairs of borders.
long double least_inertia(const std::vector<double>& values, std::size_t clusters) {
  const std::size_t many = values.size();
  std::vector<long double> sums(many + 1);
  std::vector<long double> squares(many + 1);
  for (std::size_t index = 0; index < many; ++index) {
    const long double value = values[index] - static_cast<long double>(values[many / 2]);
    sums[index + 1] = sums[index] + value;
    squares[index + 1] = squares[index] + value * value;
  }
  std::vector<long double> best(many + 1, std::numeric_limits<long double>::infinity());
  best[0] = 0;
  for (std::size_t cluster = 0; cluster < clusters; ++cluster)
    for (std::size_t to = many + 1; to-- > 0;) {
      long double least = std::numeric_limits<long double>::infinity();
      for (std::size_t from = 0; from < to; ++from) {
        const long double sum = sums[to] - sums[from];
        least =
            std::min(least, best[from] + squares[to] - squares[from] - sum * sum / static_cast<long double>(to - from));
      }
      best[to] = least;
    }
  return best[many];
}

/// Returns the inertia of a clustering with unrounded means.
long double inertia_of(const std::vector<double>& values, const Buffer<std::int32_t>& labels, std::size_t clusters) {
  const long double middle = values[values.size() / 2];
  std::vector<long double> sums(clusters);
  std::vector<long double> counts(clusters);
  const auto cluster_of = [&](std::size_t row) {
    return static_cast<std::size_t>(labels[static_cast<std::int64_t>(row)]);
  };
  for (std::size_t row = 0; row < values.size(); ++row) {
    sums[cluster_of(row)] += values[row] - middle;
    ++counts[cluster_of(row)];
  }
  long double inertia = 0;
  for (std::size_t row = 0; row < values.size(); ++row) {
    const long double difference = values[row] - middle - sums[cluster_of(row)] / counts[cluster_of(row)];
    inertia += difference * difference;
  }
  return inertia;
}

std::vector<double> drawn(int kind, std::size_t many, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> values;
  for (std::size_t index = 0; index < many; ++index) {
    const double draw = normal(random);
    const std::vector<double> kinds{uniform(random),
                                    draw,
                                    std::exp(3 * draw),
                                    draw / normal(random),
                                    static_cast<double>(index % 30) * 10 + 0.1 * draw,
                                    static_cast<double>(index),
                                    std::round(20 * draw),
                                    1e15 + std::round(1000 * uniform(random)),
                                    index == 0   ? 1e30
                                    : index == 1 ? -1e40
                                                 : draw};
    values.push_back(kinds[static_cast<std::size_t>(kind)]);
  }
  return values;
}

TEST(OptimumOfDoubles, IsTheBestOfManyValues) {
  std::mt19937_64 random(3);
  for (int kind = 0; kind < 9; ++kind)
    for (const std::size_t clusters : {2, 7, 29, 64}) {
      const std::vector<double> values = drawn(kind, 600, random);
      std::vector<double> sorted = values;
      std::ranges::sort(sorted);
      const bool has_outliers = kind == 8;
      const KMeans1dResult<double> result = optimum(values, static_cast<std::int64_t>(clusters));
      if (has_outliers && clusters < 3) continue;
      if (has_outliers) sorted = std::vector<double>(sorted.begin() + 1, sorted.end() - 1);
      const auto least = static_cast<double>(least_inertia(sorted, has_outliers ? clusters - 2 : clusters));
      const auto found = static_cast<double>(inertia_of(values, result.labels, clusters));
      EXPECT_NEAR(found, least, 1e-12 * least + 1e-300) << "kind " << kind << ", k " << clusters;
      EXPECT_TRUE(std::is_sorted(result.centroids.data(), result.centroids.data() + clusters));
    }
}

/// Returns the first positions of the clusters of the sorted values: the least borders of all best clusterings.
std::vector<std::size_t> least_starts(const std::vector<double>& values, std::size_t clusters) {
  const std::size_t many = values.size();
  std::vector<std::vector<std::size_t>> from(clusters + 1, std::vector<std::size_t>(many + 1));
  std::vector<long double> before(many + 1, std::numeric_limits<long double>::infinity());
  before[0] = 0;
  for (std::size_t cluster = 1; cluster <= clusters; ++cluster) {
    std::vector<long double> best(many + 1, std::numeric_limits<long double>::infinity());
    for (std::size_t to = cluster; to <= many; ++to) {
      long double sum = 0;
      long double squares = 0;
      for (std::size_t first = to; first-- > cluster - 1;) {
        const long double value = static_cast<long double>(values[first]) - values[many / 2];
        sum += value;
        squares += value * value;
        const long double cost = before[first] + squares - sum * sum / static_cast<long double>(to - first);
        if (cost > best[to] + 1e-12L * (1 + best[to])) continue;
        from[cluster][to] = first;
        best[to] = std::min(best[to], cost);
      }
    }
    before.swap(best);
  }
  std::vector<std::size_t> starts(clusters);
  std::size_t at = many;
  for (std::size_t cluster = clusters; cluster > 0; --cluster) starts[cluster - 1] = at = from[cluster][at];
  return starts;
}

// The relaxation must hold where its guesses fail: ties, gaps, few values per cluster.
TEST(OptimumOfDoubles, ChoosesTheLeastBordersAmongManyTies) {
  std::mt19937_64 random(7);
  constexpr std::size_t many = 240;
  for (int kind = 0; kind < 6; ++kind)
    for (const std::size_t clusters : {69, 70, 90, 119, 121, 160, 200, 238}) {
      std::vector<double> values;
      double value = 0;
      for (std::size_t index = 0; index < many; ++index) {
        const std::array<double, 6> gaps{1,
                                         index % 2 == 0 ? 1.0 : 2.0,
                                         static_cast<double>(1 + random() % 2),
                                         index % 40 == 39 ? 1000.0 : 1.0,
                                         random() % 16 == 0 ? 100.0 : static_cast<double>(1 + random() % 3),
                                         index < many / 2 ? 1.0 : 8.0};
        values.push_back(value += gaps[static_cast<std::size_t>(kind)]);
      }
      const std::vector<std::size_t> starts = least_starts(values, clusters);
      std::vector<double> shuffled = values;
      std::ranges::shuffle(shuffled, random);
      const KMeans1dResult<double> result = optimum(shuffled, static_cast<std::int64_t>(clusters));
      for (std::size_t cluster = 0; cluster < clusters; ++cluster) {
        const std::size_t end = cluster + 1 < clusters ? starts[cluster + 1] : many;
        ASSERT_EQ(result.counts[cluster], static_cast<std::int64_t>(end - starts[cluster]))
            << "kind " << kind << ", k " << clusters << ", cluster " << cluster;
      }
    }
}

// Each outlier is a cluster. The other values, 60 orders of magnitude smaller, are clustered as if alone.
TEST(OptimumOfDoubles, ClustersTinyValuesNextToOutliers) {
  std::mt19937_64 random(8);
  std::vector<double> tiny;
  std::vector<double> weights;
  for (int index = 0; index < 20000; ++index) {
    tiny.push_back(1e-30 * std::normal_distribution<double>()(random));
    weights.push_back(static_cast<double>(random() % 3));
  }
  for (const bool weighted : {false, true}) {
    std::vector<double> all = tiny;
    std::vector<double> of_all = weighted ? weights : std::vector<double>(tiny.size(), 1.0);
    for (const double outlier : {-3e30, 1e30, 2e30, 4e30}) {
      all.push_back(outlier);
      of_all.push_back(1);
    }
    const KMeans1dResult<double> alone = optimum(tiny, 50, weighted ? weights : std::vector<double>());
    const KMeans1dResult<double> result = optimum(all, 54, of_all);
    for (std::int64_t row = 0; row < std::ssize(tiny); ++row)
      ASSERT_EQ(result.labels[row], alone.labels[row] + 1) << row;
  }
}

/// Returns the least inertia of weighted values, which ascend, by a dynamic program over all pairs of borders. The cost
/// of a range follows value by value, so that nothing cancels.
long double least_weighted_inertia(const std::vector<double>& values, const std::vector<double>& weights,
                                   std::size_t clusters) {
  const std::size_t many = values.size();
  std::vector<long double> before(many + 1, std::numeric_limits<long double>::infinity());
  before[0] = 0;
  for (std::size_t cluster = 0; cluster < clusters; ++cluster) {
    std::vector<long double> best(many + 1, std::numeric_limits<long double>::infinity());
    for (std::size_t from = 0; from < many; ++from) {
      long double weight = 0;
      long double mean = 0;
      long double cost = 0;
      for (std::size_t to = from; to < many; ++to) {
        const long double offset = values[to] - mean;
        cost += offset * offset * (weight * weights[to] / (weight + weights[to]));
        weight += weights[to];
        mean += offset * (weights[to] / weight);
        best[to + 1] = std::min(best[to + 1], before[from] + cost);
      }
    }
    before.swap(best);
  }
  return before[many];
}

// Sums that contain a heavy weight say little about the light values next to it.
TEST(OptimumOfDoubles, HoldsForHeavyWeights) {
  std::mt19937_64 random(9);
  constexpr std::size_t many = 1400;
  constexpr std::int64_t clusters = 12;
  std::vector<double> values = drawn(1, many, random);
  std::ranges::sort(values);
  for (const double heavy : {1e6, 1e15, 1e40})
    for (const std::size_t heavy_values : {1, 2, 20}) {
      std::vector<double> weights(many, 1.0);
      for (std::size_t index = 0; index < heavy_values; ++index) weights[random() % many] = heavy;
      const KMeans1dResult<double> result = optimum(values, clusters, weights);
      const auto least = static_cast<double>(least_weighted_inertia(values, weights, clusters));
      long double found = 0;
      for (std::size_t first = 0; first < many;) {
        const std::int32_t label = result.labels[static_cast<std::int64_t>(first)];
        std::size_t last = first;
        while (last < many && result.labels[static_cast<std::int64_t>(last)] == label) ++last;
        found += least_weighted_inertia({values.begin() + first, values.begin() + last},
                                        {weights.begin() + first, weights.begin() + last}, 1);
        first = last;
      }
      EXPECT_NEAR(static_cast<double>(found), least, 1e-12 * least) << heavy << ", " << heavy_values;
    }
}

TEST(OptimumOfDoubles, EndsWithAHeavyWeightAmongManyValues) {
  std::mt19937_64 random(10);
  const std::vector<double> values = drawn(1, 30000, random);
  std::vector<double> weights(values.size(), 1.0);
  weights[0] = 1e18;
  const KMeans1dResult<double> result = optimum(values, 50, weights);
  EXPECT_EQ(static_cast<double>(result.centroids(result.labels[0], 0)), values[0]);
}

TEST(OptimumOfDoubles, NeedsFewIntegersWithOutliersAndManyClusters) {
  std::mt19937_64 random(11);
  std::vector<double> values = drawn(1, 1000, random);
  const KMeans1dResult<double> alone = optimum(values, 400);
  values.insert(values.end(), {-1e12, 1e9});
  const KMeans1dResult<double> result = optimum(values, 402);
  for (std::int64_t row = 0; row < 1000; ++row) ASSERT_EQ(result.labels[row], alone.labels[row] + 1) << row;
}

TEST(OptimumOfDoubles, FindsPlantedClusters) {
  std::mt19937_64 random(4);
  constexpr std::int64_t clusters = 500;
  std::vector<double> values;
  std::vector<std::int32_t> planted;
  for (int index = 0; index < 50000; ++index) {
    const auto label = static_cast<std::int32_t>(random() % clusters);
    values.push_back(3.0 * label + std::uniform_real_distribution<double>(0, 1)(random));
    planted.push_back(label);
  }
  const KMeans1dResult<double> result = optimum(values, clusters);
  EXPECT_TRUE(std::equal(planted.begin(), planted.end(), result.labels.data()));
}

// With 2^498 among them, sums in double say nothing about small values: integers decide.
TEST(OptimumOfDoubles, HoldsForEverySpread) {
  const auto labels = [](const std::vector<double>& values, std::int64_t clusters) {
    const KMeans1dResult<double> result = optimum(values, clusters);
    return std::vector<std::int32_t>(result.labels.data(), result.labels.data() + result.labels.size());
  };
  EXPECT_EQ(labels({0, 1, 2, 0x1p498}, 3), (std::vector<std::int32_t>{0, 1, 1, 2}));
  EXPECT_EQ(labels({0, 1, 2 - 0x1p-50, 0x1p498}, 3), (std::vector<std::int32_t>{0, 1, 1, 2}));
  EXPECT_EQ(labels({0, 1, 2 + 0x1p-50, 0x1p498}, 3), (std::vector<std::int32_t>{0, 0, 1, 2}));
  EXPECT_EQ(labels({-0x1p498, 0, 1, 2 + 0x1p-50, 0x1p498, 0x1.8p498}, 4),
            (std::vector<std::int32_t>{0, 1, 1, 1, 2, 3}));
  EXPECT_EQ(labels({0, 0x1p-1074, 0x1p-1073, 1, 2, 3.5}, 4), (std::vector<std::int32_t>{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(labels({0, 0x1p-1074, 0x1p-1073, 1, 2, 3.5}, 5), (std::vector<std::int32_t>{0, 1, 1, 2, 3, 4}));
}

TEST(OptimumOfDoubles, BreaksLongTiesByTheLeastBorders) {
  std::vector<double> values(3000);
  std::iota(values.begin(), values.end(), 0);
  const KMeans1dResult<double> result = optimum(values, 7);  // 3000 = 3 * 428 + 4 * 429
  EXPECT_EQ(result.counts, (std::vector<std::int64_t>{428, 428, 428, 429, 429, 429, 429}));
}

TYPED_TEST(Optimum, ReturnsWhatAFitReturnsForTheSameClusters) {
  using T = TypeParam;
  std::mt19937_64 random(5);
  std::vector<T> values;
  std::vector<T> weights;
  for (int index = 0; index < 2000; ++index) {
    values.push_back(static_cast<T>(std::normal_distribution<double>()(random)));
    weights.push_back(static_cast<T>(random() % 5) / 3);
  }
  for (const bool weighted : {false, true}) {
    const KMeans1dResult<T> result = optimum(values, 5, weighted ? weights : std::vector<T>());
    const MatrixView<const T> rows(values.data(), 2000, 1);
    KMeansMemory<T> memory{.initial_centroids = result.centroids.view()};
    if (weighted) memory.weights = weights;
    KMeansOptions options{.clusters = 5, .init = KMeansInit::given, .tolerance = 0};
    const KMeansResult<T> fit = kmeans(rows, options, memory);
    EXPECT_EQ(fit.inertia, result.inertia);
    EXPECT_EQ(fit.counts, result.counts);
    for (int cluster = 0; cluster < 5; ++cluster) EXPECT_EQ(fit.centroids(cluster, 0), result.centroids(cluster, 0));
    EXPECT_TRUE(std::equal(fit.labels.data(), fit.labels.data() + 2000, result.labels.data()));
    options.init = KMeansInit::kmeans_plus_plus;
    memory.initial_centroids = {};
    options.restarts = 3;
    EXPECT_LE(result.inertia, kmeans(rows, options, memory).inertia);
  }
}

TYPED_TEST(Optimum, AcceptsFewerDifferentValuesThanClusters) {
  using T = TypeParam;
  const std::vector<T> values{2, -T{0}, 0, 2, 2};
  KMeansOptions options{.clusters = 5};
  kmeans_detail::accept_coinciding_points(options);
  const KMeans1dResult<T> result = kmeans1d<T>(VectorView<const T>(values), options);
  EXPECT_EQ(result.counts, (std::vector<std::int64_t>{2, 3, 0, 0, 0}));
  for (int cluster = 0; cluster < 5; ++cluster) EXPECT_EQ(result.centroids(cluster, 0), T(2 * (cluster % 2)));
  EXPECT_EQ(result.inertia, 0);
}

TEST(OptimumOfDoubles, GivesPointsWithoutWeightTheNearestCentroid) {
  const std::vector<double> values{0, 2, 10, 12, 5.9, 6, 6.1, -50, 50};
  const std::vector<double> weights{1, 1, 1, 1, 0, 0, 0, 0, 0};
  const KMeans1dResult<double> result = optimum(values, 2, weights);
  EXPECT_EQ(std::vector<std::int32_t>(result.labels.data(), result.labels.data() + 9),
            (std::vector<std::int32_t>{0, 0, 1, 1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(result.inertia, 4);
}

TEST(OptimumOfDoubles, RefusesWhatItCannotDo) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values{1, 2, 3, 3};
  const std::vector<double> given{1, 2};
  struct Case {
    std::vector<double> values;
    KMeansOptions options;
    KMeansMemory<double> memory;
    Execution execution;
    std::string message;
  };
  const std::vector<double> negative{1, 1, -1, 1};
  const std::vector<double> zeros(4);
  Execution on_gpu;
  on_gpu.device = Device::gpu;
  Execution with_variant;
  with_variant.variant = "sequential";
  Execution little;
  little.memory_limit = 1;
  for (const Case& one :
       {Case{{1, nan, 2}, {.clusters = 2}, {}, {}, "row 1"},
        Case{{1, 2, std::numeric_limits<double>::infinity()}, {.clusters = 2}, {}, {}, "row 2"},
        Case{{1, 0x1p501}, {.clusters = 2}, {}, {}, "row 1"}, Case{{}, {.clusters = 2}, {}, {}, "at least one row"},
        Case{values, {.clusters = 0}, {}, {}, "clusters"}, Case{values, {.clusters = 5}, {}, {}, "only 4 points"},
        Case{values, {.clusters = 4}, {}, {}, "only 3 different points"},
        Case{values, {.clusters = 2}, {.weights = given}, {}, "2 weights for 4 points"},
        Case{values, {.clusters = 2}, {.weights = negative}, {}, "row 2"},
        Case{values, {.clusters = 2}, {.weights = zeros}, {}, "all weights are zero"},
        Case{values, {.clusters = 2}, {}, on_gpu, "on the CPU"},
        Case{values, {.clusters = 2}, {}, with_variant, "no variants"},
        Case{values, {.clusters = 2}, {}, little, "memory"}}) {
    const std::string message = message_of(
        [&] { kmeans1d<double>(VectorView<const double>(one.values), one.options, one.memory, one.execution); });
    EXPECT_TRUE(contains(message, one.message)) << message << "\nnot: " << one.message;
  }
  const Matrix<double> two(3, 2);
  EXPECT_TRUE(contains(error_of<InputError>([&] { kmeans1d(two.view(), {.clusters = 2}); }), "2 columns"));
  KMeansMemory<double> centroids{.initial_centroids = MatrixView<const double>(given.data(), 2, 1)};
  EXPECT_FALSE(error_of<UsageError>([&] {
                 kmeans1d<double>(VectorView<const double>(values), {.clusters = 2}, centroids);
               }).empty());
}

TEST(OptimumOfDoubles, EndsAfterAStopRequest) {
  std::mt19937_64 random(6);
  const std::vector<double> values = drawn(1, 300000, random);
  std::stop_source stop;
  Execution execution;
  execution.stop = stop.get_token();
  stop.request_stop();
  EXPECT_THROW(kmeans1d<double>(VectorView<const double>(values), {.clusters = 100}, {}, execution), InterruptedError);
}

}  // namespace
}  // namespace gradus
