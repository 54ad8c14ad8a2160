// Compares certificates with the optimum of all partitions, in quadruple precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "gradus/kmeans_certify.hpp"
#include "kmeans/certify/eigenvalues.hpp"
#include "kmeans/certify/grouped_rows.hpp"
#include "kmeans/certify/plane_bound.hpp"
#include "kmeans/points/unit_length.hpp"
#include "kmeans/problem.hpp"
#include "tests/helpers.hpp"

namespace gradus {
namespace {

using tests::contains;
using tests::error_of;

__extension__ using Quad = __float128;

struct Sample {
  Matrix<double> points;
  std::vector<double> weights;  ///< empty: none
  std::vector<std::int32_t> labels;
  std::int64_t clusters = 1;

  VectorView<const double> weights_view() const { return {weights.data(), std::ssize(weights)}; }
  VectorView<const std::int32_t> labels_view() const { return {labels.data(), std::ssize(labels)}; }
};

/// Returns the least inertia of all partitions into at most k clusters. The inertia of a cluster is a sum of positive
/// terms, sum w_i w_j |x_i - x_j|^2 / sum w_i, so that the relative error is near 2^-110.
Quad optimum_of(const Sample& sample) {
  const auto n = static_cast<std::size_t>(sample.points.rows());
  const std::size_t subsets = std::size_t{1} << n;
  const auto weight = [&](std::size_t row) { return sample.weights.empty() ? Quad{1} : Quad{sample.weights[row]}; };
  std::vector<Quad> between(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      for (std::int64_t column = 0; column < sample.points.columns(); ++column) {
        const Quad difference = Quad{sample.points(static_cast<std::int64_t>(i), column)} -
                                Quad{sample.points(static_cast<std::int64_t>(j), column)};
        between[i * n + j] += weight(i) * weight(j) * difference * difference;
      }
  std::vector<Quad> cost(subsets);
  for (std::size_t set = 1; set < subsets; ++set) {
    Quad all = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if ((set >> i & 1) == 0) continue;
      all += weight(i);
      for (std::size_t j = 0; j < i; ++j)
        if ((set >> j & 1) != 0) cost[set] += between[i * n + j];
    }
    if (all > 0) cost[set] /= all;
  }
  std::vector<Quad> best = cost;
  for (std::int64_t more = 1; more < sample.clusters; ++more) {
    std::vector<Quad> next = best;
    for (std::size_t set = 1; set < subsets; ++set)
      for (std::size_t part = set; part != 0; part = (part - 1) & set)
        next[set] = std::min(next[set], cost[part] + best[set ^ part]);
    best = std::move(next);
  }
  return best[subsets - 1];
}

KMeansCertificate certificate_of(const Sample& sample, KMeansMetric metric = KMeansMetric::euclidean, int threads = 1,
                                 double effort = 1) {
  Matrix<double> centroids(sample.clusters, sample.points.columns());
  std::fill_n(centroids.data(), centroids.rows() * centroids.columns(), 1.0);
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  const KMeansModel<double> model{std::as_const(centroids).view(), metric, {}};
  return kmeans_certify(model, sample.points, sample.labels_view(), sample.weights_view(), execution, effort);
}

/// Returns labels of Lloyd's algorithm, of one iteration, or random ones.
std::vector<std::int32_t> labels_for(const Sample& sample, std::uint64_t seed) {
  std::vector<std::int32_t> labels;
  if (seed % 8 == 4) {  // rows 0 and 1 have their own labels
    for (std::int64_t row = 0; row < sample.points.rows(); ++row)
      labels.push_back(static_cast<std::int32_t>(std::min(row, sample.clusters - 1)));
    return labels;
  }
  if (seed % 8 == 0) {
    std::mt19937_64 random(seed);
    for (std::int64_t row = 0; row < sample.points.rows(); ++row)
      labels.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(sample.clusters)));
    return labels;
  }
  KMeansOptions options;
  options.clusters = sample.clusters;
  options.seed = seed;
  if (seed % 4 == 1) options.max_iterations = 1;
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = 1;
  try {
    const KMeansResult<double> fit =
        kmeans(sample.points, options, KMeansMemory<double>{.weights = sample.weights_view()}, execution);
    labels.assign(fit.labels.data(), fit.labels.data() + fit.labels.size());
  } catch (const InputError&) {  // fewer different points than clusters
    labels.assign(static_cast<std::size_t>(sample.points.rows()), 0);
  }
  return labels;
}

