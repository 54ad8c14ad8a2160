// Compiles a rule into a network of three-input operations. The network processes as many cells in parallel as a
// register has bits. This file turns a rule known at compile time into a plan; network-inl.hpp evaluates the plan on
// any device.
//
// The three cells w, c, e of a row (left neighbour, cell, right neighbour) are added to sum = w ^ c ^ e and carry =
// majority(w, c, e). These sums serve three rows of cells. From the sums and carries of three adjacent rows,
//
//   ones  = xor of the sums,       carry = majority of the sums,
//   twos  = xor of the carries,    fours = majority of the carries,
//
// are computed, so that the cell and its neighbours sum to T = ones + 2 K, where K = carry + twos + 2 fours and
// 0 <= K <= 4. The next state is a function of T and the cell: a live cell has T - 1 live neighbours, a dead cell has
// T. K is encoded in two bits, u and v. Values 0 to 3 use their binary code. Value 4 shares the code of another K if
// the rule does not distinguish the two. What remains is a function of four bits (u, v, ones, cell). The compiler
// searches the cheapest pair of three-input operations for this function; three operations always suffice. In total, 2
// operations form a row's sums, 4 combine three rows, 2 form u and v, and 2 apply the rule: 10 for B3/S23, and at most
// 14 for any rule.
//
// Source: bit-parallel full adders are folklore. Because all nine cells are summed, including the centre, the middle
// row needs no separate sums.
#pragma once

#include <cstdint>

#include "gradus/life.hpp"
#include "life/named_rules.hpp"

