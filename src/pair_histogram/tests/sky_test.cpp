// Tests of pair counts along a line of sight: exact numbers against 128-bit integers, threads and ranks, a stop
// request. python/tests/test_pair_counts.py compares counts with rationals.
#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>

#include "core/exact_sum.hpp"
#include "core/philox.hpp"
#include "gradus/pair_histogram_counts.hpp"
#include "pair_histogram/sky/exact_number.hpp"
#include "pair_histogram/sky/sky_rule.hpp"
#include "pair_histogram/tests/test_problems.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

using pair_histogram_detail::Dyadic;
using pair_histogram_detail::Estimate;
using pair_histogram_detail::Sign;

Sign sign_of(core::Int128 value) { return value > 0 ? Sign::positive : value < 0 ? Sign::negative : Sign::zero; }

TEST(Sky, ExactNumbersAgreeWithIntegers) {
  const core::Philox random(46);
  int unknown = 0;
  for (std::uint64_t number = 0; number < 20000; ++number) {
    double terms[4];
    for (std::uint64_t term = 0; term < 4; ++term) {
      const std::uint64_t bits = random.bits(4 * number + term);
      terms[term] = std::round(std::ldexp(static_cast<double>(bits >> 11), -static_cast<int>(12 + bits % 41))) *
                    (bits >> 63 != 0 ? 1 : -1);
    }
    if (number % 3 == 0) terms[2] = terms[0], terms[3] = terms[1];  // many values are near zero
    const auto integer = [&](int term) { return static_cast<core::Int128>(terms[term]); };
    const core::Int128 value = (integer(0) * integer(1) - integer(2) * integer(3)) * (number % 2 == 0 ? integer(0) : 1);
    const auto product = [&]<class Number>(Number) {
      const Number apart = Number(terms[0]) * Number(terms[1]) - Number(terms[2]) * Number(terms[3]);
      return number % 2 == 0 ? apart * Number(terms[0]) : apart;
    };
    EXPECT_EQ(product(Dyadic(0)).sign(), sign_of(value)) << number;
    const Sign quick = product(Estimate(0)).sign();
    unknown += quick == Sign::unknown ? 1 : 0;
    EXPECT_TRUE(quick == Sign::unknown || quick == sign_of(value)) << number;
    // Powers of two beyond the range of products in double leave the sign as it is.
    const Dyadic tiny = product(Dyadic(0)) * Dyadic(0x1p-1000) * Dyadic(0x1p-1000) + Dyadic(0);
    EXPECT_EQ(tiny.sign(), sign_of(value)) << number;
  }
  EXPECT_LT(unknown, 10000);
}

TEST(Sky, UnderflowIsNoticed) {
  const auto square = Estimate(0x1p-600) * Estimate(0x1p-600);
  EXPECT_EQ((square - Estimate(0)).sign(), Sign::unknown);
  EXPECT_EQ(Dyadic(0x1p-1074).sign(), Sign::positive);
  EXPECT_EQ((Dyadic(0x1p-1074) * Dyadic(0x1p-1074) - Dyadic(0)).sign(), Sign::positive);
}

struct SkyCase {
  PairCountsOptions options;
  bool is_cross;
};

std::vector<SkyCase> sky_cases() {
  std::vector<SkyCase> cases;
  for (const bool is_cross : {false, true})
    for (const bool has_box : {false, true})
      for (const PairCountsKind kind : {PairCountsKind::rp_pi, PairCountsKind::s_mu}) {
        SkyCase one{{.kind = kind, .edges = {0, 0.25, 0.5, 1, 2.5}, .second_edges = {0, 0.25, 0.5, 1}}, is_cross};
        one.options.line_of_sight = has_box ? LineOfSight::y : LineOfSight::midpoint;
        if (has_box) one.options.box = {10, 11, 12};
        cases.push_back(one);
      }
  return cases;
}