/// A kind of data, as a function of a source of random numbers, row and column.
struct Kind {
  const char* name;
  double (*value)(std::mt19937_64& random, std::int64_t row, std::int64_t column);
  double scale;
};

double normal_of(std::mt19937_64& random) { return std::normal_distribution<double>{}(random); }

const Kind kinds[] = {
    {"normal", [](std::mt19937_64& r, std::int64_t, std::int64_t) { return normal_of(r); }, 1},
    {"grid", [](std::mt19937_64& r, std::int64_t, std::int64_t) { return static_cast<double>(r() % 3); }, 1},
    {"duplicates",
     [](std::mt19937_64& r, std::int64_t row, std::int64_t) {
       return static_cast<double>(row - row % 3) * 4 / 3 + (r() % 8 == 0 ? 1 : 0);
     },
     1},
    {"separated",
     [](std::mt19937_64& r, std::int64_t row, std::int64_t) {
       return static_cast<double>(row % 3) * 20 + normal_of(r);
     },
     1},
    {"near",
     [](std::mt19937_64& r, std::int64_t row, std::int64_t) { return static_cast<double>(row % 3) * 4 + normal_of(r); },
     1},
    {"collinear",
     [](std::mt19937_64&, std::int64_t row, std::int64_t column) {
       return static_cast<double>((row * row * 7) % 23) * static_cast<double>(column + 1);
     },
     1},
    {"offset",
     [](std::mt19937_64& r, std::int64_t row, std::int64_t) {
       return 1e15 + static_cast<double>(row % 2) * 64 + static_cast<double>(r() % 8);
     },
     1},
    {"outlier", [](std::mt19937_64& r, std::int64_t row, std::int64_t) { return row == 0 ? 1e9 : normal_of(r); }, 1},
    {"outlier_last",
     [](std::mt19937_64& r, std::int64_t row, std::int64_t) {
       return row == 3 ? -1e17 : static_cast<double>(row % 2) * 30 + normal_of(r);
     },
     1},
    {"tiny",
     [](std::mt19937_64& r, std::int64_t row, std::int64_t) {
       return static_cast<double>(row % 3) * 20 + normal_of(r);
     },
     1e-140},
    {"huge",
     [](std::mt19937_64& r, std::int64_t row, std::int64_t) {
       return static_cast<double>(row % 3) * 20 + normal_of(r);
     },
     1e100},
    {"spread", [](std::mt19937_64& r, std::int64_t, std::int64_t) { return std::exp(12 * normal_of(r)); }, 1},
    {"twins",
     [](std::mt19937_64& r, std::int64_t row, std::int64_t column) {
       return row < 2 ? (column == 0 ? static_cast<double>(2 * row) : 0) : 50 + 2 * normal_of(r);
     },
     1},
    {"zero", [](std::mt19937_64&, std::int64_t, std::int64_t) { return 0.0; }, 1},
};

Sample sample_of(const Kind& kind, std::uint64_t seed, std::int64_t columns = 0) {
  std::mt19937_64 random(seed);
  Sample sample;
  const auto n = static_cast<std::int64_t>(3 + random() % 6);
  const auto any = static_cast<std::int64_t>(1 + random() % 4);
  const std::int64_t d = columns > 0 ? columns : any;
  sample.clusters = static_cast<std::int64_t>(1 + random() % std::min<std::uint64_t>(static_cast<std::uint64_t>(n), 4));
  sample.points = Matrix<double>(n, d);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t column = 0; column < d; ++column)
      sample.points(row, column) = kind.value(random, row, column) * kind.scale;
  if (seed % 3 == 0)
    for (std::int64_t row = 0; row < n; ++row)
      sample.weights.push_back(
          row > 0 && random() % 5 == 0 ? 0 : std::exp(seed % 2 == 0 ? normal_of(random) : 40 * normal_of(random)));
  sample.labels = labels_for(sample, seed);
  return sample;
}