namespace gradus::life_detail {

/// The truth table of a three-input operation on (a, b, c). Its index is 4 a + 2 b + c, as in vpternlog and LOP3.
using Table = std::uint8_t;

inline constexpr Table xor_table = 0x96;
inline constexpr Table majority_table = 0xE8;

/// Numbers of the rule's input bits after K has been encoded. The members of Plan contain these numbers.
enum : int { of_cell = 0, of_ones = 1, of_v = 2, of_u = 3 };

struct Plan {
  Table u = 0;  ///< u as a function of (fours, twos, carry)
  Table v = 0;  ///< v as a function of (fours, twos, carry)
  /// The rule: result = outer(inner(first, second, third), fourth, fifth). If `muxed`, the result is inner(first,
  /// second, third) where `fourth` is 1, and other(first, second, third) where it is 0.
  bool muxed = false;
  int first = 0, second = 0, third = 0, fourth = 0, fifth = 0;
  Table inner = 0, other = 0, outer = 0;
  /// True if K = 4 has no code. In this case, the result is joined(K is 4, result, third input). The third input is the
  /// one of the four bits that `at_four` selects or, if `four_takes_two` is true, ones ^ cell.
  bool four_apart = false;
  bool four_takes_two = false;
  int at_four = 0;
  Table joined = 0;
};

namespace plan_detail {

enum : std::uint8_t { no = 0, yes = 1, any = 2 };

constexpr std::uint8_t outcome(LifeRule rule, int total, int cell) {
  if (total - cell < 0 || total - cell > 8) return any;
  return ((cell != 0 ? rule.survival : rule.birth) >> (total - cell) & 1) != 0 ? yes : no;
}

/// Returns how many two-input operations the table would need, as a measure of its simplicity.
constexpr int cost_of_two(int table) {
  constexpr int costs[16] = {0, 2, 1, 1, 1, 1, 1, 2, 1, 2, 0, 2, 0, 2, 1, 0};
  return costs[table];
}
constexpr int cost_by_first(int table) {
  const int low = table & 15;
  const int high = table >> 4;
  if (low == high) return cost_of_two(low);
  if ((low ^ high) == 15) return 1 + cost_of_two(low);
  if (low == 0) return 1 + cost_of_two(high);
  if (high == 0 || high == 15) return 1 + cost_of_two(low);
  if (low == 15) return 2 + cost_of_two(high);
  return 2 + cost_of_two(low) + cost_of_two(low ^ high);
}
/// Returns the table for the rotated inputs (b, c, a), in which b is the first input.
constexpr int turned(int table) {
  int result = 0;
  for (int index = 0; index < 8; ++index) {
    const int b = index >> 2 & 1;
    const int c = index >> 1 & 1;
    const int a = index & 1;
    result |= (table >> (4 * a + 2 * b + c) & 1) << index;
  }
  return result;
}
constexpr int cost_of(int table) {
  int least = 99;
  for (int turn = 0; turn < 3; ++turn, table = turned(table))
    if (cost_by_first(table) < least) least = cost_by_first(table);
  return least;
}

/// A function of (u, v, ones, cell). Its index is 8 u + 4 v + 2 ones + cell.
struct Four {
  std::uint8_t of[16];
};

/// Searches for an inner and an outer operation that compute `wanted`. The inputs of the outer operation are the inner
/// result and the bits `fourth` and `fifth`. Returns false if there are no such operations. `of_inner` maps each of the
/// sixteen indices of `wanted` to an index of the inner operation, which its three inputs form.
///
/// The inner operation splits its eight indices into two groups. Two indices must be in different groups if they need
/// different outcomes for the same values of `fourth` and `fifth`. These conflicts form a graph, which must be
/// 2-colourable.
constexpr bool find_pair(const Four& wanted, const int* of_inner, int fourth, int fifth, int& inner, int& outer) {
  std::uint8_t wants[8][4];
  for (auto& of_index : wants)
    for (std::uint8_t& outcome : of_index) outcome = any;
  for (int index = 0; index < 16; ++index) {
    if (wanted.of[index] == any) continue;
    std::uint8_t& here = wants[of_inner[index]][2 * (index >> fourth & 1) + (index >> fifth & 1)];
    if (here != any && here != wanted.of[index]) return false;
    here = wanted.of[index];
  }
  const auto differ = [&wants](int one, int other) {
    for (int rest = 0; rest < 4; ++rest)
      if (wants[one][rest] != any && wants[other][rest] != any && wants[one][rest] != wants[other][rest]) return true;
    return false;
  };
  int colours[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  for (int start = 0; start < 8; ++start) {
    if (colours[start] >= 0) continue;
    int waiting[8] = {start};
    int count = 1;
    colours[start] = 0;
    while (count > 0) {
      const int one = waiting[--count];
      for (int other = 0; other < 8; ++other) {
        if (!differ(one, other)) continue;
        if (colours[other] == colours[one]) return false;
        if (colours[other] >= 0) continue;
        colours[other] = 1 - colours[one];
        waiting[count++] = other;
      }
    }
  }
  inner = outer = 0;
  for (int index = 0; index < 8; ++index) {
    inner |= colours[index] << index;
    for (int rest = 0; rest < 4; ++rest)
      if (wants[index][rest] == yes) outer |= 1 << (4 * colours[index] + rest);
  }
  return true;
}

/// Stores the cheapest operations for the function in `plan`. They are an inner and an outer operation, or two inner
/// operations and a selection between their results by the bit `fourth`.
constexpr void find_operations(const Four& wanted, Plan& plan) {
  int least = 1000;
  for (int left_out = 0; left_out < 4; ++left_out) {
    int in[3]{};
    for (int bit = 0, at = 0; bit < 4; ++bit)
      if (bit != left_out) in[at++] = bit;
    int of_inner[16]{};
    for (int index = 0; index < 16; ++index)
      of_inner[index] = 4 * (index >> in[0] & 1) + 2 * (index >> in[1] & 1) + (index >> in[2] & 1);
    for (int fourth = 0; fourth < 4; ++fourth)
      for (int fifth = fourth; fifth < 4; ++fifth) {
        int inner = 0;
        int outer = 0;
        if (!find_pair(wanted, of_inner, fourth, fifth, inner, outer)) continue;
        const int cost = 10 + cost_of(inner) + cost_of(outer);
        if (cost >= least) continue;
        least = cost;
        plan.muxed = false;
        plan.first = in[0], plan.second = in[1], plan.third = in[2], plan.fourth = fourth, plan.fifth = fifth;
        plan.inner = static_cast<Table>(inner);
        plan.outer = static_cast<Table>(outer);
      }
    int tables[2]{};  // the two operations, for the two values of the omitted bit
    for (int index = 0; index < 16; ++index)
      if (wanted.of[index] == yes) tables[index >> left_out & 1] |= 1 << of_inner[index];
    const int cost = 30 + cost_of(tables[0]) + cost_of(tables[1]);
    if (cost >= least) continue;
    least = cost;
    plan.muxed = true;
    plan.first = in[0], plan.second = in[1], plan.third = in[2], plan.fourth = left_out;
    plan.inner = static_cast<Table>(tables[1]);
    plan.other = static_cast<Table>(tables[0]);
  }
}

}  // namespace plan_detail

constexpr Plan plan_of(LifeRule rule) {
  using namespace plan_detail;
  Four wanted{};
  for (int index = 0; index < 16; ++index) {
    const int k = 2 * (index >> of_v & 1) + (index >> of_u & 1);
    wanted.of[index] = outcome(rule, 2 * k + (index >> of_ones & 1), index & 1);
  }
  Plan plan;
  // Searches for a K that can share its code with K = 4.
  int code_of_four = -1;
  for (int k = 0; k < 4 && code_of_four < 0; ++k) {
    Four both = wanted;
    bool fits = true;
    for (int rest = 0; rest < 4; ++rest) {  // the index that ones and cell form
      std::uint8_t& here = both.of[8 * (k & 1) + 4 * (k >> 1) + rest];
      const std::uint8_t there = outcome(rule, 8 + (rest >> 1), rest & 1);
      if (here == any) here = there;
      else if (there != any && here != there) fits = false;
    }
    if (!fits) continue;
    code_of_four = k;
    wanted = both;
  }
  plan.four_apart = code_of_four < 0;
  for (int index = 0; index < 8; ++index) {
    const int k = 2 * (index >> 2) + (index >> 1 & 1) + (index & 1);
    const int code = k < 4 ? k : plan.four_apart ? 0 : code_of_four;
    plan.u = static_cast<Table>(plan.u | (code & 1) << index);
    plan.v = static_cast<Table>(plan.v | (code >> 1) << index);
  }
  // The outcomes at K = 4: for a dead cell with eight live neighbours, for a live cell with seven, and for a live cell
  // with eight.
  const int dead_of_eight = outcome(rule, 8, 0);
  const int alive_of_seven = outcome(rule, 8, 1);
  const int alive_of_eight = outcome(rule, 9, 1);
  int where_set = alive_of_eight;
  if (dead_of_eight == alive_of_seven) {
    plan.at_four = of_ones;
  } else {
    plan.at_four = of_cell;
    plan.four_takes_two = alive_of_seven != alive_of_eight;
    where_set = alive_of_seven;
  }
  plan.joined = static_cast<Table>(0x0C | dead_of_eight * 0x50 | where_set * 0xA0);
  find_operations(wanted, plan);
  return plan;
}

/// A rule known at run time, as data for the general network. For each K, the outcome is a polynomial of ones and cell
/// over GF(2), c0 ^ (c1 & ones) ^ (c2 & cell) ^ (c3 & ones & cell). All 64 bits of a coefficient are equal.
struct Coefficients {
  std::uint64_t of[5][4];
};

constexpr Coefficients coefficients_of(LifeRule rule) {
  Coefficients result{};
  for (int k = 0; k < 5; ++k) {
    const auto bit = [&](int ones, int cell) -> std::uint64_t {
      return plan_detail::outcome(rule, 2 * k + ones, cell) == plan_detail::yes ? ~std::uint64_t{0} : 0;
    };
    result.of[k][0] = bit(0, 0);
    result.of[k][1] = bit(0, 0) ^ bit(1, 0);
    result.of[k][2] = bit(0, 0) ^ bit(0, 1);
    result.of[k][3] = bit(0, 0) ^ bit(1, 0) ^ bit(0, 1) ^ bit(1, 1);
  }
  return result;
}

/// The rules that have compiled kernels.
inline constexpr auto& compiled_rules = named_life_rules;
inline constexpr int compiled_rule_count = sizeof compiled_rules / sizeof compiled_rules[0];

/// Returns the rule's index in compiled_rules, or -1.
constexpr int compiled_index(LifeRule rule) {
  for (int index = 0; index < compiled_rule_count; ++index)
    if (compiled_rules[index].rule == rule) return index;
  return -1;
}

}  // namespace gradus::life_detail
