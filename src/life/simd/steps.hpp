// Computes generations of packed cells, for all words of a register at once. The kernels are compiled for each
// instruction set.
#pragma once

#include <array>
#include <cstdint>

#include "life/network/plan.hpp"

namespace gradus::life_detail {

/// A rule in the form in which the kernels use it.
struct Step {
  int compiled = -1;          ///< index in compiled_rules; -1: the kernels use `coefficients`
  Coefficients coefficients;  ///< data of the general network
};
constexpr Step step_of(LifeRule rule) { return {compiled_index(rule), coefficients_of(rule)}; }

/// Number of words of the longest register. Rows of a Band begin at multiples of this number.
inline constexpr std::int64_t longest_lanes = 8;

/// Rows that are `pitch` words apart. The kernel also reads the row above, the row below, and the words to the left and
/// right of each row. The caller must set all words that the kernel reads. The kernel writes `words` words of each row,
/// and garbage up to the next multiple of longest_lanes. Input and output must be different grids.
struct Band {
  const std::uint64_t* from;
  std::uint64_t* to;
  std::int64_t pitch;
  std::int64_t rows;
  std::int64_t words;
};
void advance_band(const Step& step, const Band& band);

/// Enables or disables double shifts (AVX512-VBMI2), for tests. They are enabled by default if the CPU supports them.
/// Returns the previous setting.
bool allow_double_shifts(bool allowed);

/// Returns the number of words in a register of this machine.
std::int64_t lanes_here();

/// A grid that is only a few words wide. It is stored by columns, so that a register holds cells of several rows.
/// Columns are `pitch` words apart. Each column has a register of words before its first row, and another one after the
/// last multiple of lanes_here() rows. The kernel uses these extra words, which must initially be zero. Bits past the
/// width are 0.
struct Columns {
  const std::uint64_t* from;  ///< the word of row 0 in column 0
  std::uint64_t* to;
  std::int64_t pitch;
  std::int64_t height;
  std::int64_t width;
  bool torus;
};
/// Sets the words beyond the first and the last row. Must be called before the first generation. Afterwards,
/// advance_columns() sets these words in each generation.
void close_columns(const Columns& grid);
void advance_columns(const Step& step, const Columns& grid);

/// 32 x 32 cells with unknown surroundings, two rows per word. The cell in row r, column c is bit 32 * (r % 2) + c of
/// word r / 2.
inline constexpr std::int64_t block_words = 16;
using Block = std::array<std::uint64_t, block_words>;

/// Advances a block. Afterwards, the cells in rows and columns `generations` to 31 - `generations` are correct, and all
/// other cells are garbage.
void advance_block(const Step& step, Block& block, int generations);

std::uint64_t count_ones(const std::uint64_t* words, std::int64_t count);

}  // namespace gradus::life_detail
