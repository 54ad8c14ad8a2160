// simd_packed: panels of A and B, packed in the order in which they are read, and a block of C whose sums stay in
// vector registers. The canonical result; the production variant of the processor.
//
// What changes from `openmp_tiled`: there each product loads a sum and an element of B and stores the sum. Here
// * 12 rows by two vectors of C (4 by three where there are 16 registers) stay in registers for the 256 terms of a
// chain:
//   two vectors of B and 12 elements of A are loaded for 24 fused multiplications and additions of a vector each, and
//   nothing is stored. That many sums are more than the units have under way, so that none waits for another;
// * what the five loops around it hold stays in the level of the memory that is fast enough for it: 256 terms of 12
//   rows of A in the first cache, from where they serve a strip of columns of B; up to 4 KiB of each column of the
//   strip in the second one, from where they serve all rows; the packed rows of A in the last one. C is loaded and
//   stored once for each of these 4 KiB;
// * A and B are packed: into slivers of 12 rows and panels of two vectors of columns, of which the innermost loop reads
//   one element after the other. No page and no cache line is touched in vain, transposed matrices cost no more than
//   others, and at the border there are zeros;
// * the best instructions of the processor are taken at run time (AVX-512, AVX2, ...), by Highway.
//
// Work: m n k multiplications and additions, two vectors of them in a clock at best. Bytes: A and B are copied once for
// each 8192 columns or rows of the other. Memory: the packed panels, at most 128 MiB; C once more where beta is not 0.
// Limits: none. Without fused instructions (before 2013) the C library's fma takes their place, some hundred times
// slower. Source: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008); F. G. Van Zee,
// R. van de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality" (2015).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matmul/simd_packed.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstdint>

#ifndef GRADUS_MATMUL_SIMD_PACKED
#define GRADUS_MATMUL_SIMD_PACKED
namespace gradus::matmul_detail {

/// A block of C in registers, of the instructions at hand: rows, of A; columns, of B.
struct Geometry {
  std::int64_t rows;
  std::int64_t columns;
};

/// Lines, rows of A or columns of B, that become one packed panel: element (line, step) goes to step * width + line.
template <class T>
struct Packing {
  const T* from;
  std::int64_t line_stride;
  std::int64_t step_stride;
  std::int64_t lines;  ///< at most `width`; beyond them there will be zeros
  std::int64_t steps;
  std::int64_t width;
  T* to;
};

/// A sliver of rows times a strip of columns.
template <class T>
struct Strip {
  const T* a;            ///< the packed sliver
  const T* b;            ///< the first panel of the strip
  std::int64_t b_line;   ///< from a step of a panel of B to the next
  std::int64_t b_panel;  ///< from a panel to the next
  const T* b_last;       ///< the last panel, if it has fewer columns than the others: that one is always packed
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t steps;  ///< terms of each sum
  std::int64_t block;  ///< terms of a chain
  T* totals;           ///< of all columns, rounded up to panels, of a sliver; sums on their way
  std::int64_t totals_line;
  const T* before;    ///< totals of the terms before these, or null
  T* after;           ///< where those with these terms go
  std::int64_t line;  ///< of both, from a row to the next
  const T* next_a;    ///< the sliver that will be multiplied next, or this one
  bool finish;        ///< they go through alpha, beta and the rule of NaN, C being at `after`
  T alpha;
  T beta;
  T nan;
};

}  // namespace gradus::matmul_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::matmul_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3
constexpr int block_rows = 12;
constexpr int block_vectors = 2;
#else
constexpr int block_rows = 4;
constexpr int block_vectors = HWY_TARGET <= HWY_AVX2 ? 3 : 2;
#endif

template <class T>
using Tag = hn::ScalableTag<T>;

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

/// Memory that will be read soon, and elements of it for four steps of a block.
template <class T>
struct Ahead {
  const T* next;
  std::int64_t of_four_steps;
};

