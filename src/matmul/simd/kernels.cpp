// The innermost loops of simd_packed except multiply(), compiled for each instruction set.
#include "matmul/simd/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matmul/simd/kernels.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "matmul/simd/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::matmul_detail {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX2
/// Processes eight rows of B at a time, each over its full length, because the CPU prefetches long rows well. The
/// chains stay in the L1 cache.
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

// --- packing

#if HWY_TARGET != HWY_SCALAR
/// Transposes within each 128-bit block: element (line, step) of four lines (double: two) becomes element (step, line).
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

/// Packs as many lines as a vector has elements, transposing in registers. Returns the number of packed steps.
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
      // A vector now consists of 128-bit blocks. Block g of vector `group * of_block + within` holds the lines of the
      // group at step g * of_block + within.
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

/// Packs as many lines as fit in a 128-bit block. Returns the number of packed steps.
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

/// Packs lines whose elements of one step are contiguous.
template <class T>
HWY_INLINE void pack_steps(const Packing<T>& job) {
  constexpr std::int64_t steps_ahead = 12;
  const Tag<T> d;
  for (std::int64_t step = 0; step < job.steps; ++step) {
    const T* const from = job.from + step * job.step_stride;
    T* const to = job.to + step * job.width;
    // Prefetches here, because consecutive steps are usually on different pages, and the CPU's prefetchers do not cross
    // pages.
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
  // Appends lines of zeros until the number of lines is a multiple of a vector's elements.
  const std::int64_t end = (job.lines + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T>;
  const std::int64_t border = end < job.width ? end : job.width;
  for (std::int64_t step = 0; step < job.steps && job.lines < border; ++step)
    for (std::int64_t empty = job.lines; empty < border; ++empty) job.to[step * job.width + empty] = 0;
}

#if HWY_TARGET != HWY_SCALAR
/// Interleaves `few` vectors and stores them. Each vector holds the sums that belong to one of the few and to
/// consecutive lines (see Lines).
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
  // Replaces NaN in place. Then packs the `job.few` rows of sums as if each were a line of a panel.
  interleave_few<1>(Interleaving<T>{job.sums, 1, job.few * job.lines, job.sums});
  pack_lines(Packing<T>{job.sums, job.lines, 1, job.few, job.lines, job.few, job.to});
}

// --- a few lines times many

#if HWY_TARGET <= HWY_AVX2
// Uses 256-bit vectors, because the CPU transposes more 256-bit than 512-bit vectors per clock.
template <class T>
using LineTag = hn::FixedTag<T, 32 / sizeof(T)>;
template <class T>
constexpr std::int64_t side_by_side = 32 / sizeof(T);

struct Evenly {
  std::int64_t stride;
  std::int64_t operator()(int line) const { return line * stride; }
};
struct Listed {
  const std::int64_t* offsets;
  std::int64_t operator()(int line) const { return offsets[line]; }
};

/// Computes chains for several units of lines at once: one chain for each pair of a line and one of the few. Unit u has
/// `side_by_side` lines, which begin at lines[u]. These lines are multiplied by the few that begin at few[u]. If
/// `one_few` is true, all units use the few of unit 0. Chains start from 0 or, if `go_on`, continue from `sums`.
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
  // If the distance between lines is a power of two, the elements of one step map to the same set of the L1 cache. The
  // set cannot hold elements of all lines in use. If lines come from memory, the loop therefore uses a whole cache line
  // of every line of a unit before it proceeds to the next unit.
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

/// Adds the chain sums of `count` lines, beginning with `line`, to the totals.
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

/// Processes units * side_by_side lines, beginning with `line`. Together, the chains of these lines hide the latency of
/// an addition.
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

/// Computes `units` chains at once for each of up to `side_by_side` lines. If there are fewer lines, the first line
/// takes the places of the missing lines. If there are fewer chains, the first chain takes the places of the missing
/// chains.
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
  // The largest number of units computed at once. If few_count is 1, four chains in float or eight in double hide the
  // latency of an addition. Fewer chains suffice in float, because a chain in float transposes twice as many elements
  // as a chain in double.
  constexpr int most = sizeof(T) == 4 && few_count == 1 ? 4 : 8 / few_count;
  constexpr int units = most > 2 ? (most == 8 ? 8 : 4) : few_count <= 4 || HWY_TARGET <= HWY_AVX3 ? 2 : 1;
  constexpr std::int64_t lines = side_by_side<T>;
  std::int64_t line = 0;
  for (; line + units * lines <= job.count; line += units * lines) {
    if (few_count <= 2 && job.far) add_units<few_count, units, few_count <= 2>(job, line);
    else add_units<few_count, units, false>(job, line);
  }
  // The remaining lines are too few to hide the latency. If k is long enough, several chains of each line are computed
  // at once.
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
Geometry geometry<float>() {
  return HWY_DYNAMIC_DISPATCH(geometry_f32)();
}
template <>
Geometry geometry<double>() {
  return HWY_DYNAMIC_DISPATCH(geometry_f64)();
}

}  // namespace gradus::matmul_detail
#endif  // HWY_ONCE
