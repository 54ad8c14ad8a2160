// The oracle: computes the canonical result in the simplest way. It is never a rung and never timed as a baseline.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/life.hpp"

namespace gradus::life_detail {

/// A rectangle of known cells, one byte each. All cells outside have the same state, which is stored, too.
struct Field {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool background = false;
  std::vector<std::uint8_t> cells;

  bool at(std::int64_t y, std::int64_t x) const {
    if (y < top || y >= top + height || x < left || x >= left + width) return background;
    return cells[static_cast<std::size_t>((y - top) * width + x - left)] != 0;
  }
};

struct Truth {
  Field field;
  std::uint64_t population = 0;       ///< number of cells that differ from the background
  std::vector<std::uint64_t> hashes;  ///< hashes of generations 0 to N
};

/// Computes all generations one after another. On a plane, each generation extends the field by one cell on each side.
Truth oracle(const LifeGridView& cells, const LifeOptions& options);

/// Computes one generation. If the grid is bounded, it keeps its size.
Field next_generation(const Field& now, LifeRule rule, LifeBoundary boundary);

}  // namespace gradus::life_detail