/// A block of C: `rows` by `vectors`, of which the last may go beyond `columns`.
template <int rows, int vectors, class T>
HWY_INLINE void multiply_block(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::int64_t b_line,
                               std::int64_t steps, const T* before, std::int64_t before_line, T* after,
                               std::int64_t after_line, bool finish, const Strip<T>& strip, Ahead<T>& ahead) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  // What the sums are added to, and where they go, comes from afar while they are formed.
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; v += static_cast<int>(64 / (lanes * sizeof(T)) > 0 ? 64 / (lanes * sizeof(T)) : 1))
      __builtin_prefetch(after + row * after_line + v * lanes, 1);
  V sums[rows][vectors];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) sums[row][v] = hn::Zero(d);
  const auto add_products = [&](const T* of_sliver, const T* of_panel) HWY_ATTR {
    V of_b[vectors];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) of_b[v] = hn::LoadU(d, of_panel + v * lanes);
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) {
      const V of_a = hn::Set(d, of_sliver[row]);
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) sums[row][v] = fused(d, of_a, of_b[v], sums[row][v]);
    }
  };
  std::int64_t step = 0;
  for (; step + 4 <= steps; step += 4) {
    // Now and then a line of what will be read next: many at once would hold up the loads of this block.
    __builtin_prefetch(ahead.next, 0, 2);
    ahead.next += ahead.of_four_steps;
#pragma GCC unroll 4
    for (int next = 0; next < 4; ++next) add_products(a + next * block_rows, b + next * b_line);
    a += 4 * block_rows;
    b += 4 * b_line;
  }
  for (; step < steps; ++step) {
    add_products(a, b);
    a += block_rows;
    b += b_line;
  }
  if (before != nullptr) {
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v)
        sums[row][v] = hn::Add(hn::LoadU(d, before + row * before_line + v * lanes), sums[row][v]);
  }
  if (finish) {
    const V alpha = hn::Set(d, strip.alpha);
    const V beta = hn::Set(d, strip.beta);
    const V nan = hn::Set(d, strip.nan);
    const bool reads_c = strip.beta != 0;
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) {
        V value = hn::Mul(alpha, sums[row][v]);
        if (reads_c) value = fused(d, beta, hn::LoadU(d, after + row * after_line + v * lanes), value);
        sums[row][v] = hn::IfThenElse(hn::Eq(value, value), value, nan);
      }
  }
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) hn::StoreU(sums[row][v], d, after + row * after_line + v * lanes);
}

/// A block at the right border: memory of others lies beyond its columns.
template <int rows, int vectors, class T>
HWY_NOINLINE void multiply_border(const T* a, const T* b, std::int64_t b_line, std::int64_t steps, std::int64_t columns,
                                  const T* before, std::int64_t before_line, T* after, std::int64_t after_line,
                                  bool finish, const Strip<T>& strip, Ahead<T>& ahead) {
  const Tag<T> d;
  constexpr auto width = static_cast<std::int64_t>(hn::MaxLanes(d)) * vectors;
  HWY_ALIGN T totals[rows * width];
  HWY_ALIGN T results[rows * width];
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < width; ++column) {
      const bool inside = column < columns;
      totals[row * width + column] = inside && before != nullptr ? before[row * before_line + column] : T{0};
      results[row * width + column] = inside && finish && strip.beta != 0 ? after[row * after_line + column] : T{0};
    }
  multiply_block<rows, vectors>(a, b, b_line, steps, before != nullptr ? totals : nullptr, width, results, width,
                                finish, strip, ahead);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      after[row * after_line + column] = results[row * width + column];
}

/// The last panel of a strip, with as few vectors as hold its columns.
template <int rows, int vectors, class T>
HWY_INLINE void multiply_last_panel(const T* a, const T* b, std::int64_t b_line, std::int64_t steps,
                                    std::int64_t columns, const T* before, std::int64_t before_line, T* after,
                                    std::int64_t after_line, bool in_place, bool finish, const Strip<T>& strip,
                                    Ahead<T>& ahead) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<T>()));
  if constexpr (vectors > 1)
    if (columns <= (vectors - 1) * lanes)
      return multiply_last_panel<rows, vectors - 1>(a, b, b_line, steps, columns, before, before_line, after,
                                                    after_line, in_place, finish, strip, ahead);
  if (in_place || columns == vectors * lanes)
    multiply_block<rows, vectors>(a, b, b_line, steps, before, before_line, after, after_line, finish, strip, ahead);
  else
    multiply_border<rows, vectors>(a, b, b_line, steps, columns, before, before_line, after, after_line, finish, strip,
                                   ahead);
}

