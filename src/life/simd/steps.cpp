// The kernels of the bit-sliced rungs, compiled for each instruction set. This file uses only plain data and vectors,
// because inline functions from elsewhere, including the standard library's, must not be compiled for instructions that
// some machines lack.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "life/simd/steps.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <utility>

#include "life/simd/steps.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::life_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<std::uint64_t>;
using Vector = hn::Vec<Tag>;
constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(Tag()));

#if HWY_TARGET > HWY_AVX3
/// Computes the two-input operation that `table` defines, for the inputs b and c.
template <int table>
HWY_INLINE Vector of_two(Vector b, Vector c) {
  const Tag d;
  if constexpr (table == 0) return hn::Zero(d);
  else if constexpr (table == 1) return hn::Not(hn::Or(b, c));
  else if constexpr (table == 2) return hn::AndNot(b, c);
  else if constexpr (table == 3) return hn::Not(b);
  else if constexpr (table == 4) return hn::AndNot(c, b);
  else if constexpr (table == 5) return hn::Not(c);
  else if constexpr (table == 6) return hn::Xor(b, c);
  else if constexpr (table == 7) return hn::Not(hn::And(b, c));
  else if constexpr (table == 8) return hn::And(b, c);
  else if constexpr (table == 9) return hn::Not(hn::Xor(b, c));
  else if constexpr (table == 10) return c;
  else if constexpr (table == 11) return hn::Or(hn::Not(b), c);
  else if constexpr (table == 12) return b;
  else if constexpr (table == 13) return hn::Or(b, hn::Not(c));
  else if constexpr (table == 14) return hn::Or(b, c);
  else return hn::Not(hn::Zero(d));
}

/// Applies a three-input operation. It is composed of two two-input operations, one for a = 0 and one for a = 1.
template <int table>
HWY_INLINE Vector by_first(Vector a, Vector b, Vector c) {
  constexpr int low = table & 15;
  constexpr int high = table >> 4;
  if constexpr (low == high) return of_two<low>(b, c);
  else if constexpr ((low ^ high) == 15) return hn::Xor(a, of_two<low>(b, c));
  else if constexpr (low == 0) return hn::And(a, of_two<high>(b, c));
  else if constexpr (high == 0) return hn::AndNot(a, of_two<low>(b, c));
  else if constexpr (high == 15) return hn::Or(a, of_two<low>(b, c));
  else if constexpr (low == 15) return hn::Or(hn::Not(a), of_two<high>(b, c));
  // A majority is cheaper in this form, because the sum needs b ^ c anyway.
  else return hn::Xor(of_two<low>(b, c), hn::And(a, of_two<low ^ high>(b, c)));
}
#endif

/// The Ops that network-inl.hpp requires, implemented on registers.
struct Bits {
  using V = Vector;

  static HWY_INLINE V load(std::uint64_t word) { return hn::Set(Tag(), word); }

  template <int table>
  static HWY_INLINE V lut(V a, V b, V c) {
#if HWY_TARGET <= HWY_AVX3
    return V{_mm512_ternarylogic_epi64(a.raw, b.raw, c.raw, table)};
#else
    constexpr int second = plan_detail::turned(table);
    constexpr int third = plan_detail::turned(second);
    constexpr int least = plan_detail::cost_of(table);
    if constexpr (plan_detail::cost_by_first(table) == least) return by_first<table>(a, b, c);
    else if constexpr (plan_detail::cost_by_first(second) == least) return by_first<second>(b, c, a);
    else return by_first<third>(c, a, b);
#endif
  }
};

// Shifts words by one bit. The bit of the neighbouring word fills the gap.

/// Uses two shifts and an or.
struct Shifts {
  static HWY_INLINE Vector from_left(Vector before, Vector here) {
    return hn::Or(hn::ShiftLeft<1>(here), hn::ShiftRight<63>(before));
  }
  static HWY_INLINE Vector from_right(Vector here, Vector after) {
    return hn::Or(hn::ShiftRight<1>(here), hn::ShiftLeft<63>(after));
  }
};

#if HWY_TARGET <= HWY_AVX3
/// Uses the double shifts of AVX512-VBMI2, one instruction each. The instructions are inline assembly, which needs no
/// compiler flag. So the compiler uses these instructions nowhere else in this file.
struct DoubleShifts {
  static HWY_INLINE Vector from_left(Vector before, Vector here) {
    Vector result;
    asm("vpshldq $1, %2, %1, %0" : "=v"(result.raw) : "v"(here.raw), "v"(before.raw));
    return result;
  }
  static HWY_INLINE Vector from_right(Vector here, Vector after) {
    Vector result;
    asm("vpshrdq $1, %2, %1, %0" : "=v"(result.raw) : "v"(here.raw), "v"(after.raw));
    return result;
  }
};
#endif

