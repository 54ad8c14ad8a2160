// The future of 32 x 32 cells, of which nothing around is known.
#pragma once

#include <array>
#include <cstdint>

namespace gradus::life_detail {

/// Row after row; the cell in column c is bit c.
using Block = std::array<std::uint32_t, 32>;

/// `generations` later, 1 to 8: right in rows and columns from `generations` to 31 - `generations`, anything elsewhere.
/// Bit n of `birth` and `survival`: a cell comes alive, or stays so, with n live neighbours.
void evolve_block(Block& cells, int generations, std::uint16_t birth, std::uint16_t survival);

}  // namespace gradus::life_detail
