// The innermost loops of simd_packed, for each set of instructions. Everything here is plain data and vectors: inline
// functions of others, the standard library's included, must not be compiled for instructions that not all machines
// have.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matmul/simd/kernels.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "matmul/simd/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::matmul_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As many sums as registers hold beside two or three vectors of B and an element of A.
#if HWY_TARGET <= HWY_AVX3
constexpr int block_rows = 12;
constexpr int block_vectors = 2;
#else
constexpr int block_rows = 4;
constexpr int block_vectors = HWY_TARGET <= HWY_AVX2 ? 3 : 2;
#endif
// Loads and stores of a part of a vector touch nothing of the rest.
constexpr bool masks = HWY_TARGET <= HWY_AVX2;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr auto lanes_of = static_cast<std::int64_t>(hn::MaxLanes(Tag<T>()));

/// a b + c, rounded once.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fused(D d, V a, V b, V c) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulAdd(a, b, c);
#else
  using T = hn::TFromD<D>;
  HWY_ALIGN T x[hn::MaxLanes(d)], y[hn::MaxLanes(d)], z[hn::MaxLanes(d)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    if constexpr (sizeof(T) == 4) z[lane] = __builtin_fmaf(x[lane], y[lane], z[lane]);
    else z[lane] = __builtin_fma(x[lane], y[lane], z[lane]);
  }
  return hn::Load(d, z);
#endif
}

/// Of a strip a block of C, and a chain of its terms.
template <class T>
struct Block {
  const T* a;
  const T* b;
  std::int64_t steps;
  std::int64_t rows;     ///< that are stored; packed slivers have zeros beyond
  std::int64_t columns;  ///< of the last vector
  const T* before;
  std::int64_t before_line;
  T* after;
  std::int64_t after_line;
  bool finish;
};

/// Memory that will be read soon, and elements of it for four steps of a block.
template <class T>
struct Ahead {
  const T* next;
  std::int64_t of_four_steps;
};

/// Which of a block's vectors is loaded and stored how: the last one in part.
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

/// `packed`: of A. `in_part`: the last vector has `columns` elements in the caller's matrices, and also in B where that
/// is not padded.
template <int rows, int vectors, bool packed, bool in_part, class T>
HWY_INLINE void multiply_block(const Strip<T>& strip, const Block<T>& block, Ahead<T>& ahead) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(block.columns));
  const auto b_mask = strip.b_padded ? hn::FirstN(d, hn::Lanes(d)) : mask;
  // What the sums are added to, and where they go, comes from afar while they are formed.
  constexpr std::int64_t worth_it = 32;
  for (int row = 0; row < rows; ++row)
    if (row < block.rows && block.steps > worth_it)
      for (int v = 0; v < vectors; ++v) __builtin_prefetch(block.after + row * block.after_line + v * lanes_of<T>, 1);
  V sums[rows][vectors];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sums[row][v] = hn::Zero(d);
  // Three rows share a pointer, for there are fewer registers for pointers than rows.
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
      // Now and then a line of what will be read next: many at once would hold up the loads of this block.
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

/// The last block of a row of them, by as few vectors as hold its columns.
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
    // In memory of its own; B is padded.
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

