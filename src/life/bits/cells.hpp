// Packed cells: copied from place to place, counted, hashed, and the rectangle that holds the live ones.
#pragma once

#include <cstdint>
#include <stop_token>

#include "gradus/life.hpp"

namespace gradus::life_detail {

/// The bits of a row's last word that are cells.
constexpr std::uint64_t last_word_mask(std::int64_t width) {
  return width % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (width % 64)) - 1;
}

/// A rectangle of rows and columns; ends are one beyond the last.
struct Box {
  std::int64_t top = 0;
  std::int64_t bottom = 0;
  std::int64_t left = 0;
  std::int64_t right = 0;

  std::int64_t height() const { return bottom - top; }
  std::int64_t width() const { return right - left; }
  bool empty() const { return bottom <= top || right <= left; }
};

/// Writes all words of `to`: cell (y, x) is that of `from` at (y + down, x + across), dead where there is none. The
/// memory is not the same. Code that copies much gives a token; what is not copied after a stop request is garbage.
void copy_cells(const LifeGridView& from, std::int64_t down, std::int64_t across, const LifeGridSpan& to,
                const std::stop_token& stop = {});

/// The smallest box that holds all live cells; an empty one where there are none. Bits past the width must be 0.
/// InterruptedError after a stop request, as of the next two.
Box live_box(const LifeGridView& cells, const std::stop_token& stop = {});

/// Bits past the width must be 0. Threads share the rows.
std::uint64_t population(const LifeGridView& cells, int threads = 1, const std::stop_token& stop = {});

/// The hash of gradus/life.hpp of cells the first of which lies at column `left` of row `top`. Bits past the width must
/// be 0.
std::uint64_t hash_of(const LifeGridView& cells, std::int64_t left, std::int64_t top, const std::stop_token& stop = {});

/// Whether all cells of two grids of the same size are the same. Bits past the width must be 0.
bool same_cells(const LifeGridView& one, const LifeGridView& other);

}  // namespace gradus::life_detail
