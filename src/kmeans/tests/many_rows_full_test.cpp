// Tests fits to more rows than 32 bits can number. The rows repeat, so that a fit to one period, with the number of
// repeats as weights, has the same labels, centroids and counts. A test is skipped if the machine has too little
// memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "cpu/memory.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/tests/repeated_rows.hpp"
#include "tests/helpers.hpp"

namespace gradus::kmeans_detail {
namespace {

constexpr std::int64_t rows = (std::int64_t{1} << 31) + 11;
constexpr std::int64_t period = tests::RepeatedRows::period;

/// Memory that the machine keeps for other programs.
constexpr std::uint64_t reserve = std::uint64_t{2} << 30;

class ManyRowsFit : public tests::WithRow<Variant> {};
INSTANTIATE_TEST_SUITE_P(kmeans, ManyRowsFit,
                         testing::ValuesIn(tests::rows_that(variants(),
                                                            [](const Variant& variant) {
                                                              return variant.contract.kind == core::Contract::same_bits;
                                                            })),
                         tests::RowName());

TEST_P(ManyRowsFit, has_the_bits_of_a_weighted_period) {
  const float first[] = {100, 400, 900};
  KMeansOptions options{.clusters = 3, .init = KMeansInit::given, .max_iterations = 2, .tolerance = 0};
  Execution execution;
  execution.variant = GetParam()->name;
  if (tests::runs_on_gpu(*GetParam()) && !GetParam()->supports({1, 1, 3, 4, false}, execution::this_machine()))
    GTEST_SKIP() << "there is no GPU";
  if (kmeans_memory({rows, 1, 4}, options, execution).host + reserve > cpu::available_memory())
    GTEST_SKIP() << "it needs more memory than is free";

  const tests::RepeatedRows points(rows);
  KMeansMemory<float> memory{.initial_centroids = {first, 3, 1}};
  const KMeansResult<float> found = kmeans(points.view(), options, memory, execution);

  std::vector<float> weights;
  for (std::int64_t row = 0; row < period; ++row) weights.push_back(static_cast<float>(points.count(row)));
  memory.weights = {weights.data(), period};
  Execution on_cpu;
  on_cpu.device = Device::cpu;
  const MatrixView<const float> values(points.values().data(), period, 1);
  const KMeansResult<float> expected = kmeans(values, options, memory, on_cpu);

  EXPECT_TRUE(tests::same_bits(found.centroids, expected.centroids));
  ASSERT_EQ(found.labels.size(), rows);
  for (std::int64_t row = 0; row < rows; row += period) {
    const std::int64_t some = std::min(period, rows - row);
    ASSERT_EQ(std::memcmp(&found.labels[row], expected.labels.data(), static_cast<std::size_t>(some) * 4), 0) << row;
  }
  std::vector<std::int64_t> counts(3);
  core::ExactAccumulator inertia;
  for (std::int64_t row = 0; row < period; ++row) {
    const std::int32_t label = expected.labels[row];
    counts[static_cast<std::size_t>(label)] += points.count(row);
    inertia.add_product(static_cast<double>(points.count(row)),
                        squared_distance(values.row(row), expected.centroids.row(label), 1));
  }
  EXPECT_EQ(found.counts, counts);
  EXPECT_EQ(found.inertia, inertia.round<double>());
  ASSERT_EQ(found.history.size(), 2U);
  EXPECT_EQ(found.history.front().changed, rows);
}

TEST(ManyRows, have_the_mean_of_all) {
  const tests::RepeatedRows points(rows);
  const KMeansStandardization found = kmeans_standardization(points.view());
  core::ExactAccumulator sum;
  core::ExactAccumulator count;
  count.add(static_cast<double>(rows));
  for (std::int64_t row = 0; row < period; ++row)
    sum.add_product(static_cast<double>(points.count(row)), static_cast<double>(points.at(row)));
  EXPECT_EQ(found.mean, std::vector<double>{sum.quotient<double>(count)});
}

}  // namespace
}  // namespace gradus::kmeans_detail