template <int rows, class T>
HWY_NOINLINE void multiply_rows(const Strip<T>& strip) {
  constexpr auto width = static_cast<std::int64_t>(hn::MaxLanes(Tag<T>())) * block_vectors;
  // The next sliver is on its way to the second cache while this one is multiplied.
  const std::int64_t panels = (strip.columns + width - 1) / width;
  Ahead<T> ahead{strip.next_a, strip.next_a == strip.a ? 0 : (4 * block_rows + panels - 1) / panels};
  for (std::int64_t first = 0; first < strip.steps; first += strip.block) {
    const std::int64_t rest = strip.steps - first;
    const std::int64_t steps = rest < strip.block ? rest : strip.block;
    const bool last = rest <= strip.block;
    const T* const a = strip.a + first * block_rows;
    for (std::int64_t column = 0, panel = 0; column < strip.columns; column += width, ++panel) {
      const T* const own = strip.totals + column;
      const T* const before = first > 0 ? own : strip.before == nullptr ? nullptr : strip.before + column;
      const std::int64_t before_line = first > 0 ? strip.totals_line : strip.line;
      T* const after = last ? strip.after + column : strip.totals + column;
      const std::int64_t after_line = last ? strip.line : strip.totals_line;
      const std::int64_t columns = strip.columns - column;
      if (columns >= width) {
        multiply_block<rows, block_vectors>(a, strip.b + panel * strip.b_panel + first * strip.b_line, strip.b_line,
                                            steps, before, before_line, after, after_line, last && strip.finish, strip,
                                            ahead);
      } else {
        const bool in_place = first > 0 && !last;
        multiply_last_panel<rows, block_vectors>(a, strip.b_last + first * width, width, steps, columns, before,
                                                 before_line, after, after_line, in_place, last && strip.finish, strip,
                                                 ahead);
      }
    }
  }
}

template <class T>
HWY_INLINE void multiply(const Strip<T>& strip) {
  switch (strip.rows) {
    case 1: return multiply_rows<1>(strip);
    case 2: return multiply_rows<2>(strip);
    case 3: return multiply_rows<3>(strip);
#if HWY_TARGET <= HWY_AVX3
    case 4: return multiply_rows<4>(strip);
    case 5: return multiply_rows<5>(strip);
    case 6: return multiply_rows<6>(strip);
    case 7: return multiply_rows<7>(strip);
    case 8: return multiply_rows<8>(strip);
    case 9: return multiply_rows<9>(strip);
    case 10: return multiply_rows<10>(strip);
    case 11: return multiply_rows<11>(strip);
#endif
    default: return multiply_rows<block_rows>(strip);
  }
}

/// Four lines, of which the elements of a step will lie side by side: 4 x 4 elements are turned in registers, as many
/// of these squares at once as a vector has blocks of 128 bits.
template <class T>
HWY_INLINE void pack_four(const Packing<T>& job, std::int64_t line) {
  const T* const from = job.from + line * job.line_stride;
  T* const to = job.to + line;
  std::int64_t step = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag<T> d;
  const hn::FixedTag<T, 16 / sizeof(T)> block;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  for (; step + lanes <= job.steps; step += lanes) {
    const auto r0 = hn::LoadU(d, from + step);
    const auto r1 = hn::LoadU(d, from + job.line_stride + step);
    const auto r2 = hn::LoadU(d, from + 2 * job.line_stride + step);
    const auto r3 = hn::LoadU(d, from + 3 * job.line_stride + step);
    HWY_ALIGN T turned[4 * lanes];
    if constexpr (sizeof(T) == 4) {
      const hn::Repartition<double, decltype(d)> pairs;
      const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
      const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
      const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
      const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
      hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, turned);
      hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, turned + lanes);
      hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, turned + 2 * lanes);
      hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, turned + 3 * lanes);
      // The block of 128 bits at `group` of the vector at `within` belongs to step 4 group + within.
      for (std::int64_t group = 0; group < lanes / 4; ++group)
