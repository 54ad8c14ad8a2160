#include "life/hashlife/block.hpp"

namespace gradus::life_detail {

namespace {

using Row = std::uint32_t;
constexpr int rows = 32;

/// How many of the neighbours of each of 32 cells live, as the digits of a binary number: ones, twos, fours, eights.
struct Count {
  Row ones, twos, fours, eights;
};

/// What a row adds to the count of the rows above and below it, and to its own: the sums of three cells side by side,
/// and of the two beside the one in the middle.
struct RowSums {
  Row three_ones[rows], three_twos[rows], two_ones[rows], two_twos[rows];
};

inline Count count_at(const RowSums& sums, int row) {
  const Row above = sums.three_ones[row - 1];
  const Row below = sums.three_ones[row + 1];
  const Row beside = sums.two_ones[row];
  const Row above_twos = sums.three_twos[row - 1];
  const Row below_twos = sums.three_twos[row + 1];
  const Row beside_twos = sums.two_twos[row];
  const Row carry = (above & below) | (beside & (above ^ below));
  const Row outer = above_twos ^ below_twos;
  const Row inner = beside_twos ^ carry;
  const Row outer_fours = above_twos & below_twos;
  const Row inner_fours = beside_twos & carry;
  // Eight neighbours give two fours at most: with both of these there is no third.
  return {above ^ below ^ beside, outer ^ inner, outer_fours ^ inner_fours ^ (outer & inner),
          outer_fours & inner_fours};
}

struct Conway {
  Row next(const Count& count, Row cell) const { return count.twos & ~count.fours & (count.ones | cell); }
};

/// Any rule: the count chooses among the nine rows of its table, digit by digit.
struct AnyRule {
  AnyRule(std::uint16_t birth, std::uint16_t survival) {
    for (int neighbours = 0; neighbours <= 8; ++neighbours) {
      dead[neighbours] = (birth >> neighbours & 1) != 0 ? ~Row{0} : 0;
      change[neighbours] = dead[neighbours] ^ ((survival >> neighbours & 1) != 0 ? ~Row{0} : 0);
    }
  }
  Row with(int neighbours, Row cell) const { return dead[neighbours] ^ (cell & change[neighbours]); }
  static Row choose(Row digit, Row zero, Row one) { return zero ^ (digit & (zero ^ one)); }
  Row next(const Count& count, Row cell) const {
    const Row pair0 = choose(count.ones, with(0, cell), with(1, cell));
    const Row pair2 = choose(count.ones, with(2, cell), with(3, cell));
    const Row pair4 = choose(count.ones, with(4, cell), with(5, cell));
    const Row pair6 = choose(count.ones, with(6, cell), with(7, cell));
    const Row low = choose(count.twos, pair0, pair2);
    const Row high = choose(count.twos, pair4, pair6);
    return choose(count.eights, choose(count.fours, low, high), with(8, cell));
  }

  Row dead[9], change[9];
};

template <class Rule>
void evolve(Block& cells, int generations, const Rule& rule) {
  RowSums sums;
  for (int generation = 0; generation < generations; ++generation) {
    for (int row = 0; row < rows; ++row) {
      const Row cell = cells[static_cast<std::size_t>(row)];
      const Row left = cell << 1;
      const Row right = cell >> 1;
      const Row ones = left ^ right;
      const Row twos = left & right;
      sums.two_ones[row] = ones;
      sums.two_twos[row] = twos;
      sums.three_ones[row] = ones ^ cell;
      sums.three_twos[row] = twos | (ones & cell);
    }
    for (int row = 1; row < rows - 1; ++row) {
      Row& cell = cells[static_cast<std::size_t>(row)];
      cell = rule.next(count_at(sums, row), cell);
    }
  }
}

}  // namespace

void evolve_block(Block& cells, int generations, std::uint16_t birth, std::uint16_t survival) {
  constexpr std::uint16_t three = 1U << 3;
  constexpr std::uint16_t two_or_three = (1U << 2) | three;
  if (birth == three && survival == two_or_three) evolve(cells, generations, Conway{});
  else evolve(cells, generations, AnyRule(birth, survival));
}

}  // namespace gradus::life_detail
