// The exact assignment to clusters of limited size, compared with all assignments of small problems.
#include "kmeans/sizes/transport.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/exact_sum.hpp"
#include "gradus/error.hpp"
#include "kmeans/sizes/wide_integer.hpp"

namespace gradus::kmeans_detail {
namespace {

/// A distance coarse + fine * 2^-900. At most one of the numbers is positive, so the distance is a double.
struct TwoScales {
  std::int64_t coarse = 0;
  std::int64_t fine = 0;

  double value() const { return static_cast<double>(coarse) + std::ldexp(static_cast<double>(fine), -900); }
  friend TwoScales operator+(TwoScales a, TwoScales b) { return {a.coarse + b.coarse, a.fine + b.fine}; }
  friend auto operator<=>(const TwoScales&, const TwoScales&) = default;
};

struct Case {
  std::int64_t points = 0;
  std::int64_t clusters = 0;
  std::vector<TwoScales> distances;  ///< points x clusters
  SizeLimits sizes;
  std::vector<double> prices;
};

Case random_case(std::mt19937_64& random, bool two_scales) {
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Case one;
  one.clusters = draw(1, 4);
  one.points = draw(one.clusters, one.clusters == 4 ? 7 : 8);
  const std::int64_t highest = draw(0, 3) == 0 ? 1000000 : draw(1, 6);  // few values: many ties
  for (std::int64_t index = 0; index < one.points * one.clusters; ++index) {
    const bool is_fine = two_scales && draw(0, 1) == 0;
    one.distances.push_back({is_fine ? 0 : draw(0, highest), is_fine ? draw(0, highest) : 0});
  }
  one.sizes = {draw(0, one.points / one.clusters), draw((one.points + one.clusters - 1) / one.clusters, one.points)};
  for (std::int64_t cluster = 0; cluster < one.clusters; ++cluster)
    one.prices.push_back(static_cast<double>(draw(-3, 3)) * (draw(0, 1) == 0 ? 0.0 : 0.75));
  return one;
}

OpenPoints all_pairs(const Case& one) {
  OpenPoints open;
  for (std::int64_t point = 0; point < one.points; ++point) {
    open.points.push_back(point);
    for (std::int64_t cluster = 0; cluster < one.clusters; ++cluster) {
      open.clusters.push_back(static_cast<std::int32_t>(cluster));
      open.distances.push_back(one.distances[static_cast<std::size_t>(point * one.clusters + cluster)].value());
    }
    open.begins.push_back(std::ssize(open.clusters));
  }
  return open;
}

std::vector<double> any_width(const Case& one) {
  return std::vector<double>(static_cast<std::size_t>(one.clusters), std::numeric_limits<double>::infinity());
}

/// Returns the lexicographically least minimal assignment by trying all assignments.
std::optional<std::vector<std::int32_t>> by_enumeration(const Case& one) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(one.points), 0);
  std::optional<std::vector<std::int32_t>> best;
  TwoScales least;
  for (;;) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(one.clusters), 0);
    TwoScales sum;
    for (std::size_t point = 0; point < labels.size(); ++point) {
      ++counts[static_cast<std::size_t>(labels[point])];
      sum =
          sum + one.distances[point * static_cast<std::size_t>(one.clusters) + static_cast<std::size_t>(labels[point])];
    }
    bool is_allowed = true;
    for (const std::int64_t count : counts) is_allowed &= count >= one.sizes.least && count <= one.sizes.most;
    if (is_allowed && (!best || sum < least)) {
      best = labels;
      least = sum;
    }
    std::size_t place = labels.size();
    while (place > 0 && ++labels[place - 1] == one.clusters) labels[--place] = 0;
    if (place == 0) return best;
  }
}

template <class Integer>
void check(const Case& one, const std::string& where) {
  const OpenPoints open = all_pairs(one);
  const std::vector<std::int64_t> settled(static_cast<std::size_t>(one.clusters), 0);
  const std::vector<double> widths = any_width(one);
  const Transport transport{open, settled, one.sizes, one.prices, widths};
  ExactPrices<Integer> certificate;
  const std::optional<TransportSolution> solution = solve_with<Integer>(transport, {}, &certificate);
  ASSERT_TRUE(solution && solution->labels) << where;
  EXPECT_EQ(*solution->labels, *by_enumeration(one)) << where;
  // The certificate accepts exactly the minimal assignments among those that differ in one label, or by an exchange.
  const auto cost = [&](const std::vector<std::int32_t>& labels) {
    TwoScales sum;
    for (std::size_t point = 0; point < labels.size(); ++point)
      sum =
          sum + one.distances[point * static_cast<std::size_t>(one.clusters) + static_cast<std::size_t>(labels[point])];
    return sum;
  };
  const auto is_allowed = [&](const std::vector<std::int32_t>& labels) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(one.clusters), 0);
    for (const std::int32_t label : labels) ++counts[static_cast<std::size_t>(label)];
    for (const std::int64_t count : counts)
      if (count < one.sizes.least || count > one.sizes.most) return false;
    return true;
  };
  const std::vector<std::int32_t>& right = *solution->labels;
  const auto expect_judged = [&](const std::vector<std::int32_t>& labels) {
    EXPECT_EQ(is_certified(transport, labels, certificate), is_allowed(labels) && cost(labels) == cost(right)) << where;
  };
  for (std::size_t a = 0; a < right.size(); ++a) {
    std::vector<std::int32_t> wrong = right;
    for (wrong[a] = 0; wrong[a] < one.clusters; ++wrong[a]) expect_judged(wrong);
    for (std::size_t b = 0; b < a; ++b) {
      wrong = right;
      std::swap(wrong[a], wrong[b]);
      expect_judged(wrong);
    }
  }
}

