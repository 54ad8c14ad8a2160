// Cells as numbers, one per cell, with a border around the grid: the storage of the textbook rungs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "life/bits/cells.hpp"
#include "life/problem.hpp"

namespace gradus::life_detail {

/// A grid of cells with a border of one cell. The border holds the cells beyond the grid: dead cells or, on a torus,
/// the cells of the opposite side.
template <class Cell>
class Numbers {
 public:
  Numbers(std::int64_t height, std::int64_t width)
      : height_(height), width_(width), stride_(width + 2), cells_((height + 2) * (width + 2)) {}

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  /// Returns the cell of column 0 in row y, -1 <= y <= height. Columns -1 to `width` exist.
  Cell* row(std::int64_t y) { return cells_.data() + (y + 1) * stride_ + 1; }
  const Cell* row(std::int64_t y) const { return cells_.data() + (y + 1) * stride_ + 1; }

  void kill_border_row(std::int64_t y) { std::fill_n(row(y) - 1, stride_, Cell{0}); }
  void kill_border_cells(std::int64_t y) { row(y)[-1] = row(y)[width_] = 0; }
  /// On a torus, wrap_row() copies the cells of the opposite side to both ends of row y. wrap_ends() fills the rows
  /// beyond the first and the last row in the same way.
  void wrap_row(std::int64_t y) {
    row(y)[-1] = row(y)[width_ - 1];
    row(y)[width_] = row(y)[0];
  }
  void wrap_ends() {
    std::copy_n(row(height_ - 1) - 1, stride_, row(-1) - 1);
    std::copy_n(row(0) - 1, stride_, row(height_) - 1);
  }

 private:
  std::int64_t height_;
  std::int64_t width_;
  std::int64_t stride_;
  Buffer<Cell> cells_;
};

/// Returns the number of rows to process between two polls for a stop request.
inline std::int64_t stretch_of_rows(const Problem& problem, int threads) {
  return core::chunk_length(problem.cells.height, problem.cells.width * 4, threads);
}

/// Returns a number of threads for which each thread gets at least `rows` rows.
inline int threads_for_rows(const Problem& problem, const Execution& execution, std::int64_t rows) {
  return static_cast<int>(std::clamp<std::int64_t>(problem.cells.height / rows, 1, cpu::thread_count(execution)));
}

/// Unpacks a row of cells to numbers and sets the border cells at its ends.
template <class Cell>
void unpack_row(const Problem& problem, std::int64_t y, Numbers<Cell>& to) {
  const std::uint64_t* const from = problem.cells.row(y);
  Cell* const row = to.row(y);
  for (std::int64_t x = 0; x < to.width(); ++x) row[x] = static_cast<Cell>(from[x / 64] >> (x % 64) & 1);
  if (problem.is_torus()) to.wrap_row(y);
  else to.kill_border_cells(y);
}

template <class Cell>
void pack_row(const Numbers<Cell>& from, std::int64_t y, const Problem& problem) {
  const Cell* const row = from.row(y);
  std::uint64_t* const to = problem.result.row(y);
  for (std::int64_t first = 0; first < from.width(); first += 64) {
    std::uint64_t word = 0;
    for (std::int64_t x = first; x < std::min(first + 64, from.width()); ++x)
      word |= static_cast<std::uint64_t>(row[x]) << (x - first);
    to[first / 64] = word;
  }
}

/// Returns the number of generations that one parallel region computes on packed cells. These generations take some
/// milliseconds.
inline std::int64_t generations_of_a_team(const Problem& problem) {
  const double area = static_cast<double>(problem.cells.height) * static_cast<double>(problem.cells.width);
  return std::max<std::int64_t>(static_cast<std::int64_t>(0x1p29 / std::max(area, 4096.0)), 1);
}

/// Returns the memory of two grids of this cell type, with their borders.
template <class Cell>
core::Memory two_grids(const Shape& shape, int) {
  const auto area = core::checked_multiply(static_cast<std::uint64_t>(shape.height) + 2,
                                           static_cast<std::uint64_t>(shape.width) + 2, "a grid");
  return {.host = core::checked_multiply(area, std::uint64_t{2 * sizeof(Cell)}, "two grids")};
}

/// Reports progress about twenty times a second.
class Ticker {
 public:
  Ticker(const Problem& problem, const Execution& execution)
      : progress_(execution.progress), total_(problem.generations) {}
  void operator()(std::int64_t done) {
    if (!progress_) return;
    if (done < total_ && core::seconds_since(last_) < 0.05) return;
    last_ = core::Clock::now();
    progress_({.phase = "generation", .done = done, .total = total_, .detail = {}});
  }

 private:
  const std::function<void(const Progress&)>& progress_;
  std::int64_t total_;
  core::Clock::time_point last_ = core::Clock::now();
};

inline constexpr std::string_view while_computing = "stopped while computing generations";

}  // namespace gradus::life_detail
