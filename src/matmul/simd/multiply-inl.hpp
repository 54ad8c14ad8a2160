// Multiplies a sliver of rows by a strip of columns. This file takes long to compile, so multiply_f32.cpp and
// multiply_f64.cpp each compile it for one type.

#if defined(GRADUS_MATMUL_SIMD_MULTIPLY_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_MATMUL_SIMD_MULTIPLY_TOGGLE
#undef GRADUS_MATMUL_SIMD_MULTIPLY_TOGGLE
#else
#define GRADUS_MATMUL_SIMD_MULTIPLY_TOGGLE
#endif

#include "matmul/simd/vectors-inl.hpp"

// NOLINTBEGIN(misc-definitions-in-headers): compiled once for each instruction set, in one source file each

HWY_BEFORE_NAMESPACE();
namespace gradus::matmul_detail {
namespace HWY_NAMESPACE {
namespace {

/// A block of C within a strip, and the chain of terms to add to it.
template <class T>
struct Block {
  const T* a;
  const T* b;
  std::int64_t steps;
  std::int64_t rows;     ///< number of rows to store; in a packed sliver, all further rows are zero
  std::int64_t columns;  ///< number of columns in the last vector
  const T* before;
  std::int64_t before_line;
  T* after;
  std::int64_t after_line;
  bool finish;
};

/// The memory to prefetch, and the number of its elements to prefetch during every four steps of a block.
template <class T>
struct Ahead {
  const T* next;
  std::int64_t of_four_steps;
};

/// Loads or stores vector `v` of a block. If `in_part` is true, the last vector is partial.
template <int vectors, bool in_part, class D, class V = hn::Vec<D>>
HWY_INLINE V load(D d, const hn::TFromD<D>* from, int v, hn::Mask<D> mask) {
  const hn::TFromD<D>* const there = from + v * static_cast<std::int64_t>(hn::MaxLanes(d));
  if (in_part && v == vectors - 1) return hn::MaskedLoad(mask, d, there);
  return hn::LoadU(d, there);
}
template <int vectors, bool in_part, class D, class V = hn::Vec<D>>
HWY_INLINE void store(V value, D d, hn::TFromD<D>* to, int v, hn::Mask<D> mask) {
  hn::TFromD<D>* const there = to + v * static_cast<std::int64_t>(hn::MaxLanes(d));
  if (in_part && v == vectors - 1) hn::BlendedStore(value, mask, d, there);
  else hn::StoreU(value, d, there);
}

/// While the sums of a block are computed, prefetches the memory in which they will be stored.
template <int rows, int vectors, class T>
HWY_INLINE void prefetch_result(const Block<T>& block) {
  constexpr std::int64_t worth_it = 32;
  for (int row = 0; row < rows; ++row)
    if (row < block.rows && block.steps > worth_it)
      for (int v = 0; v < vectors; ++v) __builtin_prefetch(block.after + row * block.after_line + v * lanes_of<T>, 1);
}

/// Computes a block. If `packed` is true, A is packed. If `in_part` is true, the last vector of C is partial, and so is
/// the last vector of an unpadded B.
template <int rows, int vectors, bool packed, bool in_part, class T>
HWY_INLINE void multiply_block(const Strip<T>& strip, const Block<T>& block, Ahead<T>& ahead) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(block.columns));
  const auto b_mask = strip.b_padded ? hn::FirstN(d, hn::Lanes(d)) : mask;
  prefetch_result<rows, vectors>(block);
  V sums[rows][vectors];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sums[row][v] = hn::Zero(d);
  // Three rows share a pointer, because there are fewer registers for pointers than rows.
  const std::int64_t a_row = packed ? 1 : strip.a_row;
  const std::int64_t a_step = packed ? block_rows : strip.a_step;
  const T* a[(rows + 2) / 3];
#pragma GCC unroll 4
  for (int third = 0; third < (rows + 2) / 3; ++third) a[third] = block.a + std::int64_t{3} * third * a_row;
  const T* b = block.b;
  const auto add_products = [&](std::int64_t step) HWY_ATTR {
    V of_b[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) of_b[v] = load<vectors, in_part>(d, b + step * strip.b_step, v, b_mask);
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) {
      const V of_a = hn::Set(d, a[row / 3][row % 3 * a_row + step * a_step]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sums[row][v] = fused(d, of_a, of_b[v], sums[row][v]);
    }
  };
  const auto go_on = [&](std::int64_t steps) HWY_ATTR {
    b += steps * strip.b_step;
#pragma GCC unroll 4
    for (int third = 0; third < (rows + 2) / 3; ++third) a[third] += steps * a_step;
  };
  std::int64_t step = 0;
  if (packed) {
    for (; step + 4 <= block.steps; step += 4) {
      // Prefetches one cache line at a time. Many prefetches at once would delay the loads of this block.
      __builtin_prefetch(ahead.next, 0, 2);
      ahead.next += ahead.of_four_steps;
#pragma GCC unroll 4
      for (int next = 0; next < 4; ++next) add_products(next);
      go_on(4);
    }
  }
  for (; step < block.steps; ++step) {
    add_products(0);
    go_on(1);
  }
  if (block.before != nullptr) {
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row)
      if (!packed || row < block.rows)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
          sums[row][v] =
              hn::Add(load<vectors, in_part>(d, block.before + row * block.before_line, v, mask), sums[row][v]);
  }
  if (block.finish) {
    const V alpha = hn::Set(d, strip.alpha);
    const V beta = hn::Set(d, strip.beta);
    const V nan = hn::Set(d, sizeof(T) == 4 ? static_cast<T>(__builtin_nanf("")) : static_cast<T>(__builtin_nan("")));
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row)
      if (!packed || row < block.rows)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
          V value = strip.alpha == 1 ? sums[row][v] : hn::Mul(alpha, sums[row][v]);
          if (strip.beta != 0)
            value = fused(d, beta, load<vectors, in_part>(d, block.after + row * block.after_line, v, mask), value);
          sums[row][v] = hn::IfThenElse(hn::Eq(value, value), value, nan);
        }
  }
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row)
    if (!packed || row < block.rows)
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        store<vectors, in_part>(sums[row][v], d, block.after + row * block.after_line, v, mask);
}