/// Returns the inertia of the labels with the exact means of their clusters.
Quad inertia_of(const Sample& sample, const std::vector<std::int32_t>& labels) {
  const std::int64_t d = sample.points.columns();
  std::vector<Quad> sums(static_cast<std::size_t>(sample.clusters * d));
  std::vector<Quad> weights(static_cast<std::size_t>(sample.clusters));
  const auto weight = [&](std::int64_t row) {
    return sample.weights.empty() ? Quad{1} : Quad{sample.weights[static_cast<std::size_t>(row)]};
  };
  const auto label = [&](std::int64_t row) { return static_cast<std::int64_t>(labels[static_cast<std::size_t>(row)]); };
  for (std::int64_t row = 0; row < sample.points.rows(); ++row) {
    weights[static_cast<std::size_t>(label(row))] += weight(row);
    for (std::int64_t column = 0; column < d; ++column)
      sums[static_cast<std::size_t>(label(row) * d + column)] += weight(row) * Quad{sample.points(row, column)};
  }
  Quad inertia = 0;
  for (std::int64_t row = 0; row < sample.points.rows(); ++row)
    for (std::int64_t column = 0; column < d && weight(row) > 0; ++column) {
      const Quad mean =
          sums[static_cast<std::size_t>(label(row) * d + column)] / weights[static_cast<std::size_t>(label(row))];
      const Quad difference = Quad{sample.points(row, column)} - mean;
      inertia += weight(row) * difference * difference;
    }
  return inertia;
}

TEST(Certify, NeverExceedsTheOptimumOfAllPartitions) {
  constexpr int cases_of_a_kind = 800;
  for (const Kind& kind : kinds) {
    int near = 0;
    for (int seed = 0; seed < cases_of_a_kind; ++seed) {
      const Sample sample = sample_of(kind, static_cast<std::uint64_t>(seed));
      const double bound = certificate_of(sample).bound;
      const Quad optimum = optimum_of(sample);
      ASSERT_TRUE(Quad{bound} <= optimum)
          << kind.name << " " << seed << ": bound " << bound << ", optimum " << static_cast<double>(optimum);
      near += optimum > 0 && Quad{bound} > Quad{0.99} * optimum ? 1 : 0;
    }
    if (std::string(kind.name) != "zero") {
      EXPECT_GT(near, cases_of_a_kind / 4) << kind.name;
    }
  }
}

TEST(Certify, CosineNeverExceedsTheOptimumOfUnitRows) {
  for (int seed = 0; seed < 400; ++seed) {
    Sample sample = sample_of(kinds[seed % 2 == 0 ? 0 : 3], static_cast<std::uint64_t>(seed));
    const double bound = certificate_of(sample, KMeansMetric::cosine).bound;
    for (std::int64_t row = 0; row < sample.points.rows(); ++row)
      ASSERT_TRUE(kmeans_detail::scale_to_unit_length(sample.points.row(row), sample.points.columns()));
    ASSERT_TRUE(Quad{2} * Quad{bound} <= optimum_of(sample)) << seed;
  }
}

/// Clusters in d columns with a given distance of neighbours, in units of the standard deviation.
Sample planted(std::int64_t n, std::int64_t d, std::int64_t k, double distance, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Sample sample;
  sample.clusters = k;
  sample.points = Matrix<double>(n, d);
  for (std::int64_t row = 0; row < n; ++row) {
    const std::int64_t cluster = row % k;
    const std::int64_t turn = 1 + cluster / d;
    sample.labels.push_back(static_cast<std::int32_t>(cluster));
    for (std::int64_t column = 0; column < d; ++column)
      sample.points(row, column) =
          normal_of(random) + (column == cluster % d ? distance * static_cast<double>(turn) : 0);
  }
  return sample;
}

