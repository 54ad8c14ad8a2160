// Tests that the 8-bit copy never changes an initial centroid. On thousands of random problems, with any number of
// threads, the choice must be the same as with the plain cover (seeding/cover.hpp).
#include "kmeans/seeding/initialize.hpp"
#include "kmeans/tests/job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cpu/forced_target.hpp"
#include "kmeans/assign/integer_filter.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/seeding/byte_rows.hpp"
#include "kmeans/seeding/short_rows.hpp"

namespace gradus::kmeans_detail {
namespace {

using Random = std::mt19937_64;

std::int64_t between(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

double normal(Random& random) { return std::normal_distribution<double>()(random); }
double uniform(Random& random) { return std::uniform_real_distribution<double>(-1, 1)(random); }

/// The largest and the smallest exponent of the values. Even with the largest exponent, squared distances do not
/// overflow.
template <class T>
constexpr int highest_exponent = sizeof(T) == 4 ? 120 : 490;
template <class T>
constexpr int lowest_exponent = sizeof(T) == 4 ? -149 : -1074;

#ifdef GRADUS_SANITIZED
constexpr std::uint64_t problems = 52;
#else
constexpr std::uint64_t problems = 1040;  // number of problems for each element type
#endif

const char* const kinds[] = {"uniform",   "normal",          "separated blobs",  "few different rows", "lattice",
                             "one pair",  "huge offsets",    "denormal",         "whole range",        "range by row",
                             "one giant", "range by column", "close next to far"};
constexpr std::int64_t kind_count = std::size(kinds);

template <class T>
Matrix<T> points_of(Random& random, std::int64_t kind, std::int64_t n, std::int64_t d) {
  Matrix<T> points(n, d);
  const std::int64_t different = between(random, 1, 12);
  std::vector<double> centres(static_cast<std::size_t>(different * d));
  for (double& coordinate : centres) coordinate = 100 * normal(random);
  const auto power = [&](int least, int most) {
    return std::ldexp(1.0, static_cast<int>(between(random, least, most)));
  };
  const double offset = power(20, sizeof(T) == 4 ? 60 : 200);
  std::vector<double> columns;
  for (std::int64_t dim = 0; dim < d; ++dim) columns.push_back(power(lowest_exponent<T>, highest_exponent<T>));
  for (std::int64_t row = 0; row < n; ++row) {
    const double scale = power(lowest_exponent<T>, highest_exponent<T>);
    for (std::int64_t dim = 0; dim < d; ++dim) {
      double value = 0;
      switch (kind) {
        case 0: value = uniform(random); break;
        case 1: value = normal(random); break;
        case 2: value = centres[static_cast<std::size_t>(row % different * d + dim)] + 1e-3 * normal(random); break;
        case 3: value = centres[static_cast<std::size_t>(row % different * d + dim)]; break;
        case 4: value = static_cast<double>(between(random, 0, 2)); break;
        case 5: value = row == 0 || dim > 0 ? 1.0 : 1.0 + (row % 2 == 0 ? 0x1p-20 : 0.0); break;
        case 6:
          value = offset * (1 + static_cast<double>(between(random, 0, 7)) * std::numeric_limits<T>::epsilon());
          break;
        case 7: value = std::ldexp(static_cast<double>(between(random, -9, 9)), lowest_exponent<T>); break;
        case 8: value = uniform(random) * power(lowest_exponent<T>, highest_exponent<T>); break;
        case 9: value = uniform(random) * scale; break;
        case 10: value = row == n / 2 ? std::ldexp(uniform(random), highest_exponent<T>) : uniform(random); break;
        case 11: value = uniform(random) * columns[static_cast<std::size_t>(dim)]; break;
        default:
          value = centres[static_cast<std::size_t>(row % different * d + dim)] *
                  (1 + static_cast<double>(between(random, -2, 2)) * std::numeric_limits<T>::epsilon());
      }
      points(row, dim) = static_cast<T>(value);
    }
  }
  return points;
}

template <class T>
std::vector<T> weights_of(Random& random, std::int64_t n) {
  const std::int64_t kind = between(random, 0, 5);
  std::vector<T> weights;
  for (std::int64_t row = 0; row < n && kind < 4; ++row) switch (kind) {
      case 0: weights.push_back(static_cast<T>(between(random, 0, 3))); break;
      case 1: weights.push_back(static_cast<T>(std::abs(normal(random)))); break;
      case 2: {
        const auto exponent = static_cast<int>(between(random, lowest_exponent<T>, highest_exponent<T>));
        weights.push_back(static_cast<T>(std::ldexp(1.0, exponent)));
        break;
      }
      default: weights.push_back(row == n / 3 ? T{1} : static_cast<T>(0x1p-30));
    }
  return weights;
}

template <class T>
std::string chosen(MatrixView<const T> points, const std::vector<T>& weights, KMeansInit init, std::int64_t k,
                   std::uint64_t seed, int threads, SeedingFilter filter) {
  KMeansJob<T> options;
  options.clusters = k;
  options.init = init;
  options.seed = seed;
  if (seed % 2 == 0) accept_coinciding_points(options);
  options.weights = {weights.data(), static_cast<std::int64_t>(weights.size())};
  Execution execution;
  execution.threads = threads;
  std::string bytes;
  try {
    const Matrix<T> found =
        initialize<T>(HostPoints<T>(points, options.weights, threads), options, {}, execution, 0, {filter}).centroids;
    bytes.assign(reinterpret_cast<const char*>(found.data()),
                 static_cast<std::size_t>(found.rows() * found.columns()) * sizeof(T));
  } catch (const InputError& error) {
    bytes = error.what();
  }
  return bytes;
}

template <class T>
class FirstCentroids : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FirstCentroids, Types);

TYPED_TEST(FirstCentroids, AreThoseOfThePlainPath) {
  using T = TypeParam;
  const std::vector<std::int64_t> targets = cpu::compiled_targets();
  for (std::uint64_t problem = 0; problem < problems; ++problem) {
    Random random(problem);
    const auto kind = static_cast<std::int64_t>(problem) % kind_count;
    const std::int64_t d = problem % 5 == 0 ? between(random, 1, 8) : between(random, 9, 200);
    // Only problems with enough work use several threads.
    const bool large = problem % 32 == 31;
    const std::int64_t n = large ? std::min<std::int64_t>(400000 / d, 6000) : between(random, 1, 400);
    const std::int64_t k = between(random, 1, std::min<std::int64_t>(n, problem % 7 == 0 && !large ? n : 24));
    const Matrix<T> points = points_of<T>(random, kind, n, d);
    const std::vector<T> weights = weights_of<T>(random, n);
    for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
      const std::string expected = chosen<T>(points.view(), weights, init, k, problem, 1, SeedingFilter::never);
      for (const int threads : {1, 2, 5}) {
        if (threads > 1 && !large) continue;
        const cpu::ForcedTarget forced(targets[problem % targets.size()]);
        dot_instructions_allowed = problem % 3 != 0;
        short_rows_always = problem % 4 < 2;
        for (const SeedingFilter filter : {SeedingFilter::always, SeedingFilter::dense})
          ASSERT_TRUE(chosen<T>(points.view(), weights, init, k, problem, threads, filter) == expected)
              << "problem " << problem << ": " << kinds[kind] << ", " << n << " x " << d << ", k " << k << ", init "
              << static_cast<int>(init) << ", " << threads << " threads, weights " << weights.size() << ", filter "
              << static_cast<int>(filter);
        dot_instructions_allowed = true;
        short_rows_always = false;
      }
    }
  }
}

// Tests the bound itself: if a candidate is excluded, its canonical distance must not be below the limit, not even by
// one ulp.
TYPED_TEST(FirstCentroids, WhatIsRuledOutIsNotNearer) {
  using T = TypeParam;
  const std::vector<std::int64_t> targets = cpu::compiled_targets();
  std::int64_t ruled_out = 0;
  std::int64_t all = 0;
  for (std::uint64_t problem = 0; problem < problems; ++problem) {
    Random random(problem);
    const auto kind = static_cast<std::int64_t>(problem) % kind_count;
    const std::int64_t n = between(random, 1, 100);
    const std::int64_t d = between(random, 1, 150);
    const Matrix<T> points = points_of<T>(random, kind, n, d);
    const cpu::ForcedTarget forced(targets[problem % targets.size()]);
    dot_instructions_allowed = problem % 3 != 0;
    ByteRows<T> rows(points.view());
    dot_instructions_allowed = true;
    std::vector<float> scratch(static_cast<std::size_t>(ByteRows<T>::scratch_floats(d)));
    for (std::int64_t panel = 0; panel < rows.panels(); ++panel) rows.copy_panel(panel, scratch.data());
    std::vector<const T*> candidates;
    for (std::int64_t index = between(random, 1, 40); index > 0; --index)
      candidates.push_back(std::as_const(points).row(between(random, 0, n - 1)));
    ByteTrials trials;
    trials.make(rows, std::span<const T* const>(candidates));
    const auto distance = [&](std::int64_t row, std::size_t candidate) {
      return squared_distance(std::as_const(points).row(row), candidates[candidate], d);
    };
    // The limit of a row is its distance to some candidate: unchanged, one ulp larger, one ulp smaller, or halved.
    std::vector<double> limits;
    for (std::int64_t row = 0; row < n; ++row) {
      double limit = distance(row, static_cast<std::size_t>(between(random, 0, trials.count() - 1)));
      switch (between(random, 0, 3)) {
        case 0: limit = std::nextafter(limit, std::numeric_limits<double>::infinity()); break;
        case 1: limit = std::nextafter(limit, 0.0); break;
        case 2: limit *= 0.5; break;
        default: break;
      }
      limits.push_back(limit);
      rows.set_limit(row, limit);
    }
    ByteScratch scratch_of_look;
    scratch_of_look.make(trials.count());
    const std::vector<Undecided>& undecided = scratch_of_look.undecided;
    for (std::int64_t panel = 0; panel < rows.panels(); ++panel)
      for (const bool nearest : {false, true}) {
        const std::int64_t found = nearest ? rows.find_nearest(trials, panel, scratch_of_look)
                                           : rows.find_nearer(trials, panel, scratch_of_look);
        for (std::int64_t row = 32 * panel; row < std::min(32 * panel + 32, n); ++row) {
          double least = limits[static_cast<std::size_t>(row)];
          for (std::size_t candidate = 0; nearest && candidate < candidates.size(); ++candidate)
            least = std::min(least, distance(row, candidate));
          for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
            const bool is_open = std::any_of(undecided.begin(), undecided.begin() + found, [&](const Undecided& each) {
              return each.candidate == static_cast<std::int32_t>(candidate) && (each.points >> row % 32 & 1) != 0;
            });
            ++all;
            ruled_out += !is_open;
            if (is_open) continue;
            // A candidate may be excluded if its distance is not below the limit. find_nearest() may also exclude a
            // candidate if some other candidate is nearer.
            const double mine = distance(row, candidate);
            const bool right = nearest ? mine > least || mine >= limits[static_cast<std::size_t>(row)]
                                       : mine >= limits[static_cast<std::size_t>(row)];
            ASSERT_TRUE(right) << "problem " << problem << ": " << kinds[kind] << ", row " << row << ", candidate "
                               << candidate << ", nearest " << nearest;
          }
        }
      }
  }
  // If only few candidates were excluded, the test would check almost nothing.
  EXPECT_GT(ruled_out, all / 10) << "of " << all;
}

