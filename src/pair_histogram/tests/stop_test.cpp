// Tests that a stop request ends a count within half a second, in every phase and every variant. A job that ignored the
// request would continue for seconds to hours.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/philox.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tests/job.hpp"
#include "tests/helpers.hpp"
#include "tests/stopping.hpp"

namespace gradus::pair_histogram_detail {
namespace {

using tests::EndlessZeros;
using tests::expect_to_stop_soon;

constexpr int threads = 2;

Matrix<float> random_points(std::int64_t n) {
  Matrix<float> points(n, 3);
  const core::Philox random(11);
  for (std::int64_t row = 0; row < n; ++row) {
    const auto words = random.block(static_cast<std::uint64_t>(row));
    for (std::int64_t dim = 0; dim < 3; ++dim)
      points(row, dim) = static_cast<float>(words[static_cast<std::size_t>(dim)]) * 0x1p-32F;
  }
  return points;
}

Execution on(const std::stop_token& stop, std::string_view variant) {
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  execution.variant = variant;
  execution.stop = stop;
  return execution;
}

class Counting : public testing::TestWithParam<const Variant*> {};

/// Returns bins that reach across all points, so that no pair is skipped.
PairHistogramJob<float> all_pairs() {
  PairHistogramJob<float> options;
  options.bins.bin_width = 0.02;
  options.bins.bins = 100;
  return options;
}

TEST_P(Counting, all_pairs) {
  const Matrix<float> points = random_points(1'000'000);
  expect_to_stop_soon(0.6, threads, [&](const std::stop_token& stop) {
    pair_histogram(points.view(), all_pairs(), on(stop, GetParam()->name));
  });
}

TEST_P(Counting, pairs_of_one_point) {
  const EndlessZeros<float> others(200'000'000, 1);
  const EndlessZeros<float> point(1, 1);
  PairHistogramJob<float> options = all_pairs();
  options.others = others.view();
  expect_to_stop_soon(0.3, threads, [&](const std::stop_token& stop) {
    pair_histogram(point.view(), options, on(stop, GetParam()->name));
  });
}

// The reach is small, so most of the time goes into sorting columns, cells and trees.
TEST_P(Counting, many_points_that_are_sorted) {
  const Matrix<float> points = random_points(12'000'000);
  PairHistogramJob<float> options;
  options.bins.bin_width = 1e-5;
  options.bins.bins = 100;
  if (GetParam()->backend != core::Backend::simd) GTEST_SKIP() << "it sorts nothing";
  for (const double seconds : {0.3, 0.8})
    expect_to_stop_soon(seconds, threads, [&](const std::stop_token& stop) {
      pair_histogram(points.view(), options, on(stop, GetParam()->name));
    });
}

INSTANTIATE_TEST_SUITE_P(pair_histogram, Counting, testing::ValuesIn(tests::rows_that(variants(), tests::runs_on_cpu)),
                         tests::RowName());

}  // namespace
}  // namespace gradus::pair_histogram_detail