TEST(Certify, DoesNotDenyAPlantedBetterClustering) {
  for (int seed = 0; seed < 600; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const auto d = static_cast<std::int64_t>(2 + random() % 12);
    const auto k = static_cast<std::int64_t>(3 + random() % 5);
    const double distance = 1 + static_cast<double>(random() % 24);
    Sample sample = planted(120, d, k, distance, static_cast<std::uint64_t>(seed));
    if (seed % 3 == 0)
      for (std::int64_t row = 0; row < 120; ++row) sample.weights.push_back(std::exp(2 * normal_of(random)));
    const std::vector<std::int32_t> better = sample.labels;
    for (std::size_t row = 0; row < sample.labels.size(); ++row) {  // two clusters are joined, and one is split
      if (better[row] == 1) sample.labels[row] = 0;
      if (better[row] == 2 && row % 2 == 0) sample.labels[row] = 1;
    }
    for (const std::vector<std::int32_t>& labels : {sample.labels, better}) {
      sample.labels = labels;
      ASSERT_TRUE(Quad{certificate_of(sample).bound} <= inertia_of(sample, better)) << seed;
    }
  }
}

TEST(Certify, IsTightForSeparateClustersAndNeverAboveTheirExactInertia) {
  // Plain rounding to nearest exceeds the exact inertia in about half of the cases.
  for (int seed = 0; seed < 200; ++seed) {
    const std::int64_t k = 1 + seed % 4;
    const Sample sample = planted(40 + seed, 2 + seed % 5, k, 1000, static_cast<std::uint64_t>(seed));
    const Quad exact = inertia_of(sample, sample.labels);
    const Quad bound = certificate_of(sample).bound;
    ASSERT_TRUE(bound <= exact) << seed;
    ASSERT_TRUE(bound >= exact * (Quad{1} - Quad{1e-11})) << seed;
  }
}

TEST(Certify, NeverExceedsTheOptimumOfSquaresBelowTheNormalNumbers) {
  for (const double weight : {1e100, 1e150})
    for (int step = 0; step < 70; ++step) {
      const double value = 1.5e-162 * std::pow(1.07, step);
      Sample sample{Matrix<double>(2, 1), {weight, weight}, {0, 0}, 1};
      sample.points(0, 0) = 0;
      sample.points(1, 0) = value;
      const Quad optimum = Quad{weight} * value * value / 2;
      EXPECT_TRUE(Quad{certificate_of(sample).bound} <= optimum) << value << ", weight " << weight;
    }
}

TEST(Certify, SumsOfEigenvaluesAreAboveRayleighQuotients) {
  for (int seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const std::int64_t d = 2 + seed % 9;
    std::vector<double> matrix(static_cast<std::size_t>(d * d));
    for (int term = 0; term < 1 + seed % 12; ++term) {
      std::vector<double> vector;
      for (std::int64_t column = 0; column < d; ++column) vector.push_back(static_cast<double>(random() % 201) - 100);
      for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j)
          matrix[static_cast<std::size_t>(i * d + j)] +=
              vector[static_cast<std::size_t>(i)] * vector[static_cast<std::size_t>(j)];
    }
    std::vector<Quad> direction(static_cast<std::size_t>(d), Quad{1});
    Quad quotient = 0;
    Quad trace = 0;
    for (std::int64_t i = 0; i < d; ++i) trace += Quad{matrix[static_cast<std::size_t>(i * d + i)]};
    for (int step = 0; step < 400; ++step) {
      std::vector<Quad> image(static_cast<std::size_t>(d));
      Quad product = 0;
      Quad squares = 0;
      for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < d; ++j)
          image[static_cast<std::size_t>(i)] +=
              Quad{matrix[static_cast<std::size_t>(i * d + j)]} * direction[static_cast<std::size_t>(j)];
        product += image[static_cast<std::size_t>(i)] * direction[static_cast<std::size_t>(i)];
        squares += direction[static_cast<std::size_t>(i)] * direction[static_cast<std::size_t>(i)];
      }
      quotient = product / squares;
      for (std::int64_t i = 0; i < d; ++i)
        direction[static_cast<std::size_t>(i)] = image[static_cast<std::size_t>(i)] / squares / (trace + 1);
    }
    for (const bool diagonalize : {false, true}) {
      const std::vector<double> sums = kmeans_detail::sums_of_largest_eigenvalues(matrix, d, 0, diagonalize);
      ASSERT_EQ(std::ssize(sums), d + 1);
      ASSERT_TRUE(Quad{sums[1]} >= quotient) << seed;
      ASSERT_TRUE(Quad{sums.back()} >= trace) << seed;
      for (std::int64_t p = 1; p <= d; ++p)
        ASSERT_GE(sums[static_cast<std::size_t>(p)], sums[static_cast<std::size_t>(p - 1)]);
      ASSERT_TRUE(!diagonalize || Quad{sums[1]} <= quotient * Quad{1.001}) << seed;
    }
  }
}