#pragma GCC unroll 4
        for (std::int64_t within = 0; within < 4; ++within)
          hn::StoreU(hn::Load(block, turned + within * lanes + 4 * group), block,
                     to + (step + 4 * group + within) * job.width);
    } else {
      hn::Store(hn::InterleaveLower(d, r0, r1), d, turned);
      hn::Store(hn::InterleaveLower(d, r2, r3), d, turned + lanes);
      hn::Store(hn::InterleaveUpper(d, r0, r1), d, turned + 2 * lanes);
      hn::Store(hn::InterleaveUpper(d, r2, r3), d, turned + 3 * lanes);
      for (std::int64_t group = 0; group < lanes / 2; ++group)
#pragma GCC unroll 2
        for (std::int64_t within = 0; within < 2; ++within) {
          T* const there = to + (step + 2 * group + within) * job.width;
          hn::StoreU(hn::Load(block, turned + within * 2 * lanes + 2 * group), block, there);
          hn::StoreU(hn::Load(block, turned + (within * 2 + 1) * lanes + 2 * group), block, there + 2);
        }
    }
  }
#endif
  for (; step < job.steps; ++step)
    for (std::int64_t next = 0; next < 4; ++next) to[step * job.width + next] = from[next * job.line_stride + step];
}

template <class T>
HWY_INLINE void pack(const Packing<T>& job) {
  if (job.line_stride == 1) {
    constexpr std::int64_t steps_ahead = 12;
    const Tag<T> d;
    constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
    for (std::int64_t step = 0; step < job.steps; ++step) {
      const T* const from = job.from + step * job.step_stride;
      T* const to = job.to + step * job.width;
      // Each step is on another page, or nearly so: no prefetcher of the processor sees the next ones.
      for (std::int64_t element = 0; element < job.lines; element += 64 / sizeof(T))
        __builtin_prefetch(from + steps_ahead * job.step_stride + element);
      std::int64_t line = 0;
      for (; line + lanes <= job.lines; line += lanes) hn::StoreU(hn::LoadU(d, from + line), d, to + line);
      for (; line < job.lines; ++line) to[line] = from[line];
      for (; line < job.width; ++line) to[line] = 0;
    }
    return;
  }
  std::int64_t line = 0;
  if (job.step_stride == 1)
    for (; line + 4 <= job.lines; line += 4) pack_four(job, line);
  for (; line < job.lines; ++line)
    for (std::int64_t step = 0; step < job.steps; ++step)
      job.to[step * job.width + line] = job.from[line * job.line_stride + step * job.step_stride];
  for (; line < job.width; ++line)
    for (std::int64_t step = 0; step < job.steps; ++step) job.to[step * job.width + line] = 0;
}

template <class T>
Geometry geometry() {
  return {block_rows, static_cast<std::int64_t>(hn::MaxLanes(Tag<T>())) * block_vectors};
}

}  // namespace

