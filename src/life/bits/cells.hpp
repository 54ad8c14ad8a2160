// Operations on packed cells: copies, counts, hashes, and the bounding box of live cells.
#pragma once

#include <cstdint>
#include <stop_token>

#include "gradus/life.hpp"

namespace gradus::life_detail {

/// Returns the mask of the cells in the last word of a row.
constexpr std::uint64_t last_word_mask(std::int64_t width) {
  return width % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (width % 64)) - 1;
}

/// A rectangle of rows and columns. The ends are exclusive.
struct Box {
  std::int64_t top = 0;
  std::int64_t bottom = 0;
  std::int64_t left = 0;
  std::int64_t right = 0;

  std::int64_t height() const { return bottom - top; }
  std::int64_t width() const { return right - left; }
  bool empty() const { return bottom <= top || right <= left; }
};

/// Writes all words of `to`. Cell (y, x) of `to` gets the state of cell (y + down, x + across) of `from`. If the cell
/// of `from` does not exist, the new cell is dead. The grids must not overlap. For long copies, pass a stop token.
/// After a stop request, the copy ends early, and some cells of `to` are undefined.
void copy_cells(const LifeGridView& from, std::int64_t down, std::int64_t across, const LifeGridSpan& to,
                const std::stop_token& stop = {});

/// Returns the smallest box that holds all live cells, or an empty box if no cell is alive. Bits past the width must be
/// 0. This function and the next two functions throw InterruptedError after a stop request.
Box live_box(const LifeGridView& cells, const std::stop_token& stop = {});

/// Returns the number of live cells. The threads share the rows. Bits past the width must be 0.
std::uint64_t population(const LifeGridView& cells, int threads = 1, const std::stop_token& stop = {});

/// Returns the hash that gradus/life.hpp defines. The first cell has column `left` and row `top`. Bits past the width
/// must be 0.
std::uint64_t hash_of(const LifeGridView& cells, std::int64_t left, std::int64_t top, const std::stop_token& stop = {});

/// Returns true if two grids of the same size have the same cells. Bits past the width must be 0.
bool same_cells(const LifeGridView& one, const LifeGridView& other);

}  // namespace gradus::life_detail
