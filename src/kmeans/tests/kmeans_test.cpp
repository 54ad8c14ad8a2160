// Compares every variant of the table with the oracle on every case, in both element types. New variants are included
// automatically.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "cpu/forced_target.hpp"
#include "kmeans/assign/integer_filter.hpp"
#include "kmeans/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::kmeans_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

// A few cases for tests of the loop over cases. These tests plant faults, which the loop must report.
struct FewCases : Trial {
  static const std::vector<Case>& cases() {
    static const std::vector<Case> few = [] {
      std::vector<Case> found;
      for (const Case& one : Trial::cases())
        if (one.name == "blobs" || one.name == "lattice_ties_2" || one.name == "padded_rows_many_dimensions")
          found.push_back(one);
      return found;
    }();
    return few;
  }
};

Variant row_called(std::string_view name) { return core::find_variant(variants(), name, Room::name); }

TEST(LadderLoop, runs_a_row_on_what_it_promises_and_takes) {
  ASSERT_EQ(FewCases::cases().size(), 3U);
  EXPECT_EQ(tests::run_row<FewCases>(row_called("sequential")).ran, 4);  // the case in which ties decide is left out
  const tests::RowOutcome outcome = tests::run_row<FewCases>(row_called("simd_small_dim"));
  EXPECT_EQ(outcome.ran, 4);  // the case with 70 columns is left out
  EXPECT_TRUE(tests::contains(outcome.refusal, "columns, not 70")) << outcome.refusal;
  EXPECT_TRUE(outcome.differences.empty());
}

TEST(LadderLoop, a_row_that_takes_no_case_fails) {
  Variant planted = row_called("simd_small_dim");
  planted.supports = [](const Shape&, const execution::Machine&) { return core::Support::no("not today"); };
  const tests::RowOutcome outcome = tests::run_row<FewCases>(planted);
  EXPECT_EQ(outcome.ran, 0);
  EXPECT_NONFATAL_FAILURE(tests::judge(planted, outcome), "simd_small_dim ran no case: not today");
}

TEST(LadderLoop, a_wrong_result_fails_and_is_named) {
  Variant planted = row_called("sequential");
  planted.contract = {core::Contract::same_bits};
  const tests::RowOutcome outcome = tests::run_row<FewCases>(planted);
  ASSERT_FALSE(outcome.differences.empty());
  tests::RowOutcome first = outcome;
  first.differences.resize(1);
  EXPECT_NONFATAL_FAILURE(tests::judge(planted, first), "sequential, " + outcome.differences.front());
}

TEST(LadderLoop, an_error_is_a_difference) {
  Variant planted = row_called("simd_small_dim");
  planted.supports = [](const Shape& shape, const execution::Machine&) {
    return shape.dimensions > 60 ? core::Support::yes() : core::Support::no("few columns");
  };
  const tests::RowOutcome outcome = tests::run_row<FewCases>(planted);
  ASSERT_FALSE(outcome.differences.empty());
  EXPECT_TRUE(tests::contains(outcome.differences.front(), "it failed: ")) << outcome.differences.front();
}

TEST(LadderLoop, where_a_gpu_is_required_its_absence_fails) {
  const bool required = tests::gpu_is_required();
  setenv("GRADUS_REQUIRE_GPU", "1", 1);
  EXPECT_FATAL_FAILURE(tests::skip_for_want_of_gpu("there is none"), "GRADUS_REQUIRE_GPU is set, but there is none");
  if (!required) unsetenv("GRADUS_REQUIRE_GPU");
}

// This case is not in the shared table: if these points are converted to float, no scale factor keeps them distinct.
// One column is constant, and the differences in the other columns are tiny. A power of two that scales these
// differences to about 1 makes the rounding error of the constant column's mean overflow.
TEST(Ladder, doubles_beside_a_constant_column) {
  for (const auto& [clusters, columns] : {std::pair<std::int64_t, std::int64_t>{7, 3}, {90, 3}, {20, 40}}) {
    CaseData data;
    data.clusters = clusters;
    data.well_conditioned = false;
    data.points = Matrix<double>(300, columns);
    for (std::int64_t row = 0; row < 300; ++row) {
      data.points(row, 0) = 1e147;
      for (std::int64_t dim = 1; dim < columns; ++dim)
        data.points(row, dim) = 1e-150 * static_cast<double>((row * 7919 + dim * 104729) % 1009);
    }
    const PreparedCase<double> prepared(data);
    for (const Variant& variant : variants()) {
      if (!prepared.promises(variant.contract) || !variant.supports(prepared.shape(), execution::this_machine()))
        continue;
      EXPECT_EQ(prepared.check(variant, {}), "") << variant.name << ", " << clusters << " clusters";
    }
  }
}