void pack_f32(const Packing<float>& job) { pack(job); }
void pack_f64(const Packing<double>& job) { pack(job); }
void multiply_f32(const Strip<float>& strip) { multiply(strip); }
void multiply_f64(const Strip<double>& strip) { multiply(strip); }
Geometry geometry_f32() { return geometry<float>(); }
Geometry geometry_f64() { return geometry<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace gradus::matmul_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <omp.h>

#include <algorithm>
#include <atomic>

#include "core/checked.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/scratch.hpp"
#include "cpu/threads.hpp"
#include "execution/machine.hpp"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

namespace {

HWY_EXPORT(pack_f32);
HWY_EXPORT(pack_f64);
HWY_EXPORT(multiply_f32);
HWY_EXPORT(multiply_f64);
HWY_EXPORT(geometry_f32);
HWY_EXPORT(geometry_f64);

// By the type of what they are given.
void pack(const Packing<float>& job) { HWY_DYNAMIC_DISPATCH(pack_f32)(job); }
void pack(const Packing<double>& job) { HWY_DYNAMIC_DISPATCH(pack_f64)(job); }
void multiply(const Strip<float>& strip) { HWY_DYNAMIC_DISPATCH(multiply_f32)(strip); }
void multiply(const Strip<double>& strip) { HWY_DYNAMIC_DISPATCH(multiply_f64)(strip); }
template <class T>
Geometry geometry() {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(geometry_f32)();
  else return HWY_DYNAMIC_DISPATCH(geometry_f64)();
}

constexpr std::int64_t rounded_up(std::int64_t count, std::int64_t granule) {
  return (count + granule - 1) / granule * granule;
}

// --- the sizes of the blocks
// ------------------------------------------------------------------------------------------

constexpr std::int64_t chunk_bytes = 4096;  // of a row of A or a column of B that are packed at a time
constexpr std::int64_t pass_lines = 8192;   // rows of A, and columns of B, that are packed at a time

/// Columns of a strip: half of the second cache, which holds what a chunk has of them.
std::int64_t strip_columns(std::int64_t panel) {
  static const auto half =
      static_cast<std::int64_t>(std::max<std::uint64_t>(execution::this_machine().l2_bytes, 1 << 18) / 2);
  return std::max(half / chunk_bytes / panel, std::int64_t{1}) * panel;
}

/// How a problem is cut. A pass is a part of C, for which a chunk of the terms after the other is packed and
/// multiplied.
struct Plan {
  Plan(std::int64_t m, std::int64_t n, std::int64_t k, int element_bytes, Geometry geometry)
      : chunk(std::min(k, chunk_bytes / element_bytes)), chunks((k + chunk - 1) / chunk), panel(geometry.columns),
        sliver(geometry.rows), pass_m(std::min(m, pass_lines / sliver * sliver)),
        pass_n(std::min(n, pass_lines / panel * panel)),
        strip(std::min(strip_columns(panel), rounded_up(pass_n, panel))) {}

  std::int64_t chunk;   ///< terms
  std::int64_t chunks;  ///< of them
  std::int64_t panel;
  std::int64_t sliver;
  std::int64_t pass_m;
  std::int64_t pass_n;
  std::int64_t strip;
  /// Elements of packed memory: two chunks, so that one can be packed while another is still read.
  std::int64_t buffers() const { return chunks > 1 ? 2 : 1; }
  std::int64_t packed_a() const { return rounded_up(pass_m, sliver) * chunk; }
  std::int64_t packed_b() const { return rounded_up(pass_n, panel) * chunk; }
  std::int64_t scratch() const { return sliver * strip; }  // of a thread
};

/// Memory for a plan, which one thread uses or all of a team: packed A, packed B, and a strip of sums for each thread.
template <class T>
class Workspace {
 public:
  Workspace(const Plan& plan, int threads)
      : plan_(plan), memory_(static_cast<std::size_t>(elements(plan, threads)) * sizeof(T)) {}

  static std::int64_t elements(const Plan& plan, int threads) {
    return plan.buffers() * (part(plan.packed_a()) + part(plan.packed_b())) + threads * part(plan.scratch());
  }

  T* a(std::int64_t turn) { return first() + turn % plan_.buffers() * part(plan_.packed_a()); }
  T* b(std::int64_t turn) {
    return first() + plan_.buffers() * part(plan_.packed_a()) + turn % plan_.buffers() * part(plan_.packed_b());
  }
  T* scratch(int thread) {
    return first() + plan_.buffers() * (part(plan_.packed_a()) + part(plan_.packed_b())) +
           thread * part(plan_.scratch());
  }

 private:
  /// Each begins on a cache line, not all of them on the same lines of a page.
  static std::int64_t part(std::int64_t elements) { return rounded_up(elements, 64) + 64; }
  T* first() { return static_cast<T*>(memory_.data()); }

  const Plan& plan_;
  cpu::Scratch memory_;
};

/// One product, by the threads of a team or by one alone.
template <class T>
class Product {
 public:
  /// `totals`: m x n, where sums on their way cannot stand in C.
  Product(const Problem<T>& problem, const Plan& plan, Workspace<T>& workspace, T* totals, int threads)
      : problem_(problem), plan_(plan), workspace_(workspace), totals_(totals), threads_(threads) {}

  /// What the thread does of it. All threads of the team come here.
  void run(int thread) {
    for (std::int64_t column = 0; column < problem_.n; column += plan_.pass_n)
      for (std::int64_t row = 0; row < problem_.m; row += plan_.pass_m)
        run_pass(row, std::min(plan_.pass_m, problem_.m - row), column, std::min(plan_.pass_n, problem_.n - column),
                 thread);
  }

 private:
  bool stopped() const { return problem_.stop.stop_requested(); }

  /// Orders what the others packed before what this thread reads.
  void wait_for_others() const {
    if (threads_ > 1) {
#pragma omp barrier
    }
  }

  void run_pass(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns,
                int thread) {
    for (std::int64_t chunk = 0; chunk < plan_.chunks; ++chunk, ++turn_) {
      const std::int64_t first = chunk * plan_.chunk;
      const std::int64_t steps = std::min(plan_.chunk, problem_.k - first);
      T* const a = workspace_.a(turn_);
      T* const b = workspace_.b(turn_);
      const std::int64_t slivers = (rows + plan_.sliver - 1) / plan_.sliver;
      const std::int64_t panels = (columns + plan_.panel - 1) / plan_.panel;
      // With one buffer all have to be done with what it holds.
      if (plan_.buffers() == 1 && turn_ > 0) wait_for_others();
      const cpu::Range own_slivers = cpu::share(slivers, thread, threads_);
      for (std::int64_t sliver = own_slivers.begin; sliver < own_slivers.end && !stopped(); ++sliver) {
        const std::int64_t row = first_row + sliver * plan_.sliver;
        pack(Packing<T>{&problem_.a(row, first), problem_.a.row_stride, problem_.a.column_stride,
                        std::min(plan_.sliver, first_row + rows - row), steps, plan_.sliver,
                        a + sliver * plan_.sliver * plan_.chunk});
      }
      const cpu::Range own_panels = cpu::share(panels, thread, threads_);
      for (std::int64_t panel = own_panels.begin; panel < own_panels.end && !stopped(); ++panel) {
        const std::int64_t column = first_column + panel * plan_.panel;
        pack(Packing<T>{&problem_.b(first, column), problem_.b.column_stride, problem_.b.row_stride,
                        std::min(plan_.panel, first_column + columns - column), steps, plan_.panel,
                        b + panel * plan_.panel * plan_.chunk});
      }
      wait_for_others();
      // Strip by strip, so that a thread's strip of B stays in its second cache while the slivers pass by.
      const std::int64_t strips = (columns + plan_.strip - 1) / plan_.strip;
      const cpu::Range own = cpu::share(strips * slivers, thread, threads_);
      for (std::int64_t unit = own.begin; unit < own.end && !stopped(); ++unit) {
        const std::int64_t column = unit / slivers * plan_.strip;
        const std::int64_t row = unit % slivers * plan_.sliver;
        run_strip(chunk, steps, a + row * plan_.chunk, b + column * plan_.chunk, first_row + row,
                  std::min(plan_.sliver, rows - row), first_column + column, std::min(plan_.strip, columns - column),
                  unit + 1 < own.end ? a + (unit + 1) % slivers * plan_.sliver * plan_.chunk : a + row * plan_.chunk,
                  thread);
      }
    }
  }

  void run_strip(std::int64_t chunk, std::int64_t steps, const T* a, const T* b, std::int64_t row, std::int64_t rows,
                 std::int64_t column, std::int64_t columns, const T* next_a, int thread) {
    const Operand<T>& c = problem_.c;
    const bool last = chunk + 1 == plan_.chunks;
    const bool in_lines = c.column_stride == 1;
    T* const scratch = workspace_.scratch(thread);
    T* const kept = totals_ != nullptr ? totals_ + row * problem_.n + column : &c(row, column);
    const std::int64_t kept_line = totals_ != nullptr ? problem_.n : c.row_stride;
    Strip<T> strip;
    strip.a = a;
    strip.b = b;
    strip.b_line = plan_.panel;
    strip.b_panel = plan_.panel * plan_.chunk;
    strip.b_last = b + columns / plan_.panel * strip.b_panel;
    strip.rows = rows;
    strip.columns = columns;
    strip.steps = steps;
    strip.block = block_depth;
    strip.totals = scratch;
    strip.totals_line = plan_.strip;
    strip.before = chunk > 0 ? kept : nullptr;
    strip.line = kept_line;
    strip.after = kept;
    strip.next_a = next_a;
    strip.finish = last && in_lines;
    strip.alpha = problem_.alpha;
    strip.beta = problem_.beta;
    strip.nan = std::numeric_limits<T>::quiet_NaN();
    if (last && in_lines && totals_ != nullptr) {
      // From the totals to C.
      strip.finish = false;
      multiply(strip);
      return finish(kept, kept_line, row, rows, column, columns);
    }
    if (last && !in_lines && totals_ == nullptr) {  // a single chunk
      strip.after = scratch;
      strip.line = plan_.strip;
      multiply(strip);
      return finish(scratch, plan_.strip, row, rows, column, columns);
    }
    multiply(strip);
    if (last && !in_lines) finish(kept, kept_line, row, rows, column, columns);
  }

  void finish(const T* totals, std::int64_t line, std::int64_t row, std::int64_t rows, std::int64_t column,
              std::int64_t columns) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        T& result = problem_.c(row + i, column + j);
        result = finished(totals[i * line + j], problem_.alpha, problem_.beta, problem_.beta == 0 ? T{0} : result);
      }
  }

  const Problem<T>& problem_;
  const Plan& plan_;
  Workspace<T>& workspace_;
  T* totals_;
  int threads_;
  std::int64_t turn_ = 0;
};