/// Rows of a strip from `first_row` on, `stored` of them wanted.
template <int rows, bool packed, int vectors = block_vectors, class T>
HWY_NOINLINE void multiply_rows(const Strip<T>& strip, std::int64_t first_row, std::int64_t stored) {
  constexpr bool wide = vectors != block_vectors;
  constexpr std::int64_t most = lanes_of<T> * vectors;
  // Wide blocks of a row of them are of nearly the same width, for sums of a narrow last one would wait for each other.
  const std::int64_t in_row = (strip.columns + most - 1) / most;
  const std::int64_t width =
      wide ? ((strip.columns + in_row - 1) / in_row + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T> : most;
  // The next sliver is on its way to the second cache while this one is multiplied.
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
/// As multiply_rows(), for a few rows and a strip of B that lies in the caller's matrix: so many vectors of it side by
/// side that their sums hide the time of an addition, and that whole lines come from memory, several at a time.
template <int rows, bool packed, class T>
HWY_INLINE void multiply_wide(const Strip<T>& strip, std::int64_t first_row, std::int64_t stored) {
  constexpr int registers = HWY_TARGET <= HWY_AVX3 ? 24 : 12;
  multiply_rows<rows, packed, (registers / rows < 8 ? registers / rows : 8)>(strip, first_row, stored);
}
#endif

#if HWY_TARGET <= HWY_AVX2
/// Eight rows of B at a time, as long as possible, as the processor's prefetchers like it. The chains on their way
/// stand in the first cache.
template <class T>
HWY_INLINE void chain_all_columns(const RowChains<T>& job) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int at_once = 8;
  constexpr int ahead = 256 / sizeof(T);
  const V zero = hn::Zero(d);
  for (std::int64_t step = 0; step < job.steps; step += at_once) {
    const int rows = job.steps - step < at_once ? static_cast<int>(job.steps - step) : at_once;
    for (std::int64_t column = 0; column < job.columns; column += lanes_of<T>) {
      const std::int64_t rest = job.columns - column;
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(rest < lanes_of<T> ? rest : lanes_of<T>));
      const T* const b = job.b + step * job.b_step + column;
      const T* const row = job.row + step * job.row_step;
      T* const sums = job.sums + column;
      V chain = step == 0 ? zero : rest >= lanes_of<T> ? hn::LoadU(d, sums) : hn::MaskedLoad(mask, d, sums);
      if (rows == at_once && rest >= lanes_of<T>) {
#pragma GCC unroll 8
        for (int next = 0; next < at_once; ++next) {
          __builtin_prefetch(b + next * job.b_step + ahead);
          chain = fused(d, hn::Set(d, row[next * job.row_step]), hn::LoadU(d, b + next * job.b_step), chain);
        }
      } else {
        for (int next = 0; next < rows; ++next)
          chain = fused(d, hn::Set(d, row[next * job.row_step]), hn::MaskedLoad(mask, d, b + next * job.b_step), chain);
      }
      if (rest >= lanes_of<T>) hn::StoreU(chain, d, sums);
      else hn::BlendedStore(chain, mask, d, sums);
    }
  }
}
#else
template <class T>
HWY_INLINE void chain_all_columns(const RowChains<T>&) {}
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
  // Rows that are not there must not be read.
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

// --- packing
// ----------------------------------------------------------------------------------------------------------

#if HWY_TARGET != HWY_SCALAR
/// Within each block of 128 bits: elements (line, step) of four lines (of double: two) become (step, line).
template <class D, class V>
HWY_INLINE void turn_within_blocks(D d, V* rows) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const hn::Repartition<double, D> pairs;
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[0], rows[1]));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[0], rows[1]));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[2], rows[3]));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[2], rows[3]));
    rows[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
    rows[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
    rows[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
    rows[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
  } else {
    const V low = hn::InterleaveLower(d, rows[0], rows[1]);
    rows[1] = hn::InterleaveUpper(d, rows[0], rows[1]);
    rows[0] = low;
  }
}
#endif

/// As many lines as a vector has elements: squares of them are turned in registers. Returns the steps that are done.
template <class T>
HWY_INLINE std::int64_t pack_square([[maybe_unused]] const Packing<T>& job, [[maybe_unused]] std::int64_t line) {
  std::int64_t step = 0;
#if HWY_TARGET <= HWY_AVX2
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int lanes = hn::MaxLanes(d);
  constexpr int of_block = 16 / sizeof(T);
  constexpr int blocks = lanes / of_block;
  const T* from = job.from + line * job.line_stride;
  T* to = job.to + line;
  for (; step + lanes <= job.steps; step += lanes, from += lanes, to += lanes * job.width) {
    V rows[lanes];
#pragma GCC unroll 16
    for (int row = 0; row < lanes; ++row) rows[row] = hn::LoadU(d, from + row * job.line_stride);
#pragma GCC unroll 8
    for (int group = 0; group < blocks; ++group) turn_within_blocks(d, rows + group * of_block);
      // Now vector `group * of_block + within` has, in its block number g, the group's lines of step g * of_block +
      // within.
#pragma GCC unroll 4
    for (int within = 0; within < of_block; ++within) {
      if constexpr (blocks == 2) {
        const V low = rows[within];
        const V high = rows[of_block + within];
        hn::StoreU(hn::ConcatLowerLower(d, high, low), d, to + within * job.width);
        hn::StoreU(hn::ConcatUpperUpper(d, high, low), d, to + (of_block + within) * job.width);
      } else {
#if HWY_TARGET <= HWY_AVX3
        const V lower02 = hn::ConcatLowerLower(d, rows[2 * of_block + within], rows[within]);
        const V lower13 = hn::ConcatLowerLower(d, rows[3 * of_block + within], rows[of_block + within]);
        const V upper02 = hn::ConcatUpperUpper(d, rows[2 * of_block + within], rows[within]);
        const V upper13 = hn::ConcatUpperUpper(d, rows[3 * of_block + within], rows[of_block + within]);
        hn::StoreU(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(lower13), lower02), d, to + within * job.width);
        hn::StoreU(hn::OddEvenBlocks(lower13, hn::SwapAdjacentBlocks(lower02)), d,
                   to + (of_block + within) * job.width);
        hn::StoreU(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(upper13), upper02), d,
                   to + (2 * of_block + within) * job.width);
        hn::StoreU(hn::OddEvenBlocks(upper13, hn::SwapAdjacentBlocks(upper02)), d,
                   to + (3 * of_block + within) * job.width);
#endif
      }
    }
  }
#endif
  return step;
}

