// What of simd_packed is compiled for each set of instructions: packing, and the product of a sliver of rows and a
// strip of columns.
#pragma once

#include <cstdint>

namespace gradus::matmul_detail {

/// A block of C in registers, of the instructions at hand: rows, of A; columns, of B.
struct Geometry {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t vector;  ///< elements of one
  /// Whether a block may end within a vector of memory that is not packed.
  bool masks;
  /// Lines whose sums add_lines() forms side by side; 0 where it is not better than to pack them.
  std::int64_t lines;
};

/// Lines, rows of A or columns of B, that become one packed panel: element (line, step) goes to step * width + line.
template <class T>
struct Packing {
  const T* from;
  std::int64_t line_stride;
  std::int64_t step_stride;
  std::int64_t lines;  ///< at most `width`; beyond them there will be zeros, as far as a vector goes
  std::int64_t steps;
  std::int64_t width;
  T* to;
};

/// Finished sums of lines, of alpha 1 and beta 0, become rows of C that lie one after the other: sum `one` of a line
/// stands at one * lines + line.
template <class T>
struct Interleaving {
  T* sums;  ///< NaN among them becomes the usual one
  std::int64_t few;
  std::int64_t lines;
  T* to;
};

/// A sliver of rows of A times a strip of columns of B. Sums start from those in `before`, stand in `totals` from one
/// chain to the next, and end in `after`.
template <class T>
struct Strip {
  const T* a;                ///< the sliver; packed, its elements of a step lie side by side
  bool a_packed;             ///< otherwise it is in the caller's matrix:
  std::int64_t a_row;        ///< from a row to the next
  std::int64_t a_step;       ///< from a step to the next
  const T* b;                ///< the first panel
  std::int64_t b_step;       ///< from a step of a panel to the next
  std::int64_t b_panel;      ///< from a panel to the next
  bool b_padded;             ///< the last panel has as many columns as the others, whose results are of no use
  std::int64_t rows;         ///< at most those of the geometry
  std::int64_t columns;      ///< any number
  std::int64_t steps;        ///< terms of each sum
  std::int64_t block;        ///< terms of a chain
  T* totals;                 ///< rows x columns, where there is more than one block: sums on their way
  std::int64_t totals_line;  ///< from a row to the next; a multiple of a vector's elements, no less than `columns`
  const T* before;           ///< totals of the terms before these, or null
  std::int64_t before_line;
  T* after;  ///< where those with these terms go
  std::int64_t after_line;
  const T* next_a;  ///< the packed sliver that will be multiplied next, or this one
  bool finish;      ///< they go through alpha, beta and the rule of NaN, C being at `after`
  T alpha;
  T beta;
};

/// Lines of which each is multiplied by a few others: rows of A by columns of B, or the other way round. The elements
/// of a line lie side by side, and go through no packed memory: squares of them are turned in registers.
template <class T>
struct Lines {
  static constexpr std::int64_t most_few = sizeof(T) == 4 ? 8 : 4;  ///< half a vector of 512 bits
  const T* lines;
  std::int64_t line_stride;  ///< from a line to the next
  std::int64_t count;        ///< of lines
  const T* few;
  std::int64_t few_stride;  ///< from one of the few to the next
  std::int64_t few_step;    ///< from an element of one to the next
  std::int64_t few_count;   ///< at most `most_few`
  std::int64_t steps;       ///< terms of each sum
  std::int64_t block;       ///< terms of a chain
  T* totals;                ///< sum of line i and number j of the few: j * totals_line + i
  std::int64_t totals_line;
  bool first;  ///< nothing is in `totals` yet
  bool far;    ///< the lines are together larger than the second cache
};

/// A chain of each column of B, of a few of its rows: sums[column] = the chain of row[step] * b(step, column). Rows of
/// B lie in the caller's matrix, and come from memory.
template <class T>
struct RowChains {
  const T* row;
  std::int64_t row_step;  ///< from an element to the next
  const T* b;
  std::int64_t b_step;  ///< from a row to the next
  std::int64_t steps;   ///< terms of a chain
  std::int64_t columns;
  T* sums;
};

template <class T>
Geometry geometry();
template <class T>
void chain_row(const RowChains<T>& job);
template <class T>
void add_lines(const Lines<T>& job);
template <class T>
void interleave(const Interleaving<T>& job);
template <class T>
void pack(const Packing<T>& job);
template <class T>
void multiply(const Strip<T>& strip);

}  // namespace gradus::matmul_detail