/// Shifts words across registers, for columns. Moves the words of `here` by `bytes` towards the end of the register,
/// and fills the gap with the last words of `before`. from_below() shifts in the opposite direction. A word has 8
/// bytes.
template <int bytes>
HWY_INLINE Vector from_above(Vector before, Vector here) {
#if HWY_TARGET <= HWY_AVX3
  return Vector{_mm512_alignr_epi32(here.raw, before.raw, 16 - bytes / 4)};
#elif HWY_TARGET <= HWY_AVX2
  const Tag d;
  return hn::CombineShiftRightBytes<16 - bytes>(d, here, hn::ConcatLowerUpper(d, here, before));
#elif HWY_TARGET == HWY_SCALAR
  if constexpr (bytes == 8) return before;
  else return hn::Or(hn::ShiftLeft<8 * bytes>(here), hn::ShiftRight<64 - 8 * bytes>(before));
#else
  return hn::CombineShiftRightBytes<16 - bytes>(Tag(), here, before);
#endif
}
template <int bytes>
HWY_INLINE Vector from_below(Vector here, Vector after) {
#if HWY_TARGET <= HWY_AVX3
  return Vector{_mm512_alignr_epi32(after.raw, here.raw, bytes / 4)};
#elif HWY_TARGET <= HWY_AVX2
  const Tag d;
  return hn::CombineShiftRightBytes<bytes>(d, hn::ConcatLowerUpper(d, after, here), here);
#elif HWY_TARGET == HWY_SCALAR
  if constexpr (bytes == 8) return after;
  else return hn::Or(hn::ShiftRight<8 * bytes>(here), hn::ShiftLeft<64 - 8 * bytes>(after));
#else
  return hn::CombineShiftRightBytes<bytes>(Tag(), after, here);
#endif
}

#define GRADUS_LIFE_INLINE HWY_INLINE
#include "life/network/network-inl.hpp"
#undef GRADUS_LIFE_INLINE

// ---- Rows ----

template <class Shift>
HWY_INLINE RowSums<Vector> sums_at(const std::uint64_t* word, Vector& cell) {
  const Tag d;
  cell = hn::Load(d, word);
  return row_sums<Bits>(Shift::from_left(hn::LoadU(d, word - 1), cell), cell,
                        Shift::from_right(cell, hn::LoadU(d, word + 1)));
}

/// Processes one register-wide column of words after another, from top to bottom. The sums of a row are computed once.
template <class Network, class Shift>
void advance_rows(const Step& step, const Band& band) {
  const Network network(&step.coefficients);
  const Tag d;
  const std::int64_t pitch = band.pitch;
  const std::int64_t rows = band.rows;
  const std::int64_t words = band.words;
  for (std::int64_t x = 0; x < words; x += lanes) {
    const std::uint64_t* from = band.from + x;
    std::uint64_t* to = band.to + x;
    // The sums of three rows. The variables take turns in the roles above, here and below.
    Vector first_cell;
    Vector second_cell;
    Vector third_cell;
    RowSums<Vector> first = sums_at<Shift>(from - pitch, first_cell);
    RowSums<Vector> second = sums_at<Shift>(from, second_cell);
    std::int64_t row = 0;
    for (; row + 3 <= rows; row += 3) {
      const RowSums<Vector> third = sums_at<Shift>(from + pitch, third_cell);
      hn::Store(network.next(first, second, third, second_cell), d, to);
      first = sums_at<Shift>(from + 2 * pitch, first_cell);
      hn::Store(network.next(second, third, first, third_cell), d, to + pitch);
      second = sums_at<Shift>(from + 3 * pitch, second_cell);
      hn::Store(network.next(third, first, second, first_cell), d, to + 2 * pitch);
      from += 3 * pitch;
      to += 3 * pitch;
    }
    for (; row < rows; ++row) {
      const RowSums<Vector> third = sums_at<Shift>(from + pitch, third_cell);
      hn::Store(network.next(first, second, third, second_cell), d, to);
      first = second;
      second = third;
      second_cell = third_cell;
      from += pitch;
      to += pitch;
    }
  }
}

// ---- Columns ----

/// The columns next to a column of words.
struct NeighbourColumns {
  const std::uint64_t* here;
  const std::uint64_t* left;   ///< null at the border
  const std::uint64_t* right;  ///< null at the border
  int left_shift;              ///< shift that moves the last cell of `left` to the last bit of the word
  const std::uint64_t* more;   ///< the column whose first cell follows the last cell of `here`, or null
  int more_shift;
};