// Tests the bound of short rows: if a candidate is excluded, its canonical distance must not be below the limit.
TYPED_TEST(FirstCentroids, WhatShortRowsExcludeIsNotNearer) {
  using T = TypeParam;
  const std::vector<std::int64_t> targets = cpu::compiled_targets();
  std::int64_t excluded = 0;
  std::int64_t all = 0;
  short_rows_always = true;
  for (std::uint64_t problem = 0; problem < problems; ++problem) {
    Random random(problem);
    const auto kind = static_cast<std::int64_t>(problem) % kind_count;
    const std::int64_t n = between(random, 1, 100);
    const std::int64_t d = between(random, 1, 150);
    const Matrix<T> points = points_of<T>(random, kind, n, d);
    const cpu::ForcedTarget forced(targets[problem % targets.size()]);
    const ByteRows<T> bytes(points.view());
    const auto rows = ShortRows<T>::make(points.view(), bytes, 1, {});
    if (!rows) continue;
    std::vector<const T*> candidates;
    for (std::int64_t index = between(random, 1, 20); index > 0; --index)
      candidates.push_back(std::as_const(points).row(between(random, 0, n - 1)));
    if (!rows->take(candidates)) continue;
    const auto distance = [&](std::int64_t row, std::size_t candidate) {
      return squared_distance(std::as_const(points).row(row), candidates[candidate], d);
    };
    std::vector<double> limits;
    for (std::int64_t row = 0; row < n; ++row) {
      const auto candidate = static_cast<std::size_t>(between(random, 0, std::ssize(candidates) - 1));
      limits.push_back(std::nextafter(distance(row, candidate), problem % 2 == 0 ? 0.0 : 1e308));
      if (problem % 3 == 0) limits.back() *= 0.25;
      rows->set_limit(row, limits.back());
    }
    ByteScratch scratch;
    scratch.make(std::ssize(candidates));
    for (std::int64_t panel = 0; panel < bytes.panels(); ++panel) {
      const std::int64_t found = rows->find_nearer(panel, scratch);
      std::vector<std::uint32_t> open(candidates.size());
      for (std::int64_t index = 0; index < found; ++index) {
        const Undecided& each = scratch.undecided[static_cast<std::size_t>(index)];
        open[static_cast<std::size_t>(each.candidate)] |= each.points;
      }
      for (std::int64_t row = 32 * panel; row < std::min(32 * panel + 32, n); ++row)
        for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate, ++all) {
          if ((open[candidate] >> row % 32 & 1) != 0) continue;
          ++excluded;
          ASSERT_GE(distance(row, candidate), limits[static_cast<std::size_t>(row)])
              << "problem " << problem << ": " << kinds[kind] << ", row " << row << ", candidate " << candidate;
        }
    }
  }
  short_rows_always = false;
  // If only few candidates were excluded, the test would check almost nothing.
  EXPECT_GT(excluded, all / 10) << "of " << all;
}