/// Lines of one block of 128 bits. Returns the steps that are done.
template <class T>
HWY_INLINE std::int64_t pack_few([[maybe_unused]] const Packing<T>& job, [[maybe_unused]] std::int64_t line) {
  std::int64_t step = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int of_block = 16 / sizeof(T);
  const hn::FixedTag<T, of_block> d;
  const T* from = job.from + line * job.line_stride;
  T* to = job.to + line;
  for (; step + of_block <= job.steps; step += of_block, from += of_block, to += of_block * job.width) {
    hn::Vec<decltype(d)> rows[of_block];
#pragma GCC unroll 4
    for (int row = 0; row < of_block; ++row) rows[row] = hn::LoadU(d, from + row * job.line_stride);
    turn_within_blocks(d, rows);
#pragma GCC unroll 4
    for (int row = 0; row < of_block; ++row) hn::StoreU(rows[row], d, to + row * job.width);
  }
#endif
  return step;
}

/// Lines whose elements lie side by side in a step.
template <class T>
HWY_INLINE void pack_steps(const Packing<T>& job) {
  constexpr std::int64_t steps_ahead = 12;
  const Tag<T> d;
  for (std::int64_t step = 0; step < job.steps; ++step) {
    const T* const from = job.from + step * job.step_stride;
    T* const to = job.to + step * job.width;
    // Each step is on another page, or nearly so: no prefetcher of the processor sees the next ones.
    for (std::int64_t element = 0; element < job.lines; element += 64 / sizeof(T))
      __builtin_prefetch(from + steps_ahead * job.step_stride + element);
    std::int64_t line = 0;
    for (; line + lanes_of<T> <= job.lines; line += lanes_of<T>) hn::StoreU(hn::LoadU(d, from + line), d, to + line);
    for (; line < job.lines; ++line) to[line] = from[line];
    for (; line % lanes_of<T> != 0 && line < job.width; ++line) to[line] = 0;
  }
}