TEST(Sky, RanksAndThreadsCountTheSame) {
  const Matrix<double> points = tests::uniform(900, 3, 4);
  const Matrix<double> others = tests::uniform(500, 3, 5);
  const std::vector<double> weights(900, 1.5);
  const std::vector<double> other_weights(500, -0.1);
  std::vector<std::int32_t> regions;
  for (std::int32_t row = 0; row < 900; ++row) regions.push_back(row % 5);
  for (const SkyCase& one : sky_cases()) {
    PairCountsMemory<double> memory;
    memory.weights = weights;
    memory.regions = regions;
    if (one.is_cross) {
      memory.others = others.view();
      memory.other_weights = other_weights;
      memory.other_regions = VectorView<const std::int32_t>(regions.data(), 500);
    }
    const auto counted = [&](const Execution& execution) {
      return pair_counts(points.view(), one.options, memory, execution);
    };
    const PairCountsResult alone = counted({.threads = 1});
    EXPECT_EQ(alone.region_counts.size(), 5 * alone.counts.size());
    std::uint64_t all = 0;
    for (const std::uint64_t count : alone.counts) all += count;
    EXPECT_GT(all, 1000U);
    const auto expect_same = [&](const PairCountsResult& result) {
      EXPECT_EQ(result.counts, alone.counts);
      EXPECT_EQ(result.weighted, alone.weighted);
      EXPECT_EQ(result.region_counts, alone.region_counts);
      EXPECT_EQ(result.region_weighted, alone.region_weighted);
      EXPECT_EQ(result.report.rechecked, alone.report.rechecked);
    };
    for (const int threads : {2, 5}) expect_same(counted({.threads = threads}));
    for (const int size : {2, 3}) {
      tests::ThreadRanks ranks(size);
      const auto thrown = ranks.run([&](Communicator& communicator) {
        Execution execution{.threads = 1 + communicator.rank() % 2};
        execution.communicator = &communicator;
        expect_same(counted(execution));
      });
      for (const std::exception_ptr& each : thrown) EXPECT_FALSE(each);
    }
  }
}

// Clustered points, many of them on a lattice, so that separations are on edges. One cluster has more points than a
// list of the kernel.
Matrix<double> clusters() {
  Matrix<double> points = tests::uniform(1400, 3, 6);
  for (std::int64_t row = 0; row < points.rows(); ++row)
    for (std::int64_t column = 0; column < 3; ++column) {
      double& value = points(row, column);
      if (row < 1200) value = 6 + value / 8;
      if (row % 3 > 0) value = std::round(8 * value) / 8;
    }
  return points;
}

