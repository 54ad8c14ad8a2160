// Compares every variant in the table with the oracle, on every case and in both types.
#include "cpu/forced_target.hpp"
#include "pair_histogram/cases.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::pair_histogram_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

// The ladder uses the best instruction set of this machine. Tables of edges have different code in each.
TEST(InstructionSets, CountClusteredPoints) {
  std::int64_t tried = 0;
  for (const std::int64_t target : cpu::compiled_targets())
    for (const Case& one : cases()) {
      if (one.name.find("clump") == std::string::npos && one.name.find("between") == std::string::npos) continue;
      const cpu::ForcedTarget forced(target);
      const CaseData data = one.make(1);
      for (const Variant& variant : variants()) {
        if (variant.name != "simd_cells") continue;
        EXPECT_EQ(PreparedCase<float>(data).check(variant, {}), "") << one.name << ", target " << target;
        EXPECT_EQ(PreparedCase<double>(data).check(variant, {}), "") << one.name << ", target " << target;
        ++tried;
      }
    }
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace gradus::pair_histogram_detail