// Tests the search for the nearest of a few candidates, with one byte and with two bytes per coordinate. A candidate at
// the smallest canonical distance must never be excluded. So if a row is settled, the only remaining candidate must be
// the nearest.
TYPED_TEST(FirstCentroids, WhatIsSettledIsTheNearest) {
  using T = TypeParam;
  const std::vector<std::int64_t> targets = cpu::compiled_targets();
  std::int64_t settled = 0, settled_by_two = 0, looked_at_twice = 0, all = 0;
  for (std::uint64_t problem = 0; problem < problems; ++problem) {
    Random random(problem);
    const auto kind = static_cast<std::int64_t>(problem) % kind_count;
    const std::int64_t n = between(random, 1, 100);
    const std::int64_t d = between(random, 1, 150);
    const Matrix<T> points = points_of<T>(random, kind, n, d);
    const cpu::ForcedTarget forced(targets[problem % targets.size()]);
    dot_instructions_allowed = problem % 3 != 0;
    ByteRows<T> rows(points.view());
    dot_instructions_allowed = true;
    std::vector<float> scratch(static_cast<std::size_t>(ByteRows<T>::scratch_floats(d)));
    for (std::int64_t panel = 0; panel < rows.panels(); ++panel) rows.copy_panel(panel, scratch.data());
    if (problem % 5 != 0) rows.make_rests();
    // The candidates are points or means of two points. The means are close to each other.
    const std::int64_t count = between(random, 1, few_candidates);
    Matrix<T> centroids(count, d);
    for (std::int64_t cluster = 0; cluster < count; ++cluster) {
      const std::int64_t first = between(random, 0, n - 1);
      const std::int64_t second = problem % 2 == 0 ? first : between(random, 0, n - 1);
      for (std::int64_t dim = 0; dim < d; ++dim)
        centroids(cluster, dim) = points(first, dim) / 2 + points(second, dim) / 2;
    }
    std::vector<const T*> candidates;
    for (std::int64_t cluster = 0; cluster < count; ++cluster)
      candidates.push_back(std::as_const(centroids).row(cluster));
    ByteTrials trials;
    trials.make(rows, std::span<const T* const>(candidates));
    ByteScratch of_look;
    of_look.make(count);
    for (std::int64_t panel = 0; panel < rows.panels(); ++panel)
      for (const bool again : {false, true}) {
        std::int32_t labels[ByteRows<T>::panel_rows];
        const std::uint32_t open = rows.settle(trials, panel, of_look, labels);
        for (std::int64_t row = 32 * panel; row < std::min(32 * panel + 32, n); ++row) {
          const auto distance = [&](std::int64_t cluster) {
            return squared_distance(std::as_const(points).row(row), std::as_const(centroids).row(cluster), d);
          };
          double least = distance(0);
          for (std::int64_t cluster = 1; cluster < count; ++cluster) least = std::min(least, distance(cluster));
          const bool is_open = (open >> row % 32 & 1) != 0;
          std::vector<std::int32_t> left;
          for (std::int32_t cluster = 0; cluster < static_cast<std::int32_t>(count); ++cluster)
            if ((of_look.open[static_cast<std::size_t>(cluster)] >> row % 32 & 1) != 0) left.push_back(cluster);
          ASSERT_EQ(is_open, left.size() > 1);
          ASSERT_TRUE(is_open || left.front() == labels[row % 32]);
          if (is_open && rows.has_rest(row)) {
            ASSERT_TRUE(again);
            ++looked_at_twice;
            left.resize(static_cast<std::size_t>(
                rows.settle_row(trials, row, of_look, left.data(), static_cast<std::int64_t>(left.size()))));
            settled_by_two += left.size() == 1 ? 1 : 0;
          } else if (is_open) {
            rows.copy_rest(row, scratch.data());
          }
          ++all;
          settled += left.size() == 1 ? 1 : 0;
          for (std::int32_t cluster = 0; cluster < static_cast<std::int32_t>(count); ++cluster)
            ASSERT_TRUE(std::ranges::find(left, cluster) != left.end() || distance(cluster) > least)
                << "problem " << problem << ": " << kinds[kind] << ", row " << row << ", cluster " << cluster
                << ", again " << again;
        }
      }
  }
  // If only few rows were settled, the test would check almost nothing.
  EXPECT_GT(settled, all / 4) << "of " << all;
  EXPECT_GT(settled_by_two, looked_at_twice / 10) << "of " << looked_at_twice;
}

}  // namespace
}  // namespace gradus::kmeans_detail
