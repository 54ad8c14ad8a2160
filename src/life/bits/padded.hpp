// A grid of packed cells with a margin, which the row kernels need. The margin contains the cells beyond the grid: a
// word on each side of each row, and a row above and below the grid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stop_token>

#include "core/checked.hpp"
#include "cpu/scratch.hpp"
#include "life/bits/cells.hpp"
#include "life/problem.hpp"
#include "life/simd/steps.hpp"

namespace gradus::life_detail {

/// The kernel processes this number of rows at a time, column by column. When it reaches the next column, the
/// neighbouring cells are therefore still in the L1 cache.
inline constexpr std::int64_t cached_rows = 32;

class Padded {
 public:
  Padded(std::int64_t height, std::int64_t width, bool torus)
      : height_(height), width_(width), words_((width + 63) / 64), pitch_(pitch_of(width)), torus_(torus),
        scratch_(bytes(height, width)), first_(static_cast<std::uint64_t*>(scratch_.data()) + pitch_ + line) {}

  static std::uint64_t bytes(std::int64_t height, std::int64_t width) {
    const auto rows = static_cast<std::uint64_t>(height) + 2;
    return core::checked_add(core::checked_multiply(rows, static_cast<std::uint64_t>(pitch_of(width)) * 8, "a grid"),
                             std::uint64_t{2 * line * 8}, "a grid");
  }

  std::int64_t height() const { return height_; }
  std::int64_t pitch() const { return pitch_; }
  bool is_torus() const { return torus_; }
  std::uint64_t* row(std::int64_t y) { return first_ + y * pitch_; }
  const std::uint64_t* row(std::int64_t y) const { return first_ + y * pitch_; }

  /// Computes rows [first, last) of the next generation in `next`, with their margins. The margins of rows `first` - 1
  /// to `last` of this grid must be set.
  void advance_rows(const Step& step, Padded& next, std::int64_t first, std::int64_t last) const {
    if (first >= last) return;
    advance_band(step, {row(first), next.row(first), pitch_, last - first, words_});
    next.close_sides(first, last);
  }

  /// Sets the cells to the left of the first cell and to the right of the last cell of these rows. On a torus, these
  /// two cells are copies of the cells of the opposite side. Otherwise they are dead. The kernels store full registers,
  /// so there may be garbage between these cells and the end of the row. No cell of the grid depends on it.
  void close_sides(std::int64_t first, std::int64_t last) {
    const auto rest = static_cast<int>(width_ % 64);
    // The margin stays zero, because no kernel overwrites it.
    if (!torus_ && rest == 0 && words_ % longest_lanes == 0) return;
    const std::uint64_t mask = last_word_mask(width_);
    for (std::int64_t y = first; y < last; ++y) {
      std::uint64_t* const words = row(y);
      const std::uint64_t end = words[words_ - 1] & mask;
      const std::uint64_t begin = torus_ ? words[0] & 1 : 0;
      if (rest == 0) {
        words[words_] = begin;
      } else {
        words[words_ - 1] = end | begin << rest;
      }
      if (torus_) words[-1] = end << (rest == 0 ? 0 : 64 - rest);
    }
  }

  /// On a torus, copies the last row to the place above the first row, and the first row to the place below the last
  /// row. Otherwise these two places stay zero, as begin() has set them.
  void close_top() { close_end(-1, height_ - 1); }
  void close_bottom() { close_end(height_, 0); }
  void close_ends() {
    close_top();
    close_bottom();
  }

  /// Clears the margin above and below the grid. Must be called before the first generation.
  void begin() {
    std::memset(row(-1) - line, 0, static_cast<std::size_t>(line + pitch_ - 1) * 8);
    std::memset(row(height_) - 1, 0, static_cast<std::size_t>(pitch_ + 1) * 8);
  }
  /// Clears the margins next to rows [first, last). Should be called in the thread that will compute these rows,
  /// because the call may be the first to touch their memory. To the left of a row, clears only the nearest word. The
  /// words before this word belong to the row above, and another thread may have set its margin already. After a stop
  /// request, begin_rows(), load_rows() and store_rows() return early.
  void begin_rows(std::int64_t first, std::int64_t last, const std::stop_token& stop) {
    for (std::int64_t y = first; y < last; ++y) {
      if (y % rows_between_polls == 0 && stop.stop_requested()) return;
      row(y)[-1] = 0;
      std::memset(row(y) + words_, 0, static_cast<std::size_t>(pitch_ - 1 - words_) * 8);
    }
  }
  /// Copies rows [first, last) from the given cells and sets their margins.
  void load_rows(const LifeGridView& cells, std::int64_t first, std::int64_t last, const std::stop_token& stop) {
    const std::uint64_t mask = last_word_mask(width_);
    for (std::int64_t y = first; y < last; ++y) {
      if (y % rows_between_polls == 0 && stop.stop_requested()) return;
      begin_rows(y, y + 1, stop);
      std::memcpy(row(y), cells.row(y), static_cast<std::size_t>(words_) * 8);
      row(y)[words_ - 1] &= mask;
    }
    close_sides(first, last);
  }
  void store_rows(std::int64_t first, std::int64_t last, const LifeGridSpan& cells, const std::stop_token& stop) const {
    const std::uint64_t mask = last_word_mask(width_);
    for (std::int64_t y = first; y < last; ++y) {
      if (y % rows_between_polls == 0 && stop.stop_requested()) return;
      std::memcpy(cells.row(y), row(y), static_cast<std::size_t>(words_) * 8);
      cells.row(y)[words_ - 1] &= mask;
    }
  }

 private:
  static constexpr std::int64_t rows_between_polls = 64;
  /// Words per cache line. There is one line before each row. Its last word is the row's left margin. Its first word
  /// may be the right margin of the row above.
  static constexpr std::int64_t line = 8;
  static_assert(line % longest_lanes == 0);

  void close_end(std::int64_t beyond, std::int64_t y) {
    if (!torus_) return;
    std::memcpy(row(beyond), row(y), static_cast<std::size_t>(words_) * 8);
    close_sides(beyond, beyond + 1);
  }

  /// Returns the distance between rows. It is an odd number of cache lines, because rows above each other must be in
  /// different cache sets.
  static std::int64_t pitch_of(std::int64_t width) {
    const std::int64_t lines = (width / 64 + (width % 64 > 0 ? 1 : 0) + line - 1) / line + 1;
    return (lines | 1) * line;
  }

  std::int64_t height_;
  std::int64_t width_;
  std::int64_t words_;
  std::int64_t pitch_;
  bool torus_;
  cpu::Scratch scratch_;
  std::uint64_t* first_;
};

/// Returns the memory of a variant that alternates between two padded grids.
inline core::Memory two_padded_grids(const Shape& shape, int) {
  return {.host = core::checked_multiply(Padded::bytes(shape.height, shape.width), std::uint64_t{2}, "two grids")};
}

}  // namespace gradus::life_detail