/// The way round in which vectors lie along C's lines, or along its longer side where lines are shorter than a vector.
template <class T>
Problem<T> turned(const Problem<T>& problem, Geometry geometry) {
  const bool lines_down = problem.c.row_stride == 1 && problem.c.column_stride != 1;
  const std::int64_t length = lines_down ? problem.m : problem.n;
  const std::int64_t other = lines_down ? problem.n : problem.m;
  const bool short_lines = 4 * length < geometry.columns && 2 * length < other;
  return lines_down != short_lines ? problem.transposed() : problem;
}

}  // namespace

core::Memory packed_memory(const Shape& shape, int threads) {
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return {};
  const Geometry geometry =
      shape.element_bytes == 4 ? matmul_detail::geometry<float>() : matmul_detail::geometry<double>();
  std::int64_t elements = 0;
  for (const auto& [m, n] : {std::pair{shape.m, shape.n}, std::pair{shape.n, shape.m}}) {
    const Plan plan(m, n, shape.k, shape.element_bytes, geometry);
    elements = std::max(elements, Workspace<double>::elements(plan, threads));
  }
  const bool small_lines = std::min(shape.m, shape.n) * 4 < geometry.columns;
  auto bytes = static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(shape.element_bytes);
  if (shape.k * shape.element_bytes > chunk_bytes && (shape.totals || small_lines))
    bytes = core::checked_add(
        bytes,
        core::checked_multiply(static_cast<std::uint64_t>(shape.m) * static_cast<std::uint64_t>(shape.element_bytes),
                               static_cast<std::uint64_t>(shape.n), "sums"),
        "sums");
  return {.host = bytes};
}

