// The functions of simd_packed that are compiled for each instruction set.
#pragma once

#include <cstdint>

namespace gradus::matmul_detail {

/// The size of a block of C that stays in registers with the current instruction set: rows of A by columns of B.
struct Geometry {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t vector;  ///< elements per vector
  /// True if the last vector of a block may be partial in unpacked memory.
  bool masks;
  /// The number of lines that add_lines() sums in parallel, or 0 if packing is at least as good.
  std::int64_t lines;
};

/// Packs lines (rows of A or columns of B) into one panel. Element (line, step) is stored at step * width + line.
template <class T>
struct Packing {
  const T* from;
  std::int64_t line_stride;
  std::int64_t step_stride;
  std::int64_t lines;  ///< number of lines, at most `width`; lines of zeros fill up the last vector
  std::int64_t steps;
  std::int64_t width;
  T* to;
};

/// Stores finished sums (alpha = 1, beta = 0) as consecutive rows of C. sums[j * lines + i] is the sum for line i and
/// line j of the few lines.
template <class T>
struct Interleaving {
  T* sums;  ///< input; each NaN in it is replaced by the canonical NaN
  std::int64_t few;
  std::int64_t lines;
  T* to;
};

/// Multiplies a sliver of rows of A by a strip of columns of B. The sums start from `before`. Between chains, the sums
/// are kept in `totals`. At the end, they are stored in `after`.
template <class T>
struct Strip {
  const T* a;                ///< the sliver; if packed, its elements of one step are contiguous
  bool a_packed;             ///< if false, the sliver is in the caller's matrix, with the following strides
  std::int64_t a_row;        ///< distance from a row to the next
  std::int64_t a_step;       ///< distance from a step to the next
  const T* b;                ///< the first panel of the strip
  std::int64_t b_step;       ///< distance from a step of a panel to the next
  std::int64_t b_panel;      ///< distance from a panel to the next
  bool b_padded;             ///< true if the last panel is padded to full width; results of the padding are discarded
  std::int64_t rows;         ///< at most Geometry::rows
  std::int64_t columns;      ///< number of columns in the strip
  std::int64_t steps;        ///< number of terms of each sum
  std::int64_t block;        ///< number of terms of a chain
  T* totals;                 ///< rows x columns partial sums, if there is more than one chain
  std::int64_t totals_line;  ///< distance from a row to the next: a multiple of a vector's elements, at least `columns`
  const T* before;           ///< totals of the preceding terms, or null
  std::int64_t before_line;
  T* after;  ///< destination of the totals
  std::int64_t after_line;
  const T* next_a;  ///< the packed sliver to multiply next, or `a`
  bool finish;      ///< true to apply alpha, beta and the NaN rule; `after` is then C
  T alpha;
  T beta;
};

/// Multiplies many lines by a few other lines, called the few: rows of A by columns of B, or the reverse. The elements
/// of a line are contiguous. Lines are not packed, but small squares of elements are transposed in registers.
template <class T>
struct Lines {
  static constexpr std::int64_t most_few = sizeof(T) == 4 ? 8 : 4;  ///< number of elements in half of a 512-bit vector
  const T* lines;
  std::int64_t line_stride;  ///< distance from a line to the next
  std::int64_t count;        ///< number of lines
  const T* few;
  std::int64_t few_stride;  ///< distance from one of the few lines to the next
  std::int64_t few_step;    ///< distance from an element of one of the few lines to the next
  std::int64_t few_count;   ///< at most `most_few`
  std::int64_t steps;       ///< number of terms of each sum
  std::int64_t block;       ///< number of terms of a chain
  T* totals;                ///< totals[j * totals_line + i] is the sum for line i and line j of the few
  std::int64_t totals_line;
  bool first;  ///< true if `totals` is still uninitialized
  bool far;    ///< true if all lines together exceed the L2 cache
};

/// Computes one chain per column over some rows of B: sums[column] is the chain of row[step] * b(step, column). Reads B
/// in place.
template <class T>
struct RowChains {
  const T* row;
  std::int64_t row_step;  ///< distance from an element of `row` to the next
  const T* b;
  std::int64_t b_step;  ///< distance from a row of B to the next
  std::int64_t steps;   ///< number of terms of a chain
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
