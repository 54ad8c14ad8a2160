// From a rule to a network of three-input operations, in which 64 cells, or as many as a register has bits, are looked
// up at once. Here a rule known at compile time becomes a plan; network-inl.hpp carries it out, on any device.
//
// A row of cells w c e (a cell's left neighbour, itself, its right neighbour) is added up to sum = w ^ c ^ e and carry
// = majority(w, c, e), once for the three rows of cells that need it. Of three such rows
//
//   ones  = xor of the sums,       carry = majority of the sums,
//   twos  = xor of the carries,    fours = majority of the carries,
//
// so that the cell and its neighbours together are T = ones + 2 K alive, K = carry + twos + 2 fours, 0 <= K <= 4. What
// becomes of the cell is a function of T and of the cell itself: a live one has T - 1 live neighbours, a dead one T.
// K is coded in two bits, u and v: its own two lower bits, and 4 is given the code of another K where the rule makes no
// difference between them. Then a function of four bits is left, (u, v, ones, cell), for which the cheapest of all
// pairs of three-input operations is looked for; three always suffice. Together that is 2 operations for a row's sums,
// 4 for those of three rows, 2 for u and v, and 2 for the rule: B3/S23 takes 10, any rule at most 14.
//
// Source: full adders of bits in parallel are folklore; the nine-cell sum spares the middle row sums of its own.
#pragma once

#include <cstdint>

#include "gradus/life.hpp"
#include "life/named_rules.hpp"

namespace gradus::life_detail {

/// The table of a three-input operation on (a, b, c): bit 4 a + 2 b + c, as vpternlog and LOP3 have it.
using Table = std::uint8_t;

inline constexpr Table xor_table = 0x96;
inline constexpr Table majority_table = 0xE8;

/// The bits that are left after K was coded, by which Plan names them.
enum : int { of_cell = 0, of_ones = 1, of_v = 2, of_u = 3 };

struct Plan {
  Table u = 0;  ///< of (fours, twos, carry)
  Table v = 0;  ///< likewise
  /// The rule: result = outer(inner(first, second, third), fourth, fifth); or, where `muxed`, inner or `other` of the
  /// same three bits, as `fourth` is 1 or 0.
  bool muxed = false;
  int first = 0, second = 0, third = 0, fourth = 0, fifth = 0;
  Table inner = 0, other = 0, outer = 0;
  /// K = 4 has no code. Then `joined`, of (K is 4, result, `at_four`), is the result; at_four is one of the bits, or
  /// where that does not suffice, ones ^ cell.
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

/// Two-input operations that a table costs where there are none of three inputs: a measure of how simple it is.
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
/// The table with its inputs turned: that of (b, c, a), so that b comes first.
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

/// The function of (u, v, ones, cell) by index 8 u + 4 v + 2 ones + cell.
struct Four {
  std::uint8_t of[16];
};

/// Finds the inner and the outer operation of which the latter also takes bits `fourth` and `fifth`; false where there
/// are none. `of_inner` is the index of the former's three bits at each of the sixteen places.
///
/// The inner operation tells two groups of its eight indices apart. Two indices cannot be in the same group where they
/// want different outcomes of the same two other bits: that is a graph, and it must have two colours.
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

/// Gives `plan` the cheapest inner and outer operation, or two that `fourth` chooses between.
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
    int tables[2]{};  // where the bit that is left out is 0, 1
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

/// The plan of a rule.
constexpr Plan plan_of(LifeRule rule) {
  using namespace plan_detail;
  Four wanted{};
  for (int index = 0; index < 16; ++index) {
    const int k = 2 * (index >> of_v & 1) + (index >> of_u & 1);
    wanted.of[index] = outcome(rule, 2 * k + (index >> of_ones & 1), index & 1);
  }
  Plan plan;
  // Another K whose code 4 may have.
  int code_of_four = -1;
  for (int k = 0; k < 4 && code_of_four < 0; ++k) {
    Four both = wanted;
    bool fits = true;
    for (int rest = 0; rest < 4; ++rest) {  // ones, cell
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
  // The result at K = 4 by its bit: a dead cell of eight neighbours, a live one of seven, a live one of eight.
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

/// What a rule that is known at run time gives the general network: for each K the outcome as a polynomial of ones and
/// cell over bits, c0 ^ (c1 & ones) ^ (c2 & cell) ^ (c3 & ones & cell), all bits of a coefficient alike.
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

/// Rules that are compiled; all others take the general network.
inline constexpr auto& compiled_rules = named_life_rules;
inline constexpr int compiled_rule_count = sizeof compiled_rules / sizeof compiled_rules[0];

/// The rule's place in this list, or -1.
constexpr int compiled_index(LifeRule rule) {
  for (int index = 0; index < compiled_rule_count; ++index)
    if (compiled_rules[index].rule == rule) return index;
  return -1;
}

}  // namespace gradus::life_detail