template <class Shift>
HWY_INLINE RowSums<Vector> sums_of(const NeighbourColumns& columns, std::int64_t row, Vector& cell) {
  const Tag d;
  cell = hn::Load(d, columns.here + row);
  Vector joined = cell;
  if (columns.more != nullptr)
    joined = hn::Or(joined, hn::ShiftLeftSame(hn::Load(d, columns.more + row), columns.more_shift));
  const Vector left =
      columns.left == nullptr ? hn::Zero(d) : hn::ShiftLeftSame(hn::Load(d, columns.left + row), columns.left_shift);
  const Vector right = columns.right == nullptr ? hn::Zero(d) : hn::Load(d, columns.right + row);
  return row_sums<Bits>(Shift::from_left(left, joined), cell, Shift::from_right(joined, right));
}

void close_ends(std::uint64_t* column, std::int64_t height, bool torus) {
  const Tag d;
  if (height % lanes == 0) {
    if (!torus) return;  // the zeros remain, because no kernel overwrites them
    hn::Store(hn::Load(d, column + height - lanes), d, column - lanes);
    hn::Store(hn::Load(d, column), d, column + height);
    return;
  }
  column[height] = torus ? column[0] : 0;
  if (torus) column[-1] = column[height - 1];
}

template <class Network, class Shift>
void advance_by_columns(const Step& step, const Columns& grid) {
  const Network network(&step.coefficients);
  const Tag d;
  const std::int64_t words = (grid.width + 63) / 64;
  const auto rest = static_cast<int>(grid.width % 64);
  for (std::int64_t x = 0; x < words; ++x) {
    const std::uint64_t* const here = grid.from + x * grid.pitch;
    const bool is_last = x == words - 1;
    NeighbourColumns columns{here, nullptr, nullptr, 0, nullptr, 0};
    if (x > 0) {
      columns.left = here - grid.pitch;
    } else if (grid.torus) {
      columns.left = grid.from + (words - 1) * grid.pitch;
      columns.left_shift = rest == 0 ? 0 : 64 - rest;
    }
    if (!is_last) columns.right = here + grid.pitch;
    else if (grid.torus && rest == 0) columns.right = grid.from;
    else if (grid.torus) columns.more = grid.from, columns.more_shift = rest;
    const Vector mask = hn::Set(d, is_last && rest != 0 ? (std::uint64_t{1} << rest) - 1 : ~std::uint64_t{0});

    std::uint64_t* const to = grid.to + x * grid.pitch;
    Vector cell;
    Vector cell_after;
    RowSums<Vector> before = sums_of<Shift>(columns, -lanes, cell);
    RowSums<Vector> now = sums_of<Shift>(columns, 0, cell);
    for (std::int64_t row = 0; row < grid.height; row += lanes) {
      const RowSums<Vector> after = sums_of<Shift>(columns, row + lanes, cell_after);
      const RowSums<Vector> above{from_above<8>(before.sum, now.sum), from_above<8>(before.carry, now.carry)};
      const RowSums<Vector> below{from_below<8>(now.sum, after.sum), from_below<8>(now.carry, after.carry)};
      hn::Store(hn::And(network.next(above, now, below, cell), mask), d, to + row);
      before = now;
      now = after;
      cell = cell_after;
    }
    close_ends(to, grid.height, grid.torus);
  }
}

// ---- Blocks ----

/// Keeps all rows in registers from the first generation to the last. The first cell of a row uses the last cell of the
/// adjacent row as its neighbour, and the first row uses itself as the row above. The resulting errors spread by one
/// cell per generation.
template <class Network>
void advance_whole_block(const Step& step, std::uint64_t* words, int generations) {
  const Network network(&step.coefficients);
  const Tag d;
  constexpr auto count = static_cast<std::size_t>(block_words / lanes);
  Vector cells[count];
  RowSums<Vector> sums[count];
  for (std::size_t part = 0; part < count; ++part) cells[part] = hn::LoadU(d, words + part * lanes);
  for (int generation = 0; generation < generations; ++generation) {
    for (std::size_t part = 0; part < count; ++part)
      sums[part] = row_sums<Bits>(hn::ShiftLeft<1>(cells[part]), cells[part], hn::ShiftRight<1>(cells[part]));
    for (std::size_t part = 0; part < count; ++part) {
      const RowSums<Vector> before = sums[part == 0 ? 0 : part - 1];
      const RowSums<Vector> here = sums[part];
      const RowSums<Vector> after = sums[part == count - 1 ? part : part + 1];
      const RowSums<Vector> above{from_above<4>(before.sum, here.sum), from_above<4>(before.carry, here.carry)};
      const RowSums<Vector> below{from_below<4>(here.sum, after.sum), from_below<4>(here.carry, after.carry)};
      cells[part] = network.next(above, here, below, cells[part]);
    }
  }
  for (std::size_t part = 0; part < count; ++part) hn::StoreU(cells[part], d, words + part * lanes);
}

