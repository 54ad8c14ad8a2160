// A grid of packed cells with room around it, as the kernels of rows take it: a word on each side of a row and a row at
// each end, which hold what lies beyond the grid.
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

/// So many rows at a time go through the kernel, which passes over them column by column: a column's neighbours are
/// still in the first cache then.
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

  /// Rows [first, last) of the next generation, in `next`, what lies at their sides included. Rows first - 1 to `last`
  /// of this grid are closed.
  void advance_rows(const Step& step, Padded& next, std::int64_t first, std::int64_t last) const {
    if (first >= last) return;
    advance_band(step, {row(first), next.row(first), pitch_, last - first, words_});
    next.close_sides(first, last);
  }

  /// What lies left of the first and right of the last cell of these rows: dead cells, or those of the other side. In
  /// between, a word that was written as part of a register is garbage that no cell sees.
  void close_sides(std::int64_t first, std::int64_t last) {
    const auto rest = static_cast<int>(width_ % 64);
    if (!torus_ && rest == 0 && words_ % longest_lanes == 0) return;  // zeros, for nobody writes there
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

  /// Above the first row lies the last one, below the last one the first. Without a torus: zeros, since begin().
  void close_top() { close_end(-1, height_ - 1); }
  void close_bottom() { close_end(height_, 0); }
  void close_ends() {
    close_top();
    close_bottom();
  }

  /// Before the first generation: what lies beyond the ends.
  void begin() {
    std::memset(row(-1) - line, 0, static_cast<std::size_t>(line + pitch_ - 1) * 8);
    std::memset(row(height_) - 1, 0, static_cast<std::size_t>(pitch_ + 1) * 8);
  }
  /// Likewise what lies beside rows [first, last); by the thread that will compute them. The word left of a row is its
  /// own, the words before that are those of the row above: another thread may have closed that one already. This,
  /// which may be the first to touch the memory, load_rows() and store_rows() return early after a stop request.
  void begin_rows(std::int64_t first, std::int64_t last, const std::stop_token& stop) {
    for (std::int64_t y = first; y < last; ++y) {
      if (y % rows_between_looks == 0 && stop.stop_requested()) return;
      row(y)[-1] = 0;
      std::memset(row(y) + words_, 0, static_cast<std::size_t>(pitch_ - 1 - words_) * 8);
    }
  }
  /// Rows [first, last), and what lies beside them.
  void load_rows(const LifeGridView& cells, std::int64_t first, std::int64_t last, const std::stop_token& stop) {
    const std::uint64_t mask = last_word_mask(width_);
    for (std::int64_t y = first; y < last; ++y) {
      if (y % rows_between_looks == 0 && stop.stop_requested()) return;
      begin_rows(y, y + 1, stop);
      std::memcpy(row(y), cells.row(y), static_cast<std::size_t>(words_) * 8);
      row(y)[words_ - 1] &= mask;
    }
    close_sides(first, last);
  }
  void store_rows(std::int64_t first, std::int64_t last, const LifeGridSpan& cells, const std::stop_token& stop) const {
    const std::uint64_t mask = last_word_mask(width_);
    for (std::int64_t y = first; y < last; ++y) {
      if (y % rows_between_looks == 0 && stop.stop_requested()) return;
      std::memcpy(cells.row(y), row(y), static_cast<std::size_t>(words_) * 8);
      cells.row(y)[words_ - 1] &= mask;
    }
  }

 private:
  static constexpr std::int64_t rows_between_looks = 64;  ///< at the stop request
  /// Words of a cache line. One line stands before each row: its last word is what lies left of the row, its first one
  /// may be what lies right of the row before.
  static constexpr std::int64_t line = 8;
  static_assert(line % longest_lanes == 0);

  void close_end(std::int64_t beyond, std::int64_t y) {
    if (!torus_) return;
    std::memcpy(row(beyond), row(y), static_cast<std::size_t>(words_) * 8);
    close_sides(beyond, beyond + 1);
  }

  /// An odd number of lines, so that rows one below the other are in different sets of the caches.
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

/// Memory of the variants that take turns between two such grids.
inline core::Memory two_padded_grids(const Shape& shape, int) {
  return {.host = core::checked_multiply(Padded::bytes(shape.height, shape.width), std::uint64_t{2}, "two grids")};
}

}  // namespace gradus::life_detail
