// Compares certificates with the optimum of all partitions, in quadruple precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gradus/kmeans_certify.hpp"
#include "kmeans/certify/eigenvalues.hpp"
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

KMeansCertificate certificate_of(const Sample& sample, KMeansMetric metric = KMeansMetric::euclidean, int threads = 1) {
  Matrix<double> centroids(sample.clusters, sample.points.columns());
  std::fill_n(centroids.data(), centroids.rows() * centroids.columns(), 1.0);
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  const KMeansModel<double> model{std::as_const(centroids).view(), metric, {}};
  return kmeans_certify(model, sample.points, sample.labels_view(), sample.weights_view(), execution);
}

/// Returns labels of Lloyd's algorithm, of one iteration, or random ones.
std::vector<std::int32_t> labels_for(const Sample& sample, std::uint64_t seed) {
  std::vector<std::int32_t> labels;
  if (seed % 4 == 0) {
    std::mt19937_64 random(seed);
    for (std::int64_t row = 0; row < sample.points.rows(); ++row)
      labels.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(sample.clusters)));
    return labels;
  }
  KMeansOptions options;
  options.clusters = sample.clusters;
  options.seed = seed;
  options.fewer_distinct = KMeansFewerDistinct::accept;
  if (seed % 4 == 1) options.max_iterations = 1;
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = 1;
  const KMeansResult<double> fit =
      kmeans(sample.points, options, KMeansMemory<double>{.weights = sample.weights_view()}, execution);
  labels.assign(fit.labels.data(), fit.labels.data() + fit.labels.size());
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
       return static_cast<double>(row / 3) * 4 + (r() % 8 == 0 ? 1 : 0);
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
    {"zero", [](std::mt19937_64&, std::int64_t, std::int64_t) { return 0.0; }, 1},
};

Sample sample_of(const Kind& kind, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Sample sample;
  const auto n = static_cast<std::int64_t>(3 + random() % 6);
  const auto d = static_cast<std::int64_t>(1 + random() % 4);
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

TEST(Certify, NeverExceedsTheOptimumOfAllPartitions) {
  constexpr int cases_of_a_kind = 800;
  for (const Kind& kind : kinds) {
    int positive = 0;
    int near = 0;
    for (int seed = 0; seed < cases_of_a_kind; ++seed) {
      const Sample sample = sample_of(kind, static_cast<std::uint64_t>(seed));
      const KMeansCertificate found = certificate_of(sample);
      const Quad optimum = optimum_of(sample);
      ASSERT_TRUE(Quad{found.bound} <= optimum)
          << kind.name << " " << seed << ": bound " << found.bound << ", optimum " << static_cast<double>(optimum);
      positive += found.bound > 0 ? 1 : 0;
      near += Quad{found.bound} > Quad{0.99} * optimum ? 1 : 0;
    }
    std::printf("%-14s positive %d, within 1 %%: %d\n", kind.name, positive, near);
  }
}

}  // namespace
}  // namespace gradus