TEST(Sky, TheFilterCountsAsTheRule) {
  const Matrix<double> points = clusters();
  std::vector<double> many{0.125};
  for (int edge = 1; edge < 60; ++edge) many.push_back(0.125 + 0.07 * edge);
  const std::vector<std::vector<double>> first_edges{{0, 0.5, 1, 2, 5}, {0.25, 0.5, 1, 2, 4}, many};
  const std::vector<std::vector<double>> second_edges{
      {0, 0.25, 0.5, 0.75, 1}, {0.25, 0.5, 0.75}, {0, 0.125, 0.5, 1}, {0, 0.2, 0.4, 0.6000000001, 0.8, 1}};
  std::uint64_t cases = 0;
  for (const PairCountsKind kind : {PairCountsKind::rp_pi, PairCountsKind::s_mu})
    for (const bool has_box : {false, true})
      for (const LineOfSight sight : {LineOfSight::x, LineOfSight::z, LineOfSight::midpoint})
        for (const auto& edges : first_edges)
          for (const auto& seconds : second_edges) {
            const bool has_all = sight == LineOfSight::z && &edges == &first_edges[1] && &seconds == &second_edges[0];
            const std::int64_t rows = has_all ? points.rows() : 300;
            PairCountsOptions options{
                .kind = kind, .edges = edges, .second_edges = seconds, .line_of_sight = sight, .box = {}};
            if (has_box && sight == LineOfSight::midpoint) continue;
            if (has_box) options.box = {10, 10, 2 * edges.back()};  // bins reach half of the box
            const MatrixView<const double> some(points.data(), rows, 3);
            Matrix<double> wrapped(rows, 3);
            for (std::int64_t row = 0; row < rows; ++row)
              for (std::int64_t column = 0; column < 3; ++column)
                wrapped(row, column) = has_box
                                           ? std::fmod(some(row, column), options.box[static_cast<std::size_t>(column)])
                                           : some(row, column);
            if (sight == LineOfSight::midpoint)  // two points at the observer, and pairs on opposite sides
              for (std::int64_t row = 0; row < rows; ++row)
                for (std::int64_t column = 0; column < 3; ++column)
                  wrapped(row, column) =
                      row % 2 == 0 ? (row == 0 ? 0 : wrapped(row, column) - 3) : -wrapped(row - 1, column);
            const pair_histogram_detail::SkyRule rule(options);
            std::vector<std::uint64_t> slots(static_cast<std::size_t>(rule.bins.slots()));
            for (std::int64_t one = 0; one < rows; ++one)
              for (std::int64_t other = 0; other < one; ++other)
                ++slots[static_cast<std::size_t>(
                    rule.slot(rule.point(wrapped.view().row(one)), rule.point(wrapped.view().row(other))))];
            const PairCountsResult result = pair_counts(wrapped.view(), options);
            for (std::int64_t row = 0; row < result.rows; ++row)
              for (std::int64_t column = 0; column < result.columns; ++column)
                EXPECT_EQ(result.counts[static_cast<std::size_t>(row * result.columns + column)],
                          slots[static_cast<std::size_t>((row + 1) * rule.bins.places(1) + column + 1)])
                    << "case " << cases << ", bin " << row << ", " << column;
            ++cases;
          }
  EXPECT_EQ(cases, 120U);
}

// Lists of these points end within a vector, whose other lanes hold places of no point.
TEST(Sky, FewPointsAtTheObserver) {
  for (std::int64_t rows = 1; rows < 40; ++rows) {
    Matrix<double> points(rows, 3);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < 3; ++column)
        points(row, column) = row % 4 == 0 ? 0 : static_cast<double>((row * (column + 2) + column) % 5) - 2;
    const PairCountsOptions options{.kind = PairCountsKind::rp_pi,
                                    .edges = {0, 1, 2, 8},
                                    .second_edges = {0, 1, 2, 8},
                                    .line_of_sight = LineOfSight::midpoint,
                                    .box = {}};
    const pair_histogram_detail::SkyRule rule(options);
    std::vector<std::uint64_t> counts(9);
    for (std::int64_t one = 0; one < rows; ++one)
      for (std::int64_t other = 0; other < one; ++other) {
        const auto slot = rule.slot(rule.point(points.view().row(one)), rule.point(points.view().row(other)));
        const std::int64_t row = slot / rule.bins.places(1) - 1;
        const std::int64_t column = slot % rule.bins.places(1) - 1;
        if (row >= 0 && row < 3 && column >= 0 && column < 3) ++counts[static_cast<std::size_t>(row * 3 + column)];
      }
    EXPECT_EQ(pair_counts(points.view(), options).counts, counts) << rows << " rows";
  }
}

