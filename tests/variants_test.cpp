// Tests the library's lists of problems and ladders.
#include "gradus/variants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "execution/devices.hpp"
#include "execution/ladders.hpp"
#include "execution/machine.hpp"
#include "gradus/error.hpp"

namespace gradus {
namespace {

/// Returns true if the row runs another library.
bool is_baseline(std::string_view problem, std::string_view name) {
  const std::vector<core::VariantInfo> rows = execution::find_ladder(problem).variants();
  return std::ranges::any_of(rows, [&](const core::VariantInfo& row) { return row.name == name && row.baseline; });
}

TEST(Variants, EveryProblemHasItsHeaderAndALadder) {
  ASSERT_FALSE(problems().empty());
  for (const std::string_view problem : problems()) {
    SCOPED_TRACE(problem);
    EXPECT_TRUE(
        std::filesystem::exists(std::string(GRADUS_SOURCE_DIR "/include/gradus/") + std::string(problem) + ".hpp"));
    std::set<std::string_view> names;
    for (const VariantRow& row : variants(problem)) {
      EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
      EXPECT_FALSE(row.summary.empty()) << row.name;
      EXPECT_FALSE(row.contract.empty()) << row.name;
      EXPECT_EQ(row.supported, row.reason.empty()) << row.name << ": " << row.reason;
      EXPECT_EQ(row.backend == Backend::cuda, row.name.starts_with("cuda_") || row.name.starts_with("cublas"))
          << row.name;
    }
    EXPECT_TRUE(names.contains(problem == "locks" ? "no_lock" : "sequential"));
    const std::vector<core::VariantInfo> rows = execution::find_ladder(problem).variants();
    for (std::size_t index = 1; index < rows.size(); ++index)
      EXPECT_FALSE(rows[index].change.empty()) << rows[index].name << " does not say what it changes";
  }
}

TEST(Variants, AVariantOfTheGpuIsSupportedWhereThereIsOne) {
  const std::string no_gpu = execution::why_no_gpu(execution::this_machine());
  for (const std::string_view problem : problems())
    for (const VariantRow& row : variants(problem)) {
      if (is_baseline(problem, row.name)) continue;  // the library that the baseline runs may be missing
      if (row.backend != Backend::cuda) {
        EXPECT_TRUE(row.supported) << problem << ": " << row.name << ": " << row.reason;
      } else if (!no_gpu.empty()) {
        EXPECT_EQ(row.reason, no_gpu) << problem << ": " << row.name;
      }
    }
}

TEST(Variants, AHyphenStandsForAnUnderscore) {
  for (const std::string_view problem : problems()) {
    std::string hyphenated(problem);
    std::replace(hyphenated.begin(), hyphenated.end(), '_', '-');
    EXPECT_EQ(variants(hyphenated).size(), variants(problem).size()) << problem;
  }
}

TEST(Variants, AnUnknownProblemIsRefusedWithTheNearest) {
  for (const std::string_view problem : problems()) {
    try {
      (void)variants(std::string(problem) + "x");
      ADD_FAILURE() << "nothing was thrown";
    } catch (const UsageError& error) {
      const std::string nearest = "did you mean '" + std::string(problem) + "'?";
      EXPECT_NE(std::string(error.what()).find(nearest), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace gradus
