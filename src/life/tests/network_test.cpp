// Checks networks against their rules on all 512 neighbourhoods. Also checks the kernels of each instruction set.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "core/philox.hpp"
#include "cpu/forced_target.hpp"
#include "life/bits/cells.hpp"
#include "life/cases.hpp"
#include "life/network/plan.hpp"
#include "life/simd/steps.hpp"

namespace gradus::life_detail {
namespace {

/// The 512 neighbourhoods as eight words of 64: bit n of word w is the state of one cell in neighbourhood 64 w + n.
struct All {
  std::uint64_t of[8];
};

std::uint64_t looked_up(Table table, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t result = 0;
  for (int index = 0; index < 8; ++index)
    if ((table >> index & 1) != 0)
      result |= ((index & 4) != 0 ? a : ~a) & ((index & 2) != 0 ? b : ~b) & ((index & 1) != 0 ? c : ~c);
  return result;
}

struct Words {
  using V = std::uint64_t;
  template <int table>
  static V lut(V a, V b, V c) {
    return looked_up(table, a, b, c);
  }
  static V load(std::uint64_t word) { return word; }
};

#define GRADUS_LIFE_INLINE inline
#include "life/network/network-inl.hpp"
#undef GRADUS_LIFE_INLINE

/// Interprets a Plan step by step.
struct Interpreted {
  Plan plan;

  std::uint64_t next(RowSums<std::uint64_t> above, RowSums<std::uint64_t> here, RowSums<std::uint64_t> below,
                     std::uint64_t cell) const {
    const auto nine = nine_sums<Words>(above, here, below);
    const std::uint64_t bits[] = {cell, nine.ones, looked_up(plan.v, nine.fours, nine.twos, nine.carry),
                                  looked_up(plan.u, nine.fours, nine.twos, nine.carry)};
    const auto of_three = [&](Table table) {
      return looked_up(table, bits[plan.first], bits[plan.second], bits[plan.third]);
    };
    std::uint64_t result =
        plan.muxed ? (bits[plan.fourth] & of_three(plan.inner)) | (~bits[plan.fourth] & of_three(plan.other))
                   : looked_up(plan.outer, of_three(plan.inner), bits[plan.fourth], bits[plan.fifth]);
    if (plan.four_apart) {
      const std::uint64_t four = nine.fours & nine.twos & nine.carry;
      result = looked_up(plan.joined, four, result, plan.four_takes_two ? nine.ones ^ cell : bits[plan.at_four]);
    }
    return result;
  }
};

/// Counts the neighbourhoods for which network and rule differ.
template <class Network>
int wrong_ones(const Network& network, LifeRule rule) {
  int wrong = 0;
  for (unsigned word = 0; word < 8; ++word) {
    std::uint64_t cells[9] = {};
    std::uint64_t right = 0;
    for (unsigned bit = 0; bit < 64; ++bit) {
      const unsigned neighbourhood = 64 * word + bit;
      for (unsigned place = 0; place < 9; ++place)
        cells[place] |= static_cast<std::uint64_t>(neighbourhood >> place & 1) << bit;
      const unsigned alive = neighbourhood >> 4 & 1;
      const int neighbours = std::popcount(neighbourhood) - static_cast<int>(alive);
      right |= static_cast<std::uint64_t>((alive != 0 ? rule.survival : rule.birth) >> neighbours & 1) << bit;
    }
    const auto sums = [&cells](std::size_t row) {
      return row_sums<Words>(cells[3 * row], cells[3 * row + 1], cells[3 * row + 2]);
    };
    wrong += std::popcount(network.next(sums(0), sums(1), sums(2), cells[4]) ^ right);
  }
  return wrong;
}

template <int... index>
void check_compiled(std::integer_sequence<int, index...>) {
  const auto check = [](const auto& network, int which) {
    EXPECT_EQ(wrong_ones(network, compiled_rules[which].rule), 0) << compiled_rules[which].name;
  };
  (check(CompiledNetwork<Words, index>(nullptr), index), ...);
}

TEST(LifeNetworks, OfCompiledRules) {
  check_compiled(std::make_integer_sequence<int, compiled_rule_count>());
  for (int index = 0; index < compiled_rule_count; ++index)
    EXPECT_EQ(compiled_index(compiled_rules[index].rule), index) << "there is one of them";
  EXPECT_EQ(compiled_index({1 << 3, 1 << 2}), -1);
  // wrong_ones() must detect an incorrect network.
  EXPECT_GT(wrong_ones(CompiledNetwork<Words, 0>(nullptr), compiled_rules[1].rule), 0);
}

TEST(LifeNetworks, OfAnyRule) {
  const core::Philox random(1, 99);
  for (std::uint64_t number = 0; number < 3000; ++number) {
    const LifeRule rule{static_cast<std::uint16_t>(random.below(2 * number, 512)),
                        static_cast<std::uint16_t>(random.below(2 * number + 1, 512))};
    const Coefficients coefficients = coefficients_of(rule);
    ASSERT_EQ(wrong_ones(GeneralNetwork<Words>(&coefficients), rule), 0) << to_string(rule);
    ASSERT_EQ(wrong_ones(Interpreted{plan_of(rule)}, rule), 0) << to_string(rule);
  }
}

/// Returns every second case, together with the oracle's answer.
const std::vector<std::pair<std::string, PreparedCase<void>>>& some_cases() {
  static const auto all = [] {
    std::vector<std::pair<std::string, PreparedCase<void>>> some;
    std::size_t index = 0;
    for (const Case& one : cases())
      if (index++ % 2 == 0) some.emplace_back(one.name, PreparedCase<void>(one.make(1)));
    return some;
  }();
  return all;
}

/// Checks every variant on some cases, and checks count_ones(). Both must use the kernels of the instruction set `of`.
void check_kernels(const std::string& of) {
  SCOPED_TRACE(of);
  Execution execution;
  execution.threads = 2;
  for (const auto& [name, prepared] : some_cases())
    for (const Variant& variant : variants()) {
      if (variant.backend == core::Backend::cuda) continue;
      if (!variant.supports(prepared.shape(), execution::this_machine())) continue;
      EXPECT_EQ(execution::fault_of(prepared, variant, execution), "") << variant.name << ", " << name;
    }
  for (std::int64_t count = 0; count < 40; ++count) {
    std::uint64_t words[40];
    std::uint64_t right = 0;
    for (std::int64_t word = 0; word < count; ++word) {
      words[word] = core::Philox(2).bits(static_cast<std::uint64_t>(word));
      right += static_cast<std::uint64_t>(std::popcount(words[word]));
    }
    EXPECT_EQ(count_ones(words, count), right);
  }
}

TEST(LifeKernels, OfEachSetOfInstructions) {
  for (const std::int64_t target : cpu::compiled_targets()) {
    const cpu::ForcedTarget forced(target);
    check_kernels(hwy::TargetName(target));
  }
  const bool before = allow_double_shifts(false);
  check_kernels("without double shifts");
  allow_double_shifts(before);
}

}  // namespace
}  // namespace gradus::life_detail
