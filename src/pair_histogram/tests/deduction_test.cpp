// Tests which arguments the public functions accept as matrices and vectors. Concepts check which calls must not
// compile.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gradus/pair_histogram.hpp"
#include "tests/deduction.hpp"

namespace gradus {
namespace {

using tests::KindsOfMatrix;
using Rows = KindsOfMatrix::Rows;

template <class Points>
concept Counts = requires(const Points& points) {
  pair_histogram(points, PairHistogramOptions{});
};
template <class Points>
struct TakenByCounts {
  static constexpr bool value = Counts<Points>;
};
static_assert(tests::takes_matrices<TakenByCounts>());

PairHistogramOptions some_bins() {
  PairHistogramOptions options;
  options.bins = {.bin_width = 1.5, .bins = 6};
  return options;
}

TEST(PairHistogramCalls, TakeEachKindOfMatrix) {
  const Rows rows = KindsOfMatrix::rows();
  const PairHistogramResult expected =
      pair_histogram(MatrixView<const float>(rows.front().data(), KindsOfMatrix::n, KindsOfMatrix::d), some_bins());
  KindsOfMatrix::each([&](const auto& points) {
    const PairHistogramResult pairs = pair_histogram(points, some_bins());
    EXPECT_EQ(pairs.counts, expected.counts);
    EXPECT_EQ(pairs.pairs, expected.pairs);
  });
}

TEST(PairHistogramCalls, TakeRangesAsMemory) {
  const Rows rows = KindsOfMatrix::rows();
  const Rows first(rows.begin(), rows.begin() + 3);
  const std::vector<float> weights(rows.size(), 2.0F);
  const PairHistogramResult crossed = pair_histogram(
      rows, some_bins(), {.others = first, .weights = weights, .other_weights = std::span(weights).first(3)});
  EXPECT_EQ(crossed.pairs, rows.size() * 3);
  ASSERT_EQ(crossed.weighted.size(), crossed.counts.size());
  for (std::size_t bin = 0; bin < crossed.counts.size(); ++bin)
    EXPECT_EQ(crossed.weighted[bin], 4.0 * static_cast<double>(crossed.counts[bin]));
}

TEST(PairHistogramCalls, TakeOptionsOfTheRun) {
  EXPECT_EQ(pair_histogram(KindsOfMatrix::rows(), some_bins(), {.variant = "sequential"}).report.variant, "sequential");
}

TEST(PairHistogramCalls, RefuseRangesThatCannotBeTrue) {
  KindsOfMatrix::each_lie_is_refused([](const auto& points) { pair_histogram(points, some_bins()); });
}

}  // namespace
}  // namespace gradus