/// Computes the last block in a row of blocks, using the smallest number of vectors that holds the block's columns.
template <int rows, int vectors, bool packed, class T>
HWY_INLINE void multiply_last(const Strip<T>& strip, Block<T> block, std::int64_t columns, Ahead<T>& ahead) {
  if constexpr (vectors > 1)
    if (columns <= (vectors - 1) * lanes_of<T>)
      return multiply_last<rows, vectors - 1, packed>(strip, block, columns, ahead);
  block.columns = columns - (vectors - 1) * lanes_of<T>;
  if (block.columns == lanes_of<T>) return multiply_block<rows, vectors, packed, false>(strip, block, ahead);
  if constexpr (masks) {
    multiply_block<rows, vectors, packed, true>(strip, block, ahead);
  } else {
    // If the instruction set has no masks, computes the block in a buffer. B is padded in this case.
    HWY_ALIGN T before[rows * vectors * lanes_of<T>];
    HWY_ALIGN T after[rows * vectors * lanes_of<T>];
    constexpr std::int64_t line = vectors * lanes_of<T>;
    const Block<T> real = block;
    for (std::int64_t row = 0; row < real.rows; ++row)
      for (std::int64_t column = 0; column < line; ++column) {
        const bool inside = column < columns;
        before[row * line + column] =
            inside && real.before != nullptr ? real.before[row * real.before_line + column] : T{0};
        after[row * line + column] =
            inside && real.finish && strip.beta != 0 ? real.after[row * real.after_line + column] : T{0};
      }
    block.before = real.before == nullptr ? nullptr : before;
    block.before_line = line;
    block.after = after;
    block.after_line = line;
    multiply_block<rows, vectors, packed, false>(strip, block, ahead);
    for (std::int64_t row = 0; row < real.rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        real.after[row * real.after_line + column] = after[row * line + column];
  }
}

/// Computes rows of a strip, beginning with `first_row`. Only the first `stored` rows are stored.
template <int rows, bool packed, int vectors = block_vectors, class T>
HWY_NOINLINE void multiply_rows(const Strip<T>& strip, std::int64_t first_row, std::int64_t stored) {
  constexpr bool wide = vectors != block_vectors;
  constexpr std::int64_t most = lanes_of<T> * vectors;
  // Divides the columns nearly evenly, because a narrow block would have too few sums to hide an addition's latency.
  const std::int64_t in_row = (strip.columns + most - 1) / most;
  const std::int64_t width =
      wide ? ((strip.columns + in_row - 1) / in_row + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T> : most;
  // Prefetches the next sliver into the L2 cache while the current sliver is multiplied.
  Ahead<T> ahead{strip.next_a,
                 !packed || strip.next_a == strip.a ? 0 : (std::int64_t{4} * block_rows + in_row - 1) / in_row};
  for (std::int64_t first = 0; first < strip.steps; first += strip.block) {
    const std::int64_t rest = strip.steps - first;
    const bool last = rest <= strip.block;
    Block<T> block;
    block.a = packed ? strip.a + first * block_rows : strip.a + first_row * strip.a_row + first * strip.a_step;
    block.steps = last ? rest : strip.block;
    block.rows = stored;
    block.columns = lanes_of<T>;
    block.finish = last && strip.finish;
    for (std::int64_t column = 0, panel = 0; column < strip.columns; column += width, ++panel) {
      block.b = strip.b + (wide ? column : panel * strip.b_panel) + first * strip.b_step;
      block.before = first > 0                 ? strip.totals + first_row * strip.totals_line + column
                     : strip.before == nullptr ? nullptr
                                               : strip.before + first_row * strip.before_line + column;
      block.before_line = first > 0 ? strip.totals_line : strip.before_line;
      block.after = last ? strip.after + first_row * strip.after_line + column
                         : strip.totals + first_row * strip.totals_line + column;
      block.after_line = last ? strip.after_line : strip.totals_line;
      const std::int64_t columns = strip.columns - column < width ? strip.columns - column : width;
      if (columns == most) multiply_block<rows, vectors, packed, false>(strip, block, ahead);
      else multiply_last<rows, vectors, packed>(strip, block, columns, ahead);
    }
  }
}

#if HWY_TARGET <= HWY_AVX2
/// Computes a few rows for a strip of B in the caller's matrix. The width of a block meets two goals: its sums hide the
/// latency of an addition, and several whole cache lines of B are loaded at a time.
template <int rows, bool packed, class T>
HWY_INLINE void multiply_wide(const Strip<T>& strip, std::int64_t first_row, std::int64_t stored) {
  constexpr int registers = HWY_TARGET <= HWY_AVX3 ? 24 : 12;
  multiply_rows<rows, packed, (registers / rows < 8 ? registers / rows : 8)>(strip, first_row, stored);
}
#endif

template <class T>
HWY_INLINE void multiply_strip(const Strip<T>& strip) {
#if HWY_TARGET <= HWY_AVX2
  if (!strip.b_padded && (strip.rows <= 4 || (strip.steps <= 16 && strip.columns > 2 * lanes_of<T>)) &&
      !strip.a_packed) {
    std::int64_t row = 0;
    for (; row + 4 <= strip.rows; row += 4) multiply_wide<4, false>(strip, row, 4);
    if (strip.rows - row == 3) multiply_wide<3, false>(strip, row, 3);
    if (strip.rows - row == 2) multiply_wide<2, false>(strip, row, 2);
    if (strip.rows - row == 1) multiply_wide<1, false>(strip, row, 1);
    return;
  }
  if (!strip.b_padded && strip.rows <= 4) {
    if (strip.rows == 1) return multiply_wide<1, true>(strip, 0, 1);
    if (strip.rows == 2) return multiply_wide<2, true>(strip, 0, 2);
    return multiply_wide<4, true>(strip, 0, strip.rows);
  }
#endif
  if (strip.a_packed) {
    if (strip.rows == 1) return multiply_rows<1, true>(strip, 0, 1);
    if (strip.rows == 2) return multiply_rows<2, true>(strip, 0, 2);
#if HWY_TARGET <= HWY_AVX3
    if (strip.rows <= 4) return multiply_rows<4, true>(strip, 0, strip.rows);
    if (strip.rows <= 8) return multiply_rows<8, true>(strip, 0, strip.rows);
#endif
    return multiply_rows<block_rows, true>(strip, 0, strip.rows);
  }
  // Rows past the end of A must not be read.
  std::int64_t row = 0;
  for (; row + block_rows <= strip.rows; row += block_rows) multiply_rows<block_rows, false>(strip, row, block_rows);
#if HWY_TARGET <= HWY_AVX3
  if (row + 8 <= strip.rows) multiply_rows<8, false>(strip, row, 8), row += 8;
  if (row + 6 <= strip.rows) multiply_rows<6, false>(strip, row, 6), row += 6;
  if (row + 4 <= strip.rows) multiply_rows<4, false>(strip, row, 4), row += 4;
#endif
  if (row + 3 <= strip.rows) multiply_rows<3, false>(strip, row, 3), row += 3;
  if (row + 2 <= strip.rows) multiply_rows<2, false>(strip, row, 2), row += 2;
  if (row + 1 <= strip.rows) multiply_rows<1, false>(strip, row, 1);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::matmul_detail
HWY_AFTER_NAMESPACE();

// NOLINTEND(misc-definitions-in-headers)
#endif