TEST(Sky, WeightsSumUpInEveryWay) {
  const Matrix<double> points = clusters();
  const PairCountsOptions options{.edges = {0, 1, 2}, .second_edges = {0, 1, 2}};
  const std::vector<std::int32_t> regions(1400, 0);
  // Sums of 2^13 products or more fit two words, also of signed weights; of some weights fewer fit; some have a wide
  // range.
  for (const int bits : {5, 40, 53, 57, 62, 300}) {
    std::vector<double> weights(1400);
    for (std::size_t row = 0; row < weights.size(); ++row)
      weights[row] = (row % 7 == 0 ? -1.0 : 1.0) *
                     std::ldexp(1.0 + std::ldexp(static_cast<double>(row % 32), -5), row % 2 == 0 ? 0 : 5 - bits);
    PairCountsMemory<double> memory;
    memory.weights = weights;
    const std::vector<double> sums = pair_counts(points.view(), options, memory).weighted;
    memory.regions = regions;  // one pair at a time
    EXPECT_EQ(pair_counts(points.view(), options, memory).region_weighted, sums) << bits;
    EXPECT_GT(std::abs(sums[0]), 1000);
  }
}

TEST(Sky, PowersOfTwoScaleTheDefinition) {
  // Separations on edges, above edges and below edges, on a lattice.
  Matrix<double> points(216, 3);
  for (std::int64_t row = 0; row < 216; ++row)
    for (std::int64_t column = 0; column < 3; ++column)
      points(row, column) = static_cast<double>(column == 0 ? row % 6 : column == 1 ? row / 6 % 6 : row / 36) + 1;
  for (const bool is_mu : {false, true})
    for (const LineOfSight sight : {LineOfSight::z, LineOfSight::midpoint}) {
      const auto counts = [&](int exponent) {
        const double unit = std::ldexp(1.0, exponent);
        Matrix<double> scaled(216, 3);
        for (std::int64_t index = 0; index < 648; ++index) scaled.data()[index] = points.data()[index] * unit;
        PairCountsOptions options{.kind = is_mu ? PairCountsKind::s_mu : PairCountsKind::rp_pi,
                                  .edges = {0, unit, 2 * unit, 3 * unit, 5 * unit},
                                  .line_of_sight = sight};
        options.second_edges = is_mu ? std::vector<double>{0, 0.25, 0.5, 1} : options.edges;
        return pair_counts(scaled.view(), options).counts;
      };
      const std::vector<std::uint64_t> wanted = counts(0);
      for (const int exponent : {-959, -900, -600, -540, -500, 300}) EXPECT_EQ(counts(exponent), wanted) << exponent;
      EXPECT_THROW(counts(-1000), UsageError);
    }
}

TEST(Sky, FarPointsTakeNoMemory) {
  Matrix<double> points(4, 3);
  points(1, 0) = 1;
  for (std::int64_t column = 0; column < 3; ++column) points(2, column) = 1e120;
  points(3, 1) = -1e120;
  Execution small;
  small.memory_limit = 10 << 20;
  EXPECT_EQ(pair_counts(points.view(), {.edges = {0, 1e-12}, .second_edges = {0, 1e-12}}, {}, small).pairs, 6U);
}

TEST(Sky, RanksMustPassTheSameArguments) {
  const Matrix<double> points = tests::uniform(50, 3, 4);
  const std::string message = tests::common_error<UsageError>(2, [&](Communicator& communicator) {
    Execution execution{.threads = 1};
    execution.communicator = &communicator;
    PairCountsOptions options{.edges = {0, 1}, .second_edges = {0, 1}};
    options.edges[1] += communicator.rank();
    (void)pair_counts(points.view(), options, {}, execution);
  });
  EXPECT_NE(message.find("edges"), std::string::npos) << message;
}

TEST(Sky, StopsAndRefusesTooMuchMemory) {
  const Matrix<double> points = tests::uniform(2000, 3, 4);
  const PairCountsOptions options{.edges = {0, 5}, .second_edges = {0, 5}};
  std::stop_source stop;
  stop.request_stop();
  Execution execution;
  execution.stop = stop.get_token();
  EXPECT_THROW((void)pair_counts(points.view(), options, {}, execution), InterruptedError);
  Execution small;
  small.memory_limit = 1000;
  EXPECT_THROW((void)pair_counts(points.view(), options, {}, small), OutOfMemoryError);
}

}  // namespace
}  // namespace gradus