template <class T>
HWY_INLINE void pack_lines(const Packing<T>& job) {
  if (job.line_stride == 1) return pack_steps(job);
  std::int64_t line = 0;
  const auto rest_of_steps = [&](std::int64_t first, std::int64_t lines) {
    for (std::int64_t step = first; step < job.steps; ++step)
      for (std::int64_t next = 0; next < lines; ++next)
        job.to[step * job.width + line + next] = job.from[(line + next) * job.line_stride + step * job.step_stride];
  };
  if (job.step_stride == 1) {
#if HWY_TARGET <= HWY_AVX2
    for (; line + lanes_of<T> <= job.lines; line += lanes_of<T>) rest_of_steps(pack_square(job, line), lanes_of<T>);
#endif
    constexpr std::int64_t few = 16 / sizeof(T);
    for (; line + few <= job.lines; line += few) rest_of_steps(pack_few(job, line), few);
  }
  if (const std::int64_t left = job.lines - line; left > 0) rest_of_steps(0, left);
  // As far as a vector goes that has a line in it.
  const std::int64_t end = (job.lines + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T>;
  const std::int64_t border = end < job.width ? end : job.width;
  for (std::int64_t step = 0; step < job.steps && job.lines < border; ++step)
    for (std::int64_t empty = job.lines; empty < border; ++empty) job.to[step * job.width + empty] = 0;
}

#if HWY_TARGET != HWY_SCALAR
/// Lines as many as a vector has elements, one vector for each of the few.
template <int few, class D, class V>
HWY_INLINE void store_interleaved(D d, const V* values, hn::TFromD<D>* to) {
  if constexpr (few == 1) hn::StoreU(values[0], d, to);
  else if constexpr (few == 2) hn::StoreInterleaved2(values[0], values[1], d, to);
  else if constexpr (few == 3) hn::StoreInterleaved3(values[0], values[1], values[2], d, to);
  else hn::StoreInterleaved4(values[0], values[1], values[2], values[3], d, to);
}
#endif

template <int few, class T>
HWY_INLINE void interleave_few(const Interleaving<T>& job) {
  constexpr T nan = sizeof(T) == 4 ? static_cast<T>(__builtin_nanf("")) : static_cast<T>(__builtin_nan(""));
  std::int64_t line = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag<T> d;
  for (; line + lanes_of<T> <= job.lines; line += lanes_of<T>) {
    hn::Vec<decltype(d)> values[few];
#pragma GCC unroll 4
    for (int one = 0; one < few; ++one) {
      values[one] = hn::LoadU(d, job.sums + one * job.lines + line);
      values[one] = hn::IfThenElse(hn::Eq(values[one], values[one]), values[one], hn::Set(d, nan));
    }
    store_interleaved<few>(d, values, job.to + line * few);
  }
#endif
  for (; line < job.lines; ++line)
    for (int one = 0; one < few; ++one) {
      const T value = job.sums[one * job.lines + line];
      // NOLINTNEXTLINE(misc-redundant-expression): a NaN is not equal to itself; std::isnan() may not be called here
      job.to[line * few + one] = value == value ? value : nan;
    }
}

template <class T>
HWY_INLINE void interleave_lines(const Interleaving<T>& job) {
  if (job.few == 1) return interleave_few<1>(job);
  if (job.few == 2) return interleave_few<2>(job);
  if (job.few == 3) return interleave_few<3>(job);
  if (job.few == 4) return interleave_few<4>(job);
  // In place, and then as lines that become a panel.
  interleave_few<1>(Interleaving<T>{job.sums, 1, job.few * job.lines, job.sums});
  pack_lines(Packing<T>{job.sums, job.lines, 1, job.few, job.lines, job.few, job.to});
}

// --- a few lines times many
// -------------------------------------------------------------------------------------------------------------------

#if HWY_TARGET <= HWY_AVX2
// Vectors of 256 bits: the units turn more of them in a clock than of 512.
template <class T>
using LineTag = hn::FixedTag<T, 32 / sizeof(T)>;
template <class T>
constexpr std::int64_t side_by_side = 32 / sizeof(T);

/// Where lines begin, one from the other: evenly, or as listed.
struct Evenly {
  std::int64_t stride;
  std::int64_t operator()(int line) const { return line * stride; }
};
struct Listed {
  const std::int64_t* offsets;
  std::int64_t operator()(int line) const { return offsets[line]; }
};

/// A chain of each line of `units` times `side_by_side` and each of the few. A unit is `side_by_side` lines from
/// lines[unit] on, and the few from few[unit] on; `one_few`: these are the same for all. Chains start from 0, or go on
/// from `sums`.
template <int few_count, int units, bool one_few, bool far, bool go_on = false, class T, class Offset>
HWY_INLINE void chain_lines(const T* const* lines, Offset offset, const T* const* few, const Lines<T>& job,
                            std::int64_t steps, T* sums) {
  const LineTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const hn::Half<decltype(d)> half;
  constexpr int of_block = 16 / sizeof(T);
  const std::int64_t few_stride = job.few_stride;
  const std::int64_t few_step = job.few_step;
  const T* from[units];
  const T* by[units];
  V chains[units][few_count];
#pragma GCC unroll 8
  for (int unit = 0; unit < units; ++unit) {
    from[unit] = lines[unit];
    by[unit] = few[unit];
#pragma GCC unroll 8
    for (int one = 0; one < few_count; ++one)
      chains[unit][one] = go_on ? hn::LoadU(d, sums + (unit * few_count + one) * side_by_side<T>) : hn::Zero(d);
  }
  // Lines a power of two apart share a place in the first cache, which does not hold as many as are under way. So where
  // they come from afar, a cache line of each is used up before the next unit's turn.
  constexpr int of_line = far ? 64 / sizeof(T) : of_block;
  constexpr int ahead = 4 * of_line;
  std::int64_t step = 0;
  while (step + of_block <= steps) {
    const std::int64_t at_once = steps - step < of_line ? (steps - step) / of_block * of_block : of_line;
#pragma GCC unroll 8
    for (int unit = 0; unit < units; ++unit) {
      if constexpr (far) {
#pragma GCC unroll 8
        for (int line = 0; line < side_by_side<T>; ++line) __builtin_prefetch(from[unit] + offset(line) + ahead, 0, 2);
      }
      const T* by_step = by[one_few ? 0 : unit];
      for (std::int64_t block = 0; block < (far ? at_once : of_block); block += of_block) {
        V of_step[of_block];
#pragma GCC unroll 4
        for (int line = 0; line < of_block; ++line)
          of_step[line] = hn::Combine(d, hn::LoadU(half, from[unit] + offset(line + of_block)),
                                      hn::LoadU(half, from[unit] + offset(line)));
        turn_within_blocks(d, of_step);
#pragma GCC unroll 4
        for (int next = 0; next < of_block; ++next)
#pragma GCC unroll 8
          for (int one = 0; one < few_count; ++one)
            chains[unit][one] =
                fused(d, hn::Set(d, by_step[one * few_stride + next * few_step]), of_step[next], chains[unit][one]);
        from[unit] += of_block;
        by_step += of_block * few_step;
      }
      if (!one_few) by[unit] = by_step;
    }
    if (one_few) by[0] += at_once * few_step;
    step += at_once;
  }
  for (; step < steps; ++step) {
#pragma GCC unroll 8
    for (int unit = 0; unit < units; ++unit) {
      HWY_ALIGN T elements[side_by_side<T>];
      for (int line = 0; line < side_by_side<T>; ++line) elements[line] = from[unit][offset(line)];
      const V of_step = hn::Load(d, elements);
#pragma GCC unroll 8
      for (int one = 0; one < few_count; ++one)
        chains[unit][one] = fused(d, hn::Set(d, by[one_few ? 0 : unit][one * few_stride]), of_step, chains[unit][one]);
      ++from[unit];
      if (!one_few) by[unit] += few_step;
    }
    if (one_few) by[0] += few_step;
  }
#pragma GCC unroll 8
  for (int unit = 0; unit < units; ++unit)
#pragma GCC unroll 8
    for (int one = 0; one < few_count; ++one)
      hn::StoreU(chains[unit][one], d, sums + (unit * few_count + one) * side_by_side<T>);
}

/// Adds the sums of a chain of `count` lines from `line` on.
template <int few_count, class T>
HWY_INLINE void add_sums(const Lines<T>& job, std::int64_t line, std::int64_t count, bool first, const T* sums) {
  const LineTag<T> d;
  for (int one = 0; one < few_count; ++one) {
    T* const totals = job.totals + one * job.totals_line + line;
    const T* const of_one = sums + one * side_by_side<T>;
    if (count == side_by_side<T>) {
      hn::StoreU(first ? hn::LoadU(d, of_one) : hn::Add(hn::LoadU(d, totals), hn::LoadU(d, of_one)), d, totals);
    } else {
      for (std::int64_t next = 0; next < count; ++next)
        totals[next] = first ? of_one[next] : totals[next] + of_one[next];
    }
  }
}

/// `units` times `side_by_side` lines from `line` on: as many chains as the units have under way.
template <int few_count, int units, bool far, class T>
HWY_NOINLINE void add_units(const Lines<T>& job, std::int64_t line) {
  T sums[units * few_count * side_by_side<T>];
  for (std::int64_t step = 0; step < job.steps; step += job.block) {
    const T* lines[units];
    for (int unit = 0; unit < units; ++unit)
      lines[unit] = job.lines + (line + unit * side_by_side<T>)*job.line_stride + step;
    const T* const few[units] = {job.few + step * job.few_step};
    const std::int64_t rest = job.steps - step;
    chain_lines<few_count, units, true, far>(lines, Evenly{job.line_stride}, few, job,
                                             rest < job.block ? rest : job.block, sums);
    for (int unit = 0; unit < units; ++unit)
      add_sums<few_count>(job, line + unit * side_by_side<T>, side_by_side<T>, job.first && step == 0,
                          sums + unit * few_count * side_by_side<T>);
  }
}

/// Up to `side_by_side` lines from `line` on, and `units` chains of each at once. Lines and chains that are not there
/// are the first one again.
template <int few_count, int units, class T>
HWY_NOINLINE void add_chains(const Lines<T>& job, std::int64_t line) {
  constexpr std::int64_t of_unit = few_count * side_by_side<T>;
  T sums[units * of_unit];
  const std::int64_t count = job.count - line < side_by_side<T> ? job.count - line : side_by_side<T>;
  std::int64_t offsets[side_by_side<T>];
  for (int next = 0; next < side_by_side<T>; ++next) offsets[next] = next < count ? next * job.line_stride : 0;
  for (std::int64_t first = 0; first < job.steps; first += units * job.block) {
    const std::int64_t rest = job.steps - first;
    const T* lines[units];
    const T* few[units];
    int chains = 0;
    for (int unit = 0; unit < units; ++unit) {
      const bool there = unit * job.block < rest;
      const std::int64_t step = first + (there ? unit * job.block : 0);
      lines[unit] = job.lines + line * job.line_stride + step;
      few[unit] = job.few + step * job.few_step;
      if (there) chains = unit + 1;
    }
    // The last chain may be shorter than the others.
    const std::int64_t of_last = rest < chains * job.block ? rest - (chains - 1) * job.block : job.block;
    chain_lines<few_count, units, false, false>(lines, Listed{offsets}, few, job, of_last, sums);
    if (chains > 1 && of_last < job.block) {
      T last[of_unit];
      for (std::int64_t next = 0; next < of_unit; ++next) last[next] = sums[(chains - 1) * of_unit + next];
      for (int unit = 0; unit < units; ++unit) {
        const int from = unit < chains - 1 ? unit : 0;
        lines[unit] = lines[from] + (from == unit ? of_last : 0);
        few[unit] = few[from] + (from == unit ? of_last * job.few_step : 0);
      }
      chain_lines<few_count, units, false, false, true>(lines, Listed{offsets}, few, job, job.block - of_last, sums);
      for (std::int64_t next = 0; next < of_unit; ++next) sums[(chains - 1) * of_unit + next] = last[next];
    }
    for (int unit = 0; unit < chains; ++unit)
      add_sums<few_count>(job, line, count, job.first && first == 0 && unit == 0, sums + unit * of_unit);
  }
}

template <int few_count, class T>
HWY_INLINE void add_lines_of(const Lines<T>& job) {
  // Four chains hide the time of an addition; of float each turns twice as many elements meanwhile.
  constexpr int most = sizeof(T) == 4 && few_count == 1 ? 4 : 8 / few_count;
  constexpr int units = most > 2 ? (most == 8 ? 8 : 4) : few_count <= 4 || HWY_TARGET <= HWY_AVX3 ? 2 : 1;
  constexpr std::int64_t lines = side_by_side<T>;
  std::int64_t line = 0;
  for (; line + units * lines <= job.count; line += units * lines) {
    if (few_count <= 2 && job.far) add_units<few_count, units, few_count <= 2>(job, line);
    else add_units<few_count, units, false>(job, line);
  }
  // The last ones are fewer than the units have under way: several chains of each, where it has them.
  if constexpr (few_count <= 4)
    if (job.steps <= job.block) {
      if constexpr (units > 4)
        if (line + 4 * lines <= job.count) add_units<few_count, 4, false>(job, line), line += 4 * lines;
      if constexpr (units > 2)
        if (line + 2 * lines <= job.count) add_units<few_count, 2, false>(job, line), line += 2 * lines;
      for (; line < job.count; line += lines) add_chains<few_count, 1>(job, line);
    }
  for (; line < job.count; line += lines) add_chains<few_count, few_count <= 2 ? 4 : units>(job, line);
}

template <class T>
HWY_INLINE void add_all_lines(const Lines<T>& job) {
  static_assert(Lines<float>::most_few == 8 && Lines<double>::most_few == 4);
  if (job.few_count == 1) return add_lines_of<1>(job);
  if (job.few_count == 2) return add_lines_of<2>(job);
  if (job.few_count == 3) return add_lines_of<3>(job);
  if (job.few_count == 4) return add_lines_of<4>(job);
  if constexpr (Lines<T>::most_few == 8) {
    if (job.few_count == 5) return add_lines_of<5>(job);
    if (job.few_count == 6) return add_lines_of<6>(job);
    if (job.few_count == 7) return add_lines_of<7>(job);
    return add_lines_of<8>(job);
  }
}
#else
template <class T>
constexpr std::int64_t side_by_side = 0;
template <class T>
HWY_INLINE void add_all_lines(const Lines<T>&) {}
#endif

template <class T>
Geometry geometry_of() {
  return {block_rows, lanes_of<T> * block_vectors, lanes_of<T>, masks, side_by_side<T>};
}

}  // namespace