TEST(Certify, DoesNotDependOnThreads) {
  for (const std::int64_t k : {1, 3, 70}) {
    Sample sample = planted(9000, 5, k, 9, 1);
    for (std::int64_t row = 0; row < sample.points.rows(); ++row)
      sample.weights.push_back(1 + static_cast<double>(row % 7) / 3);
    const KMeansCertificate one = certificate_of(sample);
    EXPECT_GT(one.bound, 0);
    for (const int threads : {2, 3, 8}) {
      const KMeansCertificate many = certificate_of(sample, KMeansMetric::euclidean, threads);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(one.bound), std::bit_cast<std::uint64_t>(many.bound)) << threads;
      EXPECT_EQ(one.method, many.method);
    }
  }
}

TEST(Certify, NamesTheProof) {
  EXPECT_EQ(certificate_of(planted(400, 3, 3, 50, 1)).method, KMeansBound::groups);
  const Sample one = planted(400, 30, 3, 0, 1);
  EXPECT_EQ(certificate_of(one).method, KMeansBound::spectrum);
  EXPECT_LT(certificate_of(one).gap(static_cast<double>(inertia_of(one, one.labels))), 0.25);
  EXPECT_EQ(certificate_of(planted(400, 1, 3, 9, 1)).method, KMeansBound::one_column);
  EXPECT_EQ(certificate_of(planted(5, 2, 5, 9, 1)).method, KMeansBound::none);
}

TEST(Certify, PotentialsNeverExceedTheOptimumOfAllPartitions) {
  int positive = 0;
  for (const Kind& kind : kinds)
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const Sample sample = sample_of(kind, seed, 2);
      const kmeans_detail::GroupedRows rows = kmeans_detail::grouped_rows<double>(
          sample.points, sample.labels_view(), sample.weights_view(), sample.clusters, 1, {});
      const double budget = std::ldexp(1.0, 8 * static_cast<int>(seed % 4));
      const double bound = kmeans_detail::plane_bound(rows, sample.clusters, budget, 1, {});
      const double root = std::sqrt(bound) - std::sqrt(rows.moved);
      const Quad optimum = optimum_of(sample);
      ASSERT_TRUE(root < 0 ||
                  Quad{std::ldexp(root * root * (1 - 1e-15), 2 * rows.exponent + rows.weight_exponent)} <= optimum)
          << kind.name << " " << seed;
      positive += bound > 0 ? 1 : 0;
    }
  EXPECT_GT(positive, 150);
}

TEST(Certify, PotentialsBoundPointsThatFillASquare) {
  std::mt19937_64 random(3);
  Sample sample = planted(4000, 2, 4, 0, 1);
  for (std::int64_t row = 0; row < 4000; ++row)
    for (std::int64_t column = 0; column < 2; ++column) {
      sample.points(row, column) = static_cast<double>(random() % 65536);
      if (column == 0) sample.labels[static_cast<std::size_t>(row)] = 0;
      if (sample.points(row, column) > 32768) sample.labels[static_cast<std::size_t>(row)] += 1 << column;
    }
  const KMeansCertificate found = certificate_of(sample, KMeansMetric::euclidean, 1, 400);
  EXPECT_EQ(found.method, KMeansBound::potentials);
  EXPECT_LT(certificate_of(sample).bound, found.bound);
  EXPECT_EQ(certificate_of(sample, KMeansMetric::euclidean, 3, 400).bound, found.bound);
  EXPECT_LT(found.gap(static_cast<double>(inertia_of(sample, sample.labels))), 0.3);
  EXPECT_TRUE(Quad{found.bound} <= inertia_of(sample, sample.labels));
}