TEST(Transport, EqualsTheBestOfAllAssignments) {
  std::mt19937_64 random(45);
  for (int index = 0; index < 1500; ++index) {
    const Case one = random_case(random, false);
    check<core::Int128>(one, "case " + std::to_string(index));
    if (index % 10 == 0) check<WideInteger>(one, "wide case " + std::to_string(index));
  }
}

TEST(Transport, IsExactForDistancesOfAnyScale) {
  std::mt19937_64 random(46);
  for (int index = 0; index < 300; ++index) {
    const Case one = random_case(random, true);
    check<WideInteger>(one, "case " + std::to_string(index));
  }
}

TEST(Transport, UsesLongIntegersForDistantScales) {
  Case one{2, 2, {{1, 0}, {2, 0}, {0, 1}, {3, 0}}, {1, 1}, {0, 0}};
  const OpenPoints open = all_pairs(one);
  const std::vector<std::int64_t> settled(2, 0);
  const std::vector<double> widths = any_width(one);
  const Transport transport{open, settled, one.sizes, one.prices, widths};
  EXPECT_FALSE(solve_with<core::Int128>(transport, {}));
  EXPECT_EQ(*solve(transport, {}).labels, (std::vector<std::int32_t>{1, 0}));
}

// Prices move to the solution in steps of at most the width, and no solution is accepted before.
TEST(Transport, MovesPricesInTheirIntervals) {
  std::mt19937_64 random(48);
  int steps = 0;
  for (int index = 0; index < 300; ++index) {
    const Case one = random_case(random, false);
    const OpenPoints open = all_pairs(one);
    const std::vector<std::int64_t> settled(static_cast<std::size_t>(one.clusters), 0);
    std::vector<double> widths(settled.size(), 0.5);
    std::vector<double> prices = one.prices;
    for (;;) {
      ExactPrices<core::Int128> certificate;
      const Transport transport{open, settled, one.sizes, prices, widths};
      const TransportSolution solution = *solve_with(transport, {}, &certificate);
      ++steps;
      for (std::size_t cluster = 0; cluster < widths.size(); ++cluster) {
        EXPECT_LE(std::abs(solution.changes[cluster]), widths[cluster]);
        if (solution.at_limit[cluster]) widths[cluster] *= 2;
      }
      if (solution.labels) {
        EXPECT_EQ(*solution.labels, *by_enumeration(one)) << index;
        // The same labels are not certified if a price had to leave its interval.
        const std::vector<double> narrow(widths.size(), 0.0);
        bool has_moved = false;
        for (const double change : solution.changes) has_moved |= change != 0;
        EXPECT_EQ(is_certified(Transport{open, settled, one.sizes, prices, narrow}, *solution.labels, certificate),
                  !has_moved);
        break;
      }
      prices = solution.prices;
    }
  }
  EXPECT_GT(steps, 500);
}

TEST(Transport, ReportsLimitsThatNoAssignmentMeets) {
  const Case one{3, 2, {{1, 0}, {2, 0}, {1, 0}, {3, 0}, {1, 0}, {3, 0}}, {0, 1}, {0, 0}};
  const OpenPoints open = all_pairs(one);
  const std::vector<std::int64_t> settled(2, 0);
  EXPECT_THROW(solve({open, settled, one.sizes, one.prices, any_width(one)}, {}), Error);
}

/// A sum of two powers of two, as a WideInteger and as a 128-bit integer, gives the same order and the same difference.
TEST(WideInteger, AgreesWithIntegersOf128Bits) {
  std::mt19937_64 random(47);
  const auto draw = [&] { return static_cast<std::int64_t>(random()) >> (random() % 60); };
  for (int index = 0; index < 5000; ++index) {
    const std::int64_t a = draw();
    const std::int64_t b = draw();
    const int shift = static_cast<int>(random() % 62);
    const core::Int128 first = (static_cast<core::Int128>(a) * (core::Int128{1} << shift)) + b;
    const core::Int128 second = (static_cast<core::Int128>(b) * (core::Int128{1} << shift)) - a;
    const WideInteger wide_first = WideInteger(a, shift) + WideInteger(b, 0);
    const WideInteger wide_second = WideInteger(b, shift) - WideInteger(a, 0);
    EXPECT_EQ(first < second, wide_first < wide_second);
    EXPECT_EQ(first == second, wide_first == wide_second);
    const core::Int128 difference = first - second;
    const WideInteger wide = wide_first - wide_second;
    EXPECT_EQ(wide.bits()[0], static_cast<std::uint64_t>(difference));
    EXPECT_EQ(wide.bits()[1], static_cast<std::uint64_t>(difference >> 64));
    EXPECT_EQ(wide.is_negative(), difference < 0);
    const WideInteger high(a, shift + 2000);
    EXPECT_EQ(high < WideInteger(b, shift + 2000), a < b);
  }
}

}  // namespace
}  // namespace gradus::kmeans_detail