void pack_f32(const Packing<float>& job) { pack_lines(job); }
void pack_f64(const Packing<double>& job) { pack_lines(job); }
void interleave_f32(const Interleaving<float>& job) { interleave_lines(job); }
void interleave_f64(const Interleaving<double>& job) { interleave_lines(job); }
void add_lines_f32(const Lines<float>& job) { add_all_lines(job); }
void add_lines_f64(const Lines<double>& job) { add_all_lines(job); }
void chain_row_f32(const RowChains<float>& job) { chain_all_columns(job); }
void chain_row_f64(const RowChains<double>& job) { chain_all_columns(job); }
void multiply_f32(const Strip<float>& strip) { multiply_strip(strip); }
void multiply_f64(const Strip<double>& strip) { multiply_strip(strip); }
Geometry geometry_f32() { return geometry_of<float>(); }
Geometry geometry_f64() { return geometry_of<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace gradus::matmul_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace gradus::matmul_detail {

HWY_EXPORT(pack_f32);
HWY_EXPORT(pack_f64);
HWY_EXPORT(interleave_f32);
HWY_EXPORT(interleave_f64);
HWY_EXPORT(add_lines_f32);
HWY_EXPORT(add_lines_f64);
HWY_EXPORT(chain_row_f32);
HWY_EXPORT(chain_row_f64);
HWY_EXPORT(multiply_f32);
HWY_EXPORT(multiply_f64);
HWY_EXPORT(geometry_f32);
HWY_EXPORT(geometry_f64);

template <>
void pack(const Packing<float>& job) {
  HWY_DYNAMIC_DISPATCH(pack_f32)(job);
}
template <>
void pack(const Packing<double>& job) {
  HWY_DYNAMIC_DISPATCH(pack_f64)(job);
}
template <>
void interleave(const Interleaving<float>& job) {
  HWY_DYNAMIC_DISPATCH(interleave_f32)(job);
}
template <>
void interleave(const Interleaving<double>& job) {
  HWY_DYNAMIC_DISPATCH(interleave_f64)(job);
}
template <>
void add_lines(const Lines<float>& job) {
  HWY_DYNAMIC_DISPATCH(add_lines_f32)(job);
}
template <>
void add_lines(const Lines<double>& job) {
  HWY_DYNAMIC_DISPATCH(add_lines_f64)(job);
}
template <>
void chain_row(const RowChains<float>& job) {
  HWY_DYNAMIC_DISPATCH(chain_row_f32)(job);
}
template <>
void chain_row(const RowChains<double>& job) {
  HWY_DYNAMIC_DISPATCH(chain_row_f64)(job);
}
template <>
void multiply(const Strip<float>& strip) {
  HWY_DYNAMIC_DISPATCH(multiply_f32)(strip);
}
template <>
void multiply(const Strip<double>& strip) {
  HWY_DYNAMIC_DISPATCH(multiply_f64)(strip);
}
template <>
Geometry geometry<float>() {
  return HWY_DYNAMIC_DISPATCH(geometry_f32)();
}
template <>
Geometry geometry<double>() {
  return HWY_DYNAMIC_DISPATCH(geometry_f64)();
}

}  // namespace gradus::matmul_detail
#endif  // HWY_ONCE