TEST(Certify, FollowsMetricAndStandardizationOfAFit) {
  const Sample sample = planted(600, 4, 4, 30, 5);
  Matrix<float> points(sample.points.rows(), sample.points.columns());
  for (std::int64_t row = 0; row < points.rows(); ++row)
    for (std::int64_t column = 0; column < points.columns(); ++column)
      points(row, column) = static_cast<float>(sample.points(row, column) * std::pow(10, column));
  for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine}) {
    Execution execution;
    execution.device = Device::cpu;
    const KMeansResult<float> fit =
        kmeans(points, {.clusters = 4, .restarts = 5, .metric = metric, .standardize = true}, execution);
    const KMeansCertificate found =
        kmeans_certify(kmeans_model(fit), points, std::as_const(fit.labels).view(), {}, execution);
    EXPECT_LE(found.bound, fit.inertia);
    EXPECT_LT(found.gap(fit.inertia), 0.1) << to_string(metric);
  }
}

TEST(Certify, ReturnsTheGap) {
  const KMeansCertificate none;
  EXPECT_EQ(none.gap(2), 1);
  EXPECT_EQ(none.gap(0), 0);
  const KMeansCertificate some{.bound = 3, .method = KMeansBound::groups, .report = {}};
  EXPECT_EQ(some.gap(4), 0.25);
  EXPECT_EQ(some.gap(3), 0);
}

TEST(Certify, RefusesBadArguments) {
  const Sample good = planted(20, 2, 3, 5, 1);
  Matrix<double> centroids(3, 2);
  std::fill_n(centroids.data(), 6, 1.0);
  const KMeansModel<double> model{std::as_const(centroids).view(), KMeansMetric::euclidean, {}};
  const auto certify = [&](const Sample& sample, const Execution& execution) {
    return kmeans_certify(model, sample.points, sample.labels_view(), sample.weights_view(), execution);
  };
  Sample label = planted(20, 2, 3, 5, 1);
  label.labels[4] = 3;
  EXPECT_TRUE(contains(error_of<InputError>([&] { certify(label, {}); }), "row 4"));
  Sample fewer = planted(20, 2, 3, 5, 1);
  fewer.labels.pop_back();
  EXPECT_TRUE(contains(error_of<InputError>([&] { certify(fewer, {}); }), "19 labels"));
  Sample nan = planted(20, 2, 3, 5, 1);
  nan.points(7, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(contains(error_of<InputError>([&] { certify(nan, {}); }), "row 7"));
  Sample negative = planted(20, 2, 3, 5, 1);
  negative.weights.assign(20, -1);
  EXPECT_TRUE(contains(error_of<InputError>([&] { certify(negative, {}); }), "negative"));
  const Sample wide = planted(20, 3, 3, 5, 1);
  EXPECT_TRUE(contains(error_of<InputError>([&] { certify(wide, {}); }), "column"));
  Execution gpu;
  gpu.device = Device::gpu;
  EXPECT_TRUE(contains(error_of<UnsupportedError>([&] { certify(good, gpu); }), "CPU"));
  Execution variant;
  variant.variant = "sequential";
  EXPECT_TRUE(contains(error_of<UnsupportedError>([&] { certify(good, variant); }), "variant"));
  Execution little;
  little.memory_limit = 100;
  EXPECT_TRUE(contains(error_of<OutOfMemoryError>([&] { certify(good, little); }), "memory"));
  std::stop_source source;
  source.request_stop();
  Execution stopped;
  stopped.stop = source.get_token();
  EXPECT_FALSE(error_of<InterruptedError>([&] { certify(good, stopped); }).empty());
}

}  // namespace
}  // namespace gradus
