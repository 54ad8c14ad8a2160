// A generation of packed cells, for each set of instructions: 64 cells of a word and several words of a register at
// once.
#pragma once

#include <array>
#include <cstdint>

#include "life/network/plan.hpp"

namespace gradus::life_detail {

/// A rule as the kernels take it.
struct Step {
  int compiled = -1;          ///< its place among compiled_rules, or -1: then
  Coefficients coefficients;  ///< the general network takes these
};
constexpr Step step_of(LifeRule rule) { return {compiled_index(rule), coefficients_of(rule)}; }

/// Words of the longest register. Rows of a Band begin at a multiple of so many.
inline constexpr std::int64_t longest_lanes = 8;

/// Rows one below the other, `pitch` words apart. Read are also the row above and the row below, and the words left and
/// right of each row: what lies there is the caller's to say. Written are `words` words of each row, and what comes up
/// to a multiple of longest_lanes, which is garbage. The two grids are not the same.
struct Band {
  const std::uint64_t* from;
  std::uint64_t* to;
  std::int64_t pitch;
  std::int64_t rows;
  std::int64_t words;
};
void advance_band(const Step& step, const Band& band);

/// For tests: whether double shifts (AVX512-VBMI2) may be used where the processor has them, as they are at first.
/// Returns what held before.
bool allow_double_shifts(bool allowed);

/// Words of a register of this machine.
std::int64_t lanes_here();

/// A grid of few columns of words: each column is contiguous, from top to bottom, so that a register holds cells of
/// several rows. Columns are `pitch` words apart; a register's words before the first row and behind the last multiple
/// of lanes_here() rows belong to a column too, and are the kernel's: zeros at first. Bits past the width are 0.
struct Columns {
  const std::uint64_t* from;  ///< of column 0 the word of row 0
  std::uint64_t* to;
  std::int64_t pitch;
  std::int64_t height;
  std::int64_t width;
  bool torus;
};
/// What lies beyond the first and the last row. Before the first generation; advance_columns() leaves it done.
void close_columns(const Columns& grid);
void advance_columns(const Step& step, const Columns& grid);

/// 32 x 32 cells of which nothing around is known, two rows of 32 in a word: the cell in row r, column c is bit
/// 32 * (r % 2) + c of word r / 2.
inline constexpr std::int64_t block_words = 16;
using Block = std::array<std::uint64_t, block_words>;

/// `generations` later: right in rows and columns from `generations` to 31 - `generations`, anything elsewhere.
void advance_block(const Step& step, Block& block, int generations);

/// Bits that are 1.
std::uint64_t count_ones(const std::uint64_t* words, std::int64_t count);

}  // namespace gradus::life_detail