// The 8-bit filter cannot distinguish the centroids of a crowd. The crowd exceeds the list of candidates that a search
// with tiles keeps for each point.
TEST(Ladder, more_candidates_than_tiles_keep) {
  CaseData data;
  data.clusters = 400;
  data.well_conditioned = false;
  data.max_iterations = 3;
  data.points = Matrix<double>(600, 40);
  for (std::int64_t row = 0; row < 600; ++row)
    for (std::int64_t dim = 0; dim < 40; ++dim)
      data.points(row, dim) =
          (row % 2 == 0 ? 10 : -10) + 1e-3 * static_cast<double>((row * 7919 + dim * 104729) % 1009);
  const PreparedCase<float> prepared(data);
  tile_use = TileUse::always;
  EXPECT_EQ(prepared.check(row_called("simd_large_dim"), {}), "");
  tile_use = TileUse::where_they_pay;
}

// A search with 8-bit integers keeps the candidates of one block of clusters while it searches the next block. Points
// with small integer coordinates have equal distances to centroids in different blocks. The 8-bit filter cannot
// distinguish the centroids of a crowd, which exceeds the list of candidates.
TEST(Ladder, more_clusters_than_a_block) {
  for (const bool crowd : {false, true}) {
    CaseData data;
    data.clusters = 2 * ByteCandidates::largest_block + 77;
    data.well_conditioned = false;
    data.max_iterations = 2;
    data.points = Matrix<double>(data.clusters + 50, 20);
    for (std::int64_t row = 0; row < data.points.rows(); ++row)
      for (std::int64_t dim = 0; dim < 20; ++dim) {
        std::uint64_t bits = static_cast<std::uint64_t>(row * 32 + dim + 1) * 0x9e3779b97f4a7c15U;
        bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9U;
        const auto value = static_cast<std::int64_t>(bits >> 40) % 1009;
        data.points(row, dim) =
            crowd ? (row % 2 == 0 ? 10 : -10) + 1e-3 * static_cast<double>(value) : static_cast<double>(value % 2);
      }
    const PreparedCase<float> prepared(data);
    tile_use = TileUse::never;
    for (const char* const name : {"simd_large_dim", "simd_bounds"})
      EXPECT_EQ(prepared.check(row_called(name), {}), "") << name << (crowd ? ", crowd" : "");
    tile_use = TileUse::where_they_pay;
  }
}

// Runs the filters of integers on every instruction set of this machine: with tiles, with dot-product instructions
// only, and with neither. Without AMX, slow code takes the place of the tiles.
class IntegerFilterTargets : public testing::TestWithParam<Case> {};

template <class T>
void check_targets(const Case& data) {
  const PreparedCase<T> prepared(data.make(2));
  Execution execution;
  execution.threads = 1;
  for (const std::int64_t target : cpu::compiled_targets())
    for (const std::string instructions : {"tiles", "dot products", "neither"}) {
      const cpu::ForcedTarget forced(target);
      const bool has_tiles = instructions == "tiles";
      if (has_tiles && target != HWY_AVX3) continue;
      tile_use = has_tiles ? TileUse::always : TileUse::never;
      dot_instructions_allowed = instructions != "neither";
      for (const Variant& variant : variants())
        if (variant.name == "simd_large_dim" || variant.name == "simd_bounds" ||
            (variant.name == "simd_small_dim" && variant.supports(prepared.shape(), execution::this_machine()))) {
          EXPECT_EQ(prepared.check(variant, execution), "")
              << variant.name << " on " << hwy::TargetName(target) << ", " << instructions;
        }
    }
  tile_use = TileUse::where_they_pay;
  dot_instructions_allowed = true;
}

TEST_P(IntegerFilterTargets, float_equals_oracle) { check_targets<float>(GetParam()); }
TEST_P(IntegerFilterTargets, double_equals_oracle) { check_targets<double>(GetParam()); }

/// Returns all cases or, under a sanitizer, every eighth case, because a sanitizer makes a case take twenty times as
/// long.
std::vector<Case> target_cases() {
  std::vector<Case> all = cases();
#ifdef GRADUS_SANITIZED
  std::vector<Case> some;
  for (std::size_t at = 0; at < all.size(); at += 8) some.push_back(std::move(all[at]));
  all = std::move(some);
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(kmeans, IntegerFilterTargets, testing::ValuesIn(target_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gradus::kmeans_detail