// ---- A kernel of each kind for every rule ----

using OnBand = void (*)(const Step&, const Band&);
using OnColumns = void (*)(const Step&, const Columns&);
using OnBlock = void (*)(const Step&, std::uint64_t*, int);

template <class Shift, int... index>
OnBand band_kernel(int compiled, std::integer_sequence<int, index...>) {
  static constexpr OnBand all[] = {advance_rows<CompiledNetwork<Bits, index>, Shift>...,
                                   advance_rows<GeneralNetwork<Bits>, Shift>};
  return all[compiled < 0 ? compiled_rule_count : compiled];
}
template <class Shift, int... index>
OnColumns column_kernel(int compiled, std::integer_sequence<int, index...>) {
  static constexpr OnColumns all[] = {advance_by_columns<CompiledNetwork<Bits, index>, Shift>...,
                                      advance_by_columns<GeneralNetwork<Bits>, Shift>};
  return all[compiled < 0 ? compiled_rule_count : compiled];
}
template <int... index>
OnBlock block_kernel(int compiled, std::integer_sequence<int, index...>) {
  static constexpr OnBlock all[] = {advance_whole_block<CompiledNetwork<Bits, index>>...,
                                    advance_whole_block<GeneralNetwork<Bits>>};
  return all[compiled < 0 ? compiled_rule_count : compiled];
}

using Indices = std::make_integer_sequence<int, compiled_rule_count>;

}  // namespace

void band_with(const Step& step, const Band& band, bool double_shifts) {
#if HWY_TARGET <= HWY_AVX3
  if (double_shifts) return band_kernel<DoubleShifts>(step.compiled, Indices())(step, band);
#endif
  (void)double_shifts;
  band_kernel<Shifts>(step.compiled, Indices())(step, band);
}

void columns_with(const Step& step, const Columns& grid, bool double_shifts) {
#if HWY_TARGET <= HWY_AVX3
  if (double_shifts) return column_kernel<DoubleShifts>(step.compiled, Indices())(step, grid);
#endif
  (void)double_shifts;
  column_kernel<Shifts>(step.compiled, Indices())(step, grid);
}

void block_with(const Step& step, std::uint64_t* words, int generations) {
  block_kernel(step.compiled, Indices())(step, words, generations);
}

void close_columns_with(const Columns& grid) {
  for (std::int64_t x = 0; x < (grid.width + 63) / 64; ++x)
    close_ends(grid.to + x * grid.pitch, grid.height, grid.torus);
}

std::int64_t lanes_with() { return lanes; }

std::uint64_t count_ones_with(const std::uint64_t* words, std::int64_t count) {
  const Tag d;
  std::int64_t index = 0;
  std::uint64_t total = 0;
#if HWY_TARGET != HWY_SCALAR
  Vector sums = hn::Zero(d);
  for (; index + lanes <= count; index += lanes) sums = hn::Add(sums, hn::PopulationCount(hn::LoadU(d, words + index)));
  HWY_ALIGN std::uint64_t of_lanes[lanes];
  hn::Store(sums, d, of_lanes);
  for (const std::uint64_t of_lane : of_lanes) total += of_lane;
#endif
  (void)d;
  for (; index < count; ++index) total += static_cast<std::uint64_t>(__builtin_popcountll(words[index]));
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace gradus::life_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace gradus::life_detail {

HWY_EXPORT(band_with);
HWY_EXPORT(columns_with);
HWY_EXPORT(block_with);
HWY_EXPORT(close_columns_with);
HWY_EXPORT(lanes_with);
HWY_EXPORT(count_ones_with);

namespace {

bool has_double_shifts() { return __builtin_cpu_supports("avx512vbmi2") != 0; }

bool uses_double_shifts = has_double_shifts();

}  // namespace

void advance_band(const Step& step, const Band& band) {
  HWY_DYNAMIC_DISPATCH(band_with)(step, band, uses_double_shifts);
}
void advance_columns(const Step& step, const Columns& grid) {
  HWY_DYNAMIC_DISPATCH(columns_with)(step, grid, uses_double_shifts);
}
void advance_block(const Step& step, Block& block, int generations) {
  HWY_DYNAMIC_DISPATCH(block_with)(step, block.data(), generations);
}
void close_columns(const Columns& grid) { HWY_DYNAMIC_DISPATCH(close_columns_with)(grid); }
std::uint64_t count_ones(const std::uint64_t* words, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(count_ones_with)(words, count);
}
bool allow_double_shifts(bool allowed) { return std::exchange(uses_double_shifts, allowed && has_double_shifts()); }
std::int64_t lanes_here() { return HWY_DYNAMIC_DISPATCH(lanes_with)(); }

}  // namespace gradus::life_detail
#endif  // HWY_ONCE