template <class T>
Done simd_packed(const Problem<T>& given, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "multiply");
  const int threads = cpu::thread_count(execution);
  const Geometry geometry = matmul_detail::geometry<T>();
  const Problem<T> problem = turned(given, geometry);
  const Plan plan(problem.m, problem.n, problem.k, sizeof(T), geometry);
  Workspace<T> workspace(plan, threads);
  Buffer<T> totals;
  if (plan.chunks > 1 && (problem.beta != 0 || problem.c.column_stride != 1)) totals = Buffer<T>(problem.m * problem.n);
  for (std::int64_t batch = 0; batch < problem.batches; ++batch) {
    Problem<T> one = problem;
    one.a = problem.a.at(batch);
    one.b = problem.b.at(batch);
    one.c = problem.c.at(batch);
    if (threads == 1) {
      Product<T>(one, plan, workspace, totals.data(), 1).run(0);
    } else {
#pragma omp parallel num_threads(threads)
      {
        Product<T> product(one, plan, workspace, totals.data(), omp_get_num_threads());
        product.run(omp_get_thread_num());
      }
    }
    core::honour_stop(problem.stop, "stopped while multiplying");
  }
  return {};
}

GRADUS_MATMUL_RUNG(simd_packed)

}  // namespace gradus::matmul_detail
#endif  // HWY_ONCE
