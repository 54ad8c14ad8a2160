#include "kmeans/seeding/byte_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/seeding/byte_rows.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "kmeans/assign/integer_filter-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

constexpr float farthest = 0x1p40F;  // maximum magnitude of scaled coordinates; rows beyond it exclude no candidate
constexpr float nearest_zero = 0x1p-60F;

// Subtracts the middle from a row, scales the row, converts it to float, and pads it with zeros to whole vectors.
// Returns the padded length.
template <class T>
std::int64_t move_row(const T* row, const T* middle, T scale, std::int64_t dimensions, float* tile) {
  const hn::ScalableTag<T> lanes;
  const hn::Rebind<float, decltype(lanes)> narrow;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto factor = hn::Set(lanes, scale);
  std::int64_t dim = 0;
  for (; dim + width <= dimensions; dim += width) {
    const auto moved = hn::Mul(hn::Sub(hn::LoadU(lanes, row + dim), hn::LoadU(lanes, middle + dim)), factor);
    if constexpr (sizeof(T) == 8) hn::StoreU(hn::DemoteTo(narrow, moved), narrow, tile + dim);
    else hn::StoreU(moved, narrow, tile + dim);
  }
  for (; dim < dimensions; ++dim) tile[dim] = static_cast<float>((row[dim] - middle[dim]) * scale);
  const auto floats = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const std::int64_t whole = (dimensions + floats - 1) / floats * floats;
  for (; dim < whole; ++dim) tile[dim] = 0;
  return whole;
}

// Packs the bytes of a row contiguously, padded to whole vectors of floats. Computes the facts about the row.
template <class T>
void pack_row(const T* row, const T* middle, T scale, std::int64_t dimensions, float* tile, std::uint8_t* out,
              ByteRowFacts facts) {
  const hn::ScalableTag<float> f;
  const hn::Rebind<std::uint8_t, decltype(f)> bytes;
  const auto floats = static_cast<std::int64_t>(hn::Lanes(f));
  const std::int64_t whole = move_row(row, middle, scale, dimensions, tile);
  std::int64_t dim = 0;
  auto most = hn::Zero(f);
  auto squares = hn::Zero(f);
  for (dim = 0; dim < whole; dim += floats) {
    const auto value = hn::LoadU(f, tile + dim);
    most = hn::Max(most, hn::Abs(value));
    squares = hn::MulAdd(value, value, squares);
  }
  const float largest = hn::GetLane(hn::MaxOfLanes(f, most));
  if (!(largest <= farthest)) {
    __builtin_memset(out, 128, static_cast<std::size_t>(whole));
    *facts.scale = *facts.residual = *facts.length = 0;
    *facts.half_square = -__builtin_inff();
    return;
  }
  const bool has_bytes = largest >= nearest_zero;
  const float step = has_bytes ? largest / 127 : 0.0F;
  const auto steps = hn::Set(f, has_bytes ? 127 / largest : 0.0F);
  const auto back = hn::Set(f, step);
  const auto offset = hn::Set(hn::RebindToSigned<decltype(f)>(), 128);
  auto rests = hn::Zero(f);
  auto lengths = hn::Zero(f);
  for (dim = 0; dim < whole; dim += floats) {
    const auto value = hn::LoadU(f, tile + dim);
    const auto rounded = hn::NearestInt(hn::Mul(value, steps));
    const auto whole_steps = hn::ConvertTo(f, rounded);
    const auto rest = hn::NegMulAdd(whole_steps, back, value);
    lengths = hn::MulAdd(whole_steps, whole_steps, lengths);
    rests = hn::MulAdd(rest, rest, rests);
    hn::StoreU(hn::DemoteTo(bytes, rounded + offset), bytes, out + dim);
  }
  // Each vector lane adds up a chain of terms. Its rounding error grows with the length of the chain, which is at most
  // `dimensions` + 32.
  const double rounding = static_cast<double>(dimensions + 32) * 0x1p-24;
  const auto square = static_cast<double>(hn::GetLane(hn::SumOfLanes(f, squares)));
  const auto rest = static_cast<double>(hn::GetLane(hn::SumOfLanes(f, rests)));
  const auto length = static_cast<double>(hn::GetLane(hn::SumOfLanes(f, lengths)));
  *facts.scale = step;
  *facts.length =
      static_cast<float>(__builtin_sqrt(length * (1 + 2 * rounding)) * static_cast<double>(step) * (1 + 0x1p-20));
  *facts.residual = static_cast<float>(
      (__builtin_sqrt(rest * (1 + 2 * rounding)) + 0x1p-22 * __builtin_sqrt(square * (1 + 2 * rounding)) + 0x1p-110) *
      (1 + 0x1p-20));
  *facts.half_square = static_cast<float>(0.5 * square * (1 - 2 * rounding));
}

void pack_row_f32(const float* row, const float* middle, float scale, std::int64_t dimensions, float* tile,
                  std::uint8_t* out, ByteRowFacts facts) {
  pack_row(row, middle, scale, dimensions, tile, out, facts);
}
void pack_row_f64(const double* row, const double* middle, double scale, std::int64_t dimensions, float* tile,
                  std::uint8_t* out, ByteRowFacts facts) {
  pack_row(row, middle, scale, dimensions, tile, out, facts);
}

// Packs the second bytes of a row. `first` points to the row's first bytes in its panel. `length` is the bound of |s
// q|.
template <class T>
void pack_rest(const T* row, const T* middle, T scale, std::int64_t dimensions, const std::uint8_t* first, float step,
               float length, float* tile, std::uint8_t* out, std::int64_t stride, ByteRestFacts facts) {
  const hn::ScalableTag<float> f;
  const hn::RebindToSigned<decltype(f)> integers;
  const hn::Rebind<std::uint8_t, decltype(f)> bytes;
  const auto floats = static_cast<std::int64_t>(hn::Lanes(f));
  const std::int64_t whole = move_row(row, middle, scale, dimensions, tile);
  const std::int64_t quads = (dimensions + 3) / 4;
  // Copies the row's first bytes to `out`. Each loop below reads first bytes from `out` and replaces them by second
  // bytes.
  for (std::int64_t quad = 0; quad < quads; ++quad) __builtin_memcpy(out + 4 * quad, first + 128 * quad, 4);
  __builtin_memset(out + 4 * quads, 128, static_cast<std::size_t>(stride - 4 * quads));
  const auto offset = hn::Set(integers, 128);
  const auto back = hn::Set(f, step);
  auto most = hn::Zero(f);
  auto squares = hn::Zero(f);
  auto left_squares = hn::Zero(f);
  for (std::int64_t dim = 0; dim < whole; dim += floats) {
    const auto value = hn::LoadU(f, tile + dim);
    const auto whole_steps = hn::ConvertTo(f, hn::PromoteTo(integers, hn::LoadU(bytes, out + dim)) - offset);
    const auto left = hn::NegMulAdd(whole_steps, back, value);
    most = hn::Max(most, hn::Abs(left));
    squares = hn::MulAdd(value, value, squares);
    left_squares = hn::MulAdd(left, left, left_squares);
    hn::StoreU(left, f, tile + dim);
  }
  const float largest = hn::GetLane(hn::MaxOfLanes(f, most));
  const bool has_bytes = largest >= nearest_zero;
  const float rest_step = has_bytes ? largest / 127 : 0x1p-80F;  // any step is valid if the row gets no second bytes
  const auto steps = hn::Set(f, has_bytes ? 127 / largest : 0.0F);
  const auto rest_back = hn::Set(f, rest_step);
  auto rests = hn::Zero(f);
  auto lengths = hn::Zero(f);
  for (std::int64_t dim = 0; dim < whole; dim += floats) {
    const auto value = hn::LoadU(f, tile + dim);
    const auto rounded = hn::NearestInt(hn::Mul(value, steps));
    const auto whole_steps = hn::ConvertTo(f, rounded);
    const auto rest = hn::NegMulAdd(whole_steps, rest_back, value);
    lengths = hn::MulAdd(whole_steps, whole_steps, lengths);
    rests = hn::MulAdd(rest, rest, rests);
    hn::StoreU(hn::DemoteTo(bytes, rounded + offset), bytes, out + dim);
  }
  const double wide = 1 + 2 * static_cast<double>(dimensions + 32) * 0x1p-24;
  const auto root = [&](auto sums) HWY_ATTR {
    return __builtin_sqrt(static_cast<double>(hn::GetLane(hn::SumOfLanes(f, sums))) * wide);
  };
  *facts.scale = rest_step;
  *facts.length = static_cast<float>((static_cast<double>(length) + root(lengths) * static_cast<double>(rest_step)) *
                                     (1 + 0x1p-20));
  // The second term covers the two roundings of each `rest`, and also the rounding to float.
  *facts.residual =
      static_cast<float>((root(rests) + 0x1p-22 * (root(left_squares) + root(squares)) + 0x1p-110) * (1 + 0x1p-20));
}

void pack_rest_f32(const float* row, const float* middle, float scale, std::int64_t dimensions,
                   const std::uint8_t* first, float step, float length, float* tile, std::uint8_t* out,
                   std::int64_t stride, ByteRestFacts facts) {
  pack_rest(row, middle, scale, dimensions, first, step, length, tile, out, stride, facts);
}
void pack_rest_f64(const double* row, const double* middle, double scale, std::int64_t dimensions,
                   const std::uint8_t* first, float step, float length, float* tile, std::uint8_t* out,
                   std::int64_t stride, ByteRestFacts facts) {
  pack_rest(row, middle, scale, dimensions, first, step, length, tile, out, stride, facts);
}

// Packs the integers of a candidate, and computes the facts about it. `moved` is scratch memory for the row, padded to
// a multiple of 16 numbers.
template <class T>
void pack_trial(const T* row, const T* middle, double scale, std::int64_t dimensions, double* moved,
                TrialFacts& facts) {
  const hn::ScalableTag<double> lanes;
  const hn::Rebind<T, decltype(lanes)> narrow;
  const hn::Rebind<std::int32_t, decltype(lanes)> integers;
  const hn::Rebind<std::int8_t, decltype(lanes)> bytes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto load = [&](const T* from) HWY_ATTR {
    if constexpr (sizeof(T) == 8) return hn::LoadU(narrow, from);
    else return hn::PromoteTo(lanes, hn::LoadU(narrow, from));
  };
  std::int64_t dim = 0;
  for (; dim + width <= dimensions; dim += width)
    hn::StoreU((load(row + dim) - load(middle + dim)) * hn::Set(lanes, scale), lanes, moved + dim);
  for (; dim < dimensions; ++dim)
    moved[dim] = (static_cast<double>(row[dim]) - static_cast<double>(middle[dim])) * scale;
  const std::int64_t whole = (dimensions + width - 1) / width * width;
  for (; dim < whole; ++dim) moved[dim] = 0;
  auto most = hn::Zero(lanes);
  auto squares = hn::Zero(lanes);
  for (dim = 0; dim < whole; dim += width) {
    const auto value = hn::LoadU(lanes, moved + dim);
    most = hn::Max(most, hn::Abs(value));
    squares = hn::MulAdd(value, value, squares);
  }
  facts.largest = hn::GetLane(hn::MaxOfLanes(lanes, most));
  facts.squares = hn::GetLane(hn::SumOfLanes(lanes, squares));
  if (!(facts.largest <= static_cast<double>(farthest))) return;
  constexpr double most_steps = 8000;  // the largest integer of two bytes is 63 * 128 + 63
  facts.step = facts.largest < 0x1p-60 ? 0.0 : static_cast<double>(static_cast<float>(facts.largest / most_steps));
  const auto step = hn::Set(lanes, facts.step);
  const auto inverse = hn::Set(lanes, facts.step > 0 ? 1 / facts.step : 0.0);
  const auto magic = hn::Set(lanes, 0x1.8p52);
  auto rests = hn::Zero(lanes), high_rests = rests, wholes = rests, highs = rests, lows = rests;
  auto high_sum = hn::Zero(integers), low_sum = high_sum;
  for (dim = 0; dim < whole; dim += width) {
    const auto value = hn::LoadU(lanes, moved + dim);
    const auto rounded = (value * inverse + magic) - magic;
    const auto all = hn::DemoteTo(integers, rounded);
    const auto high = hn::ShiftRight<7>(all + hn::Set(integers, 64));
    const auto low = all - hn::ShiftLeft<7>(high);
    const auto of_high = hn::PromoteTo(lanes, high);
    const auto of_low = hn::PromoteTo(lanes, low);
    const auto rest = hn::NegMulAdd(rounded, step, value);
    const auto high_rest = hn::NegMulAdd(of_high, hn::Set(lanes, 128.0) * step, value);
    rests = hn::MulAdd(rest, rest, rests);
    high_rests = hn::MulAdd(high_rest, high_rest, high_rests);
    wholes = hn::MulAdd(rounded, rounded, wholes);
    highs = hn::MulAdd(of_high, of_high, highs);
    lows = hn::MulAdd(of_low, of_low, lows);
    high_sum = high_sum + high;
    low_sum = low_sum + low;
    hn::StoreU(hn::DemoteTo(bytes, high), bytes, reinterpret_cast<std::int8_t*>(facts.high + dim));
    hn::StoreU(hn::DemoteTo(bytes, low), bytes, reinterpret_cast<std::int8_t*>(facts.low + dim));
  }
  const auto sum = [&](auto sums) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(lanes, sums)); };
  facts.rests = sum(rests);
  facts.high_rests = sum(high_rests);
  facts.wholes = sum(wholes);
  facts.highs = sum(highs);
  facts.lows = sum(lows);
  facts.high_sum = hn::GetLane(hn::SumOfLanes(integers, high_sum));
  facts.low_sum = hn::GetLane(hn::SumOfLanes(integers, low_sum));
}

void pack_trial_f32(const float* row, const float* middle, double scale, std::int64_t dimensions, double* moved,
                    TrialFacts& facts) {
  pack_trial(row, middle, scale, dimensions, moved, facts);
}
void pack_trial_f64(const double* row, const double* middle, double scale, std::int64_t dimensions, double* moved,
                    TrialFacts& facts) {
  pack_trial(row, middle, scale, dimensions, moved, facts);
}

// The largest number of candidates whose sums fit in registers. There are two sums per candidate, and the registers
// also hold two vectors of points and one candidate.
constexpr std::int64_t most_together = HWY_TARGET == HWY_AVX3 ? 12 : 5;
// The same maximum if both bytes of the candidates are used. The registers then hold only one vector of points.
constexpr std::int64_t most_pairs = HWY_TARGET == HWY_AVX3 ? 12 : 5;

#if GRADUS_INTEGER_PANELS
constexpr std::int64_t lanes_together = vector_lanes;
using Sum = DotVector;

// For each i, multiplies 4 unsigned bytes with 4 signed bytes and adds the products to sum[i]. The sum of two adjacent
// products must not exceed 2^15.
template <bool dot>
HWY_INLINE DotVector add_bytes(DotVector sum, DotVector without_sign, DotVector with_sign) {
#if GRADUS_DOT_INSTRUCTIONS
  if constexpr (dot) return dot_bytes(sum, without_sign, with_sign);
#endif
#if HWY_TARGET == HWY_AVX3
  const auto pairs = _mm512_maddubs_epi16(without_sign, with_sign);
  return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#elif HWY_TARGET == HWY_AVX2
  const auto pairs = _mm256_maddubs_epi16(without_sign, with_sign);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#elif HWY_TARGET == HWY_SSE4
  const auto pairs = _mm_maddubs_epi16(without_sign, with_sign);
  return _mm_add_epi32(sum, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
#else
#error "no product of bytes for this target"
#endif
}

HWY_INLINE DotVector four_bytes_everywhere(const std::int32_t& four) {
#if HWY_TARGET == HWY_AVX3
  // Broadcasts from memory. A compiler would choose another broadcast, which occupies an execution port that the
  // products need.
  DotVector all;
  asm("vpbroadcastd %1, %0" : "=v"(all) : "m"(four));
  return all;
#else
  return hn::Set(WideTag(), four).raw;
#endif
}

HWY_INLINE DotVector set_sum(std::int32_t value) { return hn::Set(WideTag(), value).raw; }
HWY_INLINE DotVector load_bytes(const std::uint8_t* from) {
  return hn::LoadU(hn::Repartition<std::uint8_t, WideTag>(), from).raw;
}
HWY_INLINE DotVector add_sums(DotVector a, DotVector b) { return (hn::Vec<WideTag>{a} + hn::Vec<WideTag>{b}).raw; }
HWY_INLINE hn::Vec<WideTag> integers(DotVector sum) { return hn::Vec<WideTag>{sum}; }
using Floats = hn::ScalableTag<float>;
#else
using WideTag = hn::CappedTag<std::int32_t, 1>;
using Floats = hn::CappedTag<float, 1>;
constexpr std::int64_t lanes_together = 1;
using Sum = std::int32_t;

template <bool dot>
std::int32_t add_bytes(std::int32_t sum, std::int32_t without_sign, std::int32_t with_sign) {
  for (int byte = 0; byte < 32; byte += 8)
    sum += static_cast<std::int32_t>(static_cast<std::uint8_t>(without_sign >> byte)) *
           static_cast<std::int32_t>(static_cast<std::int8_t>(with_sign >> byte));
  return sum;
}
inline std::int32_t four_bytes_everywhere(std::int32_t four) { return four; }
inline std::int32_t set_sum(std::int32_t value) { return value; }
inline std::int32_t load_bytes(const std::uint8_t* from) {
  std::int32_t four;
  __builtin_memcpy(&four, from, sizeof four);
  return four;
}
inline std::int32_t add_sums(std::int32_t a, std::int32_t b) { return a + b; }
HWY_INLINE hn::Vec<WideTag> integers(Sum sum) { return hn::Set(WideTag(), sum); }
#endif

constexpr std::int64_t panel_rows = 32;
constexpr std::int64_t quad_bytes = 4 * panel_rows;
constexpr std::int64_t lanes_at_once = 2 * lanes_together;

using FloatVector = hn::Vec<Floats>;

struct Points {
  FloatVector scale;
  FloatVector residual;
  FloatVector length;
};

HWY_INLINE Points load_points(const ByteRowsView& rows, std::int64_t at) {
  const Floats f;
  return {hn::LoadU(f, rows.scales + at), hn::LoadU(f, rows.residuals + at), hn::LoadU(f, rows.lengths + at)};
}

// Returns an upper bound of (|x'|^2 - |x - y|^2) / 2. If `level` is 0, uses only the high bytes of the candidate. If it
// is 1, uses both bytes.
HWY_INLINE FloatVector bound_above(const Points& points, const ByteTrialsView& trials, int level,
                                   std::int64_t candidate, FloatVector product) {
  const Floats f;
  const ByteTrialsView::Level& at = trials.levels[level];
  const auto rest = hn::MulSub(points.residual, hn::Set(f, at.norms[candidate]), hn::Set(f, trials.half[candidate]));
  return hn::MulAdd(points.scale, product * hn::Set(f, at.steps[candidate]),
                    hn::MulAdd(points.length, hn::Set(f, at.errors[candidate]), rest));
}

HWY_INLINE FloatVector bound_below(const Points& points, const ByteTrialsView& trials, int level,
                                   std::int64_t candidate, FloatVector product) {
  const Floats f;
  const ByteTrialsView::Level& at = trials.levels[level];
  const auto rest =
      hn::MulAdd(points.residual, hn::Set(f, at.norms[candidate]), hn::Set(f, trials.half_above[candidate]));
  return hn::MulSub(points.scale, product * hn::Set(f, at.steps[candidate]),
                    hn::MulAdd(points.length, hn::Set(f, at.errors[candidate]), rest));
}

template <class Mask>
HWY_INLINE std::uint32_t bits_of(Mask mask) {
  std::uint8_t bytes[8];
  hn::StoreMaskBits(Floats(), mask, bytes);
  // Reads exactly the number of bytes that were written, so that the CPU can forward the load from the store.
  if constexpr (lanes_together == 16) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, bytes, sizeof bits);
    return bits;
  } else {
    return bytes[0];
  }
}

// Computes the products q.h of a panel's points with a group of candidates, and writes them to `products`. For each
// vector of points and each candidate, calls use(lane, points, index of the candidate in the group, product).
template <std::int64_t count, bool dot, class Use>
HWY_INLINE void multiply_group(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                               std::int64_t first, std::int32_t* products, const Use& use) {
  const WideTag wide;
  const std::uint8_t* const bytes = rows.panels + panel * rows.quads * quad_bytes;
  const std::int32_t* const values = trials.high + first * rows.quads;
  for (std::int64_t lane = 0; lane < panel_rows; lane += lanes_at_once) {
    Sum sums[count][2];
#pragma GCC unroll 16
    for (std::int64_t index = 0; index < count; ++index)
      sums[index][0] = sums[index][1] = set_sum(trials.high_starts[first + index]);
    for (std::int64_t quad = 0; quad < rows.quads; ++quad) {
      // Prefetches the next panel. If there are few candidates, the hardware would prefetch it too late.
      for (std::int64_t line = 0; first == 0 && line < 8 * lanes_together; line += 64)
        __builtin_prefetch(bytes + quad_bytes * (rows.quads + quad) + 4 * lane + line, 0, 3);
      const Sum left = load_bytes(bytes + quad_bytes * quad + 4 * lane);
      const Sum right = load_bytes(bytes + quad_bytes * quad + 4 * (lane + lanes_together));
#pragma GCC unroll 16
      for (std::int64_t index = 0; index < count; ++index) {
        const Sum four = four_bytes_everywhere(values[quad * count + index]);
        sums[index][0] = add_bytes<dot>(sums[index][0], left, four);
        sums[index][1] = add_bytes<dot>(sums[index][1], right, four);
      }
    }
#pragma GCC unroll 2
    for (std::int64_t half = 0; half < 2; ++half) {
      const std::int64_t at = lane + half * lanes_together;
      const Points points = load_points(rows, panel * panel_rows + at);
#pragma GCC unroll 16
      for (std::int64_t index = 0; index < count; ++index) {
        const auto product = integers(sums[index][half]);
        hn::StoreU(product, wide, products + (first + index) * panel_rows + at);
        use(at, points, index, hn::ConvertTo(Floats(), product));
      }
    }
  }
}

template <bool dot, class Begin, class Use, class End>
HWY_INLINE void multiply_groups(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                                std::int32_t* products, const Begin& begin, const Use& use, const End& end) {
  for (std::int64_t first = 0; first < trials.count; first += trials.group) {
    const std::int64_t left = trials.count - first;
    const std::int64_t size = left < trials.group ? left : trials.group;
    begin();
    switch (size) {
#define GRADUS_GROUP(size) \
  case size: multiply_group<size, dot>(rows, trials, panel, first, products, use(first)); break
      GRADUS_GROUP(1);
      GRADUS_GROUP(2);
      GRADUS_GROUP(3);
      GRADUS_GROUP(4);
      GRADUS_GROUP(5);
#if HWY_TARGET == HWY_AVX3
      GRADUS_GROUP(6);
      GRADUS_GROUP(7);
      GRADUS_GROUP(8);
      GRADUS_GROUP(9);
      GRADUS_GROUP(10);
      GRADUS_GROUP(11);
      GRADUS_GROUP(12);
#endif
#undef GRADUS_GROUP
      default: break;
    }
    end(first, size);
  }
}

// Adds the products of one candidate's second byte to its products. Calls use(lane, points, product 128 q.h + q.l) for
// all points of a panel.
template <bool dot, class Use>
HWY_INLINE void refine(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                       std::int64_t candidate, const std::int32_t* products, const Use& use) {
  const Floats f;
  constexpr std::int64_t chains = 4;  // number of independent sums; they hide the latency of a multiplication
  const std::uint8_t* const bytes = rows.panels + panel * rows.quads * quad_bytes;
  const std::int32_t* const values = trials.low + candidate * trials.stride;
  for (std::int64_t lane = 0; lane < panel_rows; lane += lanes_at_once) {
    Sum sums[2][chains];
#pragma GCC unroll 2
    for (std::int64_t half = 0; half < 2; ++half)
#pragma GCC unroll 4
      for (std::int64_t chain = 0; chain < chains; ++chain)
        sums[half][chain] = set_sum(chain == 0 ? trials.low_starts[candidate] : 0);
    std::int64_t quad = 0;
    const auto add = [&](std::int64_t chain, std::int64_t from) HWY_ATTR {
      const std::uint8_t* const four = bytes + quad_bytes * from + 4 * lane;
      const Sum all = four_bytes_everywhere(values[from]);
      sums[0][chain] = add_bytes<dot>(sums[0][chain], load_bytes(four), all);
      sums[1][chain] = add_bytes<dot>(sums[1][chain], load_bytes(four + 4 * lanes_together), all);
    };
    for (; quad + chains <= rows.quads; quad += chains)
#pragma GCC unroll 4
      for (std::int64_t chain = 0; chain < chains; ++chain) add(chain, quad + chain);
    for (; quad < rows.quads; ++quad) add(0, quad);
#pragma GCC unroll 2
    for (std::int64_t half = 0; half < 2; ++half) {
      const auto low =
          integers(add_sums(add_sums(sums[half][0], sums[half][1]), add_sums(sums[half][2], sums[half][3])));
      const std::int64_t at = lane + half * lanes_together;
      const auto high = hn::LoadU(WideTag(), products + candidate * panel_rows + at);
      use(at, load_points(rows, panel * panel_rows + at),
          hn::MulAdd(hn::ConvertTo(f, high), hn::Set(f, 128.0F), hn::ConvertTo(f, low)));
    }
  }
}

template <bool dot>
std::int64_t find_nearer_with(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                              std::int32_t* products, Undecided* undecided) {
  const Floats f;
  std::int64_t found = 0;
  const float* const limits = rows.limits + panel * panel_rows;
  std::uint32_t open[most_together];
  multiply_groups<dot>(
      rows, trials, panel, products,
      [&] {
        for (std::uint32_t& each : open) each = 0;
      },
      [&](std::int64_t first) HWY_ATTR {
        return [&, first](std::int64_t lane, const Points& points, std::int64_t index, FloatVector product) HWY_ATTR {
          const auto bound = bound_above(points, trials, 0, first + index, product);
          open[index] |= bits_of(hn::Not(bound <= hn::LoadU(f, limits + lane))) << lane;
        };
      },
      [&](std::int64_t first, std::int64_t count) HWY_ATTR {
        for (std::int64_t index = 0; index < count; ++index) {
          if (open[index] == 0) continue;
          const std::int64_t candidate = first + index;
          std::uint32_t left = 0;
          refine<dot>(rows, trials, panel, candidate, products,
                      [&](std::int64_t lane, const Points& points, FloatVector product) HWY_ATTR {
                        const auto bound = bound_above(points, trials, 1, candidate, product);
                        left |= bits_of(hn::Not(bound <= hn::LoadU(f, limits + lane))) << lane;
                      });
          left &= open[index];
          undecided[found] = {static_cast<std::int32_t>(candidate), left};
          found += left != 0;
        }
      });
  return found;
}

// Computes a threshold `least` for each point of a panel. A candidate whose upper bound is below the threshold cannot
// be the nearest. Upper bounds come from bound_above(), lower bounds from bound_below(). Both bound (|x'|^2 - |x -
// y|^2) / 2, which is larger if the candidate is nearer. `best` is the greatest lower bound of all candidates.
//
// The threshold is `best` minus a margin for the errors of the canonical chains. If a candidate's upper bound is below
// `best` by more than the errors of both canonical chains, the candidate is certainly farther than the best one. Each
// chain errs by at most (d + 2) 2^-53 of its distance, and a distance is at most 2 |x'|^2 + 2 |y'|^2. The terms b of
// the candidates already have a margin of 2^-20, which covers the part in |y'|^2. This function subtracts a margin for
// the part in |x'|^2: 2^-20 |x'|^2 / 2.
HWY_INLINE void find_least(const float* half_squares, const float* best, float* least) {
  const Floats f;
  for (std::int64_t lane = 0; lane < panel_rows; lane += lanes_together) {
    const auto half_square = hn::LoadU(f, half_squares + lane);
    const auto bound = hn::NegMulAdd(half_square, hn::Set(f, 0x1p-20F), hn::LoadU(f, best + lane));
    const auto none = hn::Set(f, -__builtin_inff());
    hn::StoreU(hn::IfThenElse(half_square >= hn::Zero(f), bound - hn::Set(f, 0x1p-100F), none), f, least + lane);
  }
}

template <bool dot>
std::int64_t find_nearest_with(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                               std::int32_t* products, float* bounds, Undecided* undecided) {
  const Floats f;
  const float* const limits = rows.limits + panel * panel_rows;
  const float* const half_squares = rows.half_squares + panel * panel_rows;
  float best[panel_rows];
  for (float& bound : best) bound = -__builtin_inff();
  const auto raise = [&](std::int64_t lane, FloatVector bound)
                         HWY_ATTR { hn::StoreU(hn::Max(hn::LoadU(f, best + lane), bound), f, best + lane); };
  float least[panel_rows];
  const auto is_open = [&](std::int64_t lane, FloatVector bound) HWY_ATTR {
    const auto out = hn::Or(bound <= hn::LoadU(f, limits + lane), bound < hn::LoadU(f, least + lane));
    return bits_of(hn::Not(out)) << lane;
  };
  multiply_groups<dot>(
      rows, trials, panel, products, [] {},
      [&](std::int64_t first) HWY_ATTR {
        return [&, first](std::int64_t lane, const Points& points, std::int64_t index, FloatVector product)
                   HWY_ATTR { raise(lane, bound_below(points, trials, 0, first + index, product)); };
      },
      [](std::int64_t, std::int64_t) {});
  find_least(half_squares, best, least);
  std::int64_t maybe = 0;
  for (std::int64_t candidate = 0; candidate < trials.count; ++candidate) {
    std::uint32_t open = 0;
    for (std::int64_t lane = 0; lane < panel_rows; lane += lanes_together) {
      const auto product = hn::ConvertTo(f, hn::LoadU(WideTag(), products + candidate * panel_rows + lane));
      open |= is_open(lane, bound_above(load_points(rows, panel * panel_rows + lane), trials, 0, candidate, product));
    }
    if (open == 0) continue;
    undecided[maybe] = {static_cast<std::int32_t>(candidate), open};
    refine<dot>(rows, trials, panel, candidate, products,
                [&](std::int64_t lane, const Points& points, FloatVector product) HWY_ATTR {
                  raise(lane, bound_below(points, trials, 1, candidate, product));
                  hn::StoreU(bound_above(points, trials, 1, candidate, product), f, bounds + maybe * panel_rows + lane);
                });
    ++maybe;
  }
  find_least(half_squares, best, least);
  std::int64_t found = 0;
  for (std::int64_t index = 0; index < maybe; ++index) {
    std::uint32_t open = 0;
    for (std::int64_t lane = 0; lane < panel_rows; lane += lanes_together)
      open |= is_open(lane, hn::LoadU(f, bounds + index * panel_rows + lane));
    undecided[found] = {undecided[index].candidate, undecided[index].points & open};
    found += undecided[found].points != 0;
  }
  return found;
}

// Compares a panel's points with a group of few candidates. Writes q.p, the upper bounds, and the greatest lower bound
// for each point.
template <std::int64_t count, bool dot>
HWY_INLINE void settle_group(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                             std::int64_t first, float* estimates, float* bounds, float* best) {
  // If the registers can hold the sums of two vectors of points, two vectors are processed at a time. Then there are
  // more independent sums, which hide the latency of a multiplication.
  constexpr std::int64_t vectors = 2 * count <= most_pairs ? 2 : 1;
  // Prefetch distance in bytes. If a whole long panel were prefetched, it would evict the current panel.
  constexpr std::int64_t ahead = 4096;
  const Floats f;
  const std::uint8_t* const bytes = rows.panels + panel * rows.quads * quad_bytes;
  const std::int32_t* const values = trials.pairs + 2 * first * rows.quads;
  for (std::int64_t lane = 0; lane < panel_rows; lane += vectors * lanes_together) {
    Sum sums[count][2][vectors];
#pragma GCC unroll 16
    for (std::int64_t index = 0; index < count; ++index)
#pragma GCC unroll 2
      for (std::int64_t vector = 0; vector < vectors; ++vector) {
        sums[index][0][vector] = set_sum(trials.high_starts[first + index]);
        sums[index][1][vector] = set_sum(trials.low_starts[first + index]);
      }
    for (std::int64_t quad = 0; quad < rows.quads; ++quad) {
      const std::uint8_t* const at = bytes + quad_bytes * quad + 4 * lane;
      for (std::int64_t line = 0; first == 0 && line < 4 * vectors * lanes_together; line += 64)
        __builtin_prefetch(at + ahead + line, 0, 3);
      Sum points[vectors];
#pragma GCC unroll 2
      for (std::int64_t vector = 0; vector < vectors; ++vector)
        points[vector] = load_bytes(at + 4 * vector * lanes_together);
#pragma GCC unroll 16
      for (std::int64_t index = 0; index < count; ++index)
#pragma GCC unroll 2
        for (std::int64_t byte = 0; byte < 2; ++byte) {
          const Sum four = four_bytes_everywhere(values[2 * (quad * count + index) + byte]);
#pragma GCC unroll 2
          for (std::int64_t vector = 0; vector < vectors; ++vector)
            sums[index][byte][vector] = add_bytes<dot>(sums[index][byte][vector], points[vector], four);
        }
    }
#pragma GCC unroll 2
    for (std::int64_t vector = 0; vector < vectors; ++vector) {
      const std::int64_t at = lane + vector * lanes_together;
      const Points points = load_points(rows, panel * panel_rows + at);
      auto most = hn::LoadU(f, best + at);
#pragma GCC unroll 16
      for (std::int64_t index = 0; index < count; ++index) {
        const std::int64_t candidate = first + index;
        const auto product = hn::MulAdd(hn::ConvertTo(f, integers(sums[index][0][vector])), hn::Set(f, 128.0F),
                                        hn::ConvertTo(f, integers(sums[index][1][vector])));
        hn::StoreU(product, f, estimates + candidate * panel_rows + at);
        hn::StoreU(bound_above(points, trials, 1, candidate, product), f, bounds + candidate * panel_rows + at);
        most = hn::Max(most, bound_below(points, trials, 1, candidate, product));
      }
      hn::StoreU(most, f, best + at);
    }
  }
}

template <bool dot>
std::uint32_t settle_with(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel, float* estimates,
                          float* bounds, std::uint32_t* open, std::int32_t* labels) {
  const Floats f;
  float best[panel_rows];
  float least[panel_rows];
  for (float& bound : best) bound = -__builtin_inff();
  for (std::int64_t first = 0; first < trials.count; first += trials.pair_group) {
    const std::int64_t left = trials.count - first;
    switch (left < trials.pair_group ? left : trials.pair_group) {
#define GRADUS_GROUP(size) \
  case size: settle_group<size, dot>(rows, trials, panel, first, estimates, bounds, best); break
      GRADUS_GROUP(1);
      GRADUS_GROUP(2);
      GRADUS_GROUP(3);
      GRADUS_GROUP(4);
      GRADUS_GROUP(5);
#if HWY_TARGET == HWY_AVX3
      GRADUS_GROUP(6);
      GRADUS_GROUP(7);
      GRADUS_GROUP(8);
      GRADUS_GROUP(9);
      GRADUS_GROUP(10);
      GRADUS_GROUP(11);
      GRADUS_GROUP(12);
#endif
#undef GRADUS_GROUP
      default: break;
    }
  }
  find_least(rows.half_squares + panel * panel_rows, best, least);
  for (std::int64_t candidate = 0; candidate < trials.count; ++candidate) open[candidate] = 0;
  for (std::int64_t lane = 0; lane < panel_rows; lane += lanes_together) {
    const auto from = hn::LoadU(f, least + lane);
    auto label = hn::Zero(WideTag());
    for (std::int64_t candidate = 0; candidate < trials.count; ++candidate) {
      const auto is_open = hn::Not(hn::LoadU(f, bounds + candidate * panel_rows + lane) < from);
      label = hn::IfThenElse(hn::RebindMask(WideTag(), is_open),
                             hn::Set(WideTag(), static_cast<std::int32_t>(candidate)), label);
      open[candidate] |= bits_of(is_open) << lane;
    }
    hn::StoreU(label, WideTag(), labels + lane);
  }
  std::uint32_t once = 0;
  std::uint32_t twice = 0;
  for (std::int64_t candidate = 0; candidate < trials.count; ++candidate) {
    twice |= once & open[candidate];
    once |= open[candidate];
  }
  return twice;
}

template <bool dot>
std::int64_t settle_row_with(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t row,
                             const float* estimates, std::int32_t* candidates, std::int64_t count) {
  double above[few_candidates];
  double best = -__builtin_huge_val();
  const std::uint8_t* const rests = rows.rests + row * rows.rest_stride;
  for (std::int64_t index = 0; index < count; ++index) {
    const std::int64_t candidate = candidates[index];
    Sum high = set_sum(0);
    Sum low = set_sum(0);
    for (std::int64_t word = 0; word < rows.rest_stride / 4; word += lanes_together) {
      const Sum some = load_bytes(rests + 4 * word);
      const auto four = [&](const std::int32_t* of) HWY_ATTR {
        return load_bytes(reinterpret_cast<const std::uint8_t*>(of + candidate * trials.stride + word));
      };
      high = add_bytes<dot>(high, some, four(trials.rows_high));
      low = add_bytes<dot>(low, some, four(trials.low));
    }
    const auto sum = [&](Sum sums, std::int32_t start) HWY_ATTR {
      return static_cast<double>(hn::GetLane(hn::SumOfLanes(WideTag(), integers(sums)))) + start;
    };
    const double product = 128 * sum(high, trials.high_starts[candidate]) + sum(low, trials.low_starts[candidate]);
    const ByteTrialsView::Level& level = trials.levels[1];
    const double value = static_cast<double>(level.steps[candidate]) *
                         (static_cast<double>(rows.scales[row]) *
                              static_cast<double>(estimates[candidate * panel_rows + row % panel_rows]) +
                          static_cast<double>(rows.rest_scales[row]) * product);
    const double slack = static_cast<double>(rows.rest_lengths[row]) * static_cast<double>(level.errors[candidate]) +
                         static_cast<double>(rows.rest_residuals[row]) * static_cast<double>(level.norms[candidate]);
    above[index] = value + slack - static_cast<double>(trials.half[candidate]);
    const double below = value - slack - static_cast<double>(trials.half_above[candidate]);
    best = below > best ? below : best;
  }
  // Subtracts the same margin as find_least() does.
  const auto half_square = static_cast<double>(rows.half_squares[row]);
  const double least = half_square >= 0 ? best - half_square * 0x1p-20 - 0x1p-100 : -__builtin_huge_val();
  std::int64_t left = 0;
  for (std::int64_t index = 0; index < count; ++index) {
    candidates[left] = candidates[index];
    left += !(above[index] < least);
  }
  return left;
}

std::uint32_t settle_panel(bool dot, const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                           float* estimates, float* bounds, std::uint32_t* open, std::int32_t* labels) {
#if GRADUS_DOT_INSTRUCTIONS
  if (dot) return settle_with<true>(rows, trials, panel, estimates, bounds, open, labels);
#endif
  (void)dot;
  return settle_with<false>(rows, trials, panel, estimates, bounds, open, labels);
}

std::int64_t settle_one_row(bool dot, const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t row,
                            const float* estimates, std::int32_t* candidates, std::int64_t count) {
#if GRADUS_DOT_INSTRUCTIONS
  if (dot) return settle_row_with<true>(rows, trials, row, estimates, candidates, count);
#endif
  (void)dot;
  return settle_row_with<false>(rows, trials, row, estimates, candidates, count);
}

std::int64_t find_nearer(bool dot, const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                         std::int32_t* products, Undecided* undecided) {
#if GRADUS_DOT_INSTRUCTIONS
  if (dot) return find_nearer_with<true>(rows, trials, panel, products, undecided);
#endif
  (void)dot;
  return find_nearer_with<false>(rows, trials, panel, products, undecided);
}

std::int64_t find_nearest(bool dot, const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                          std::int32_t* products, float* bounds, Undecided* undecided) {
#if GRADUS_DOT_INSTRUCTIONS
  if (dot) return find_nearest_with<true>(rows, trials, panel, products, bounds, undecided);
#endif
  (void)dot;
  return find_nearest_with<false>(rows, trials, panel, products, bounds, undecided);
}

std::int64_t candidates_together() { return most_together; }
std::int64_t pairs_together() { return most_pairs; }

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/memory.hpp"

namespace gradus::kmeans_detail {

HWY_EXPORT(pack_row_f32);
HWY_EXPORT(pack_row_f64);
HWY_EXPORT(find_nearer);
HWY_EXPORT(find_nearest);
HWY_EXPORT(settle_panel);
HWY_EXPORT(settle_one_row);
HWY_EXPORT(pack_rest_f32);
HWY_EXPORT(pack_rest_f64);
HWY_EXPORT(pack_trial_f32);
HWY_EXPORT(pack_trial_f64);
HWY_EXPORT(candidates_together);
HWY_EXPORT(pairs_together);

template <class T>
ByteRows<T>::ByteRows(const PointRows<T>& points)
    : points_(points), middle_(static_cast<std::size_t>(points.columns())),
      dot_instructions_(machine_has_dot_instructions()), values_(panels() * panel_rows * 4 * quads()),
      scales_(panels() * panel_rows), residuals_(scales_.size()), lengths_(scales_.size()), limits_(scales_.size()),
      half_squares_(scales_.size()) {
  cpu::prefer_large_pages(values_.data(), static_cast<std::uint64_t>(values_.size()));
  // The middle and the scale are computed from a sample of the rows. Points far outside the sample's range cost time
  // but cause no error.
  const std::int64_t sample_rows = std::clamp<std::int64_t>((std::int64_t{1} << 18) / points.columns(), 16, 1024);
  const std::int64_t rows = std::min(points.rows(), sample_rows);
  std::vector<T> room(static_cast<std::size_t>(points.room(1)));
  const auto row_of = [&](std::int64_t index) { return points.row(points.rows() / rows * index, room.data()); };
  std::vector<double> sums(middle_.size());
  for (std::int64_t index = 0; index < rows; ++index) {
    const T* const row = row_of(index);
    for (std::size_t dim = 0; dim < sums.size(); ++dim)
      sums[dim] += static_cast<double>(row[dim]) / static_cast<double>(rows);
  }
  for (std::size_t dim = 0; dim < sums.size(); ++dim) middle_[dim] = static_cast<T>(sums[dim]);
  double extent = 0;
  for (std::int64_t index = 0; index < rows; ++index) {
    const T* const row = row_of(index);
    for (std::size_t dim = 0; dim < sums.size(); ++dim)
      extent = std::max(extent, std::abs(static_cast<double>(row[dim]) - static_cast<double>(middle_[dim])));
  }
  const int exponent =
      std::clamp(core::exponent_above(extent, -1100), sizeof(T) == 4 ? -120 : -300, sizeof(T) == 4 ? 120 : 600);
  scale_ = std::ldexp(1.0, -exponent);
  half_scale_ = 0.5 * scale_ * (1 + static_cast<double>(points.columns() + 16) * 0x1p-52);
}

template <class T>
const T* ByteRows<T>::row_in(std::int64_t row, float* scratch) const {
  if constexpr (sizeof(T) == sizeof(float)) return points_.row(row, scratch);
  else return points_.row(row, nullptr);
}

template <class T>
void ByteRows<T>::copy_panel(std::int64_t panel, float* scratch) {
  std::uint8_t* const out = values_.data() + panel * panel_rows * 4 * quads();
  const std::int64_t stride = packed_stride(points_.columns());
  float* const moved = scratch + stride;                                 // follows the widened row
  auto* const packed = reinterpret_cast<std::uint8_t*>(moved + stride);  // the packed bytes follow one row of floats
  for (std::int64_t place = 0; place < panel_rows; ++place) {
    const std::int64_t row = panel * panel_rows + place;
    limits_[row] = std::numeric_limits<float>::infinity();
    if (row >= points_.rows()) {  // pads the last panel
      std::fill_n(packed + place * stride, stride, 128);
      scales_[row] = residuals_[row] = lengths_[row] = half_squares_[row] = 0;
      continue;
    }
    const auto pack = [&](const auto& function) {
      function(row_in(row, scratch), middle_.data(), static_cast<T>(scale_), points_.columns(), moved,
               packed + place * stride,
               ByteRowFacts{&scales_[row], &residuals_[row], &lengths_[row], &half_squares_[row]});
    };
    if constexpr (sizeof(T) == 4) pack(HWY_DYNAMIC_DISPATCH(pack_row_f32));
    else pack(HWY_DYNAMIC_DISPATCH(pack_row_f64));
  }
  // Writes the panel one cache line after another. If it were written row after row, each line would be fetched once
  // per row.
  for (std::int64_t quad = 0; quad < quads(); ++quad)
    for (std::int64_t place = 0; place < panel_rows; ++place)
      std::memcpy(out + 4 * (panel_rows * quad + place), packed + place * stride + 4 * quad, 4);
}

template <class T>
void ByteRows<T>::make_rests() {
  rests_ = Buffer<std::uint8_t>(points_.rows() * rest_stride(points_.columns()));
  rest_scales_ = Buffer<float>(scales_.size(), 0.0F);
  rest_residuals_ = Buffer<float>(scales_.size());
  rest_lengths_ = Buffer<float>(scales_.size());
}

template <class T>
void ByteRows<T>::copy_rest(std::int64_t row, float* scratch) {
  if (rest_scales_.size() == 0 || scales_[row] == 0) return;
  const std::int64_t stride = rest_stride(points_.columns());
  const std::uint8_t* const first =
      values_.data() + row / panel_rows * panel_rows * 4 * quads() + 4 * (row % panel_rows);
  const auto pack = [&](const auto& function) {
    function(row_in(row, scratch), middle_.data(), static_cast<T>(scale_), points_.columns(), first, scales_[row],
             lengths_[row], scratch + packed_stride(points_.columns()), rests_.data() + row * stride, stride,
             ByteRestFacts{&rest_scales_[row], &rest_residuals_[row], &rest_lengths_[row]});
  };
  if constexpr (sizeof(T) == 4) pack(HWY_DYNAMIC_DISPATCH(pack_rest_f32));
  else pack(HWY_DYNAMIC_DISPATCH(pack_rest_f64));
}

template <class T>
ByteRowsView ByteRows<T>::view() const {
  return {quads(),
          values_.data(),
          scales_.data(),
          residuals_.data(),
          lengths_.data(),
          limits_.data(),
          half_squares_.data(),
          rests_.data(),
          rest_stride(points_.columns()),
          rest_scales_.data(),
          rest_residuals_.data(),
          rest_lengths_.data()};
}

template <class T>
std::int64_t ByteRows<T>::find_nearer(const ByteTrials& trials, std::int64_t panel, ByteScratch& scratch) const {
  return HWY_DYNAMIC_DISPATCH(find_nearer)(dot_instructions_, view(), trials.view(), panel, scratch.products.data(),
                                           scratch.undecided.data());
}

template <class T>
std::int64_t ByteRows<T>::find_nearest(const ByteTrials& trials, std::int64_t panel, ByteScratch& scratch) const {
  return HWY_DYNAMIC_DISPATCH(find_nearest)(dot_instructions_, view(), trials.view(), panel, scratch.products.data(),
                                            scratch.bounds.data(), scratch.undecided.data());
}

template <class T>
std::uint32_t ByteRows<T>::settle(const ByteTrials& trials, std::int64_t panel, ByteScratch& scratch,
                                  std::int32_t* labels) const {
  return HWY_DYNAMIC_DISPATCH(settle_panel)(dot_instructions_, view(), trials.view(), panel, scratch.estimates.data(),
                                            scratch.bounds.data(), scratch.open.data(), labels);
}

template <class T>
std::int64_t ByteRows<T>::settle_row(const ByteTrials& trials, std::int64_t row, const ByteScratch& scratch,
                                     std::int32_t* candidates, std::int64_t count) const {
  return HWY_DYNAMIC_DISPATCH(settle_one_row)(dot_instructions_, view(), trials.view(), row, scratch.estimates.data(),
                                              candidates, count);
}

template <class T>
std::uint64_t ByteRows<T>::bytes(std::int64_t rows, std::int64_t columns, bool with_rests) {
  const std::int64_t of_rests = with_rests ? rest_stride(columns) + 12 : 0;
  return static_cast<std::uint64_t>(rows + panel_rows) *
         static_cast<std::uint64_t>((columns + 3) / 4 * 4 + 20 + of_rests);
}

template <class T>
void ByteTrials::make(const ByteRows<T>& rows, std::span<const T* const> candidates) {
  const std::int64_t d = rows.columns();
  const std::int64_t quads = (d + 3) / 4;
  count_ = static_cast<std::int64_t>(candidates.size());
  const auto group_of = [this](std::int64_t most) {
    const std::int64_t groups = std::max<std::int64_t>((count_ + most - 1) / most, 1);
    return std::max<std::int64_t>((count_ + groups - 1) / groups, 1);
  };
  group_ = group_of(HWY_DYNAMIC_DISPATCH(candidates_together)());
  pair_group_ = group_of(HWY_DYNAMIC_DISPATCH(pairs_together)());
  stride_ = (d + 63) / 64 * 16;
  for (auto* each : {&rows_high_, &low_}) each->assign(static_cast<std::size_t>(count_ * stride_), 0);
  for (auto* each : {&high_starts_, &low_starts_}) each->assign(candidates.size(), 0);
  for (Level& level : levels_)
    for (auto* each : {&level.steps, &level.errors, &level.norms}) each->assign(candidates.size(), 0.0F);
  half_.assign(candidates.size(), -std::numeric_limits<float>::infinity());
  half_above_.assign(candidates.size(), std::numeric_limits<float>::infinity());
  moved_.resize(static_cast<std::size_t>(4 * stride_));
  for (std::int64_t candidate = 0; candidate < count_; ++candidate) {
    const auto at = static_cast<std::size_t>(candidate);
    TrialFacts facts{reinterpret_cast<std::uint8_t*>(rows_high_.data() + candidate * stride_),
                     reinterpret_cast<std::uint8_t*>(low_.data() + candidate * stride_)};
    if constexpr (sizeof(T) == 4) HWY_DYNAMIC_DISPATCH(pack_trial_f32)
    (candidates[at], rows.middle().data(), rows.scale(), d, moved_.data(), facts);
    else HWY_DYNAMIC_DISPATCH(pack_trial_f64)(candidates[at], rows.middle().data(), rows.scale(), d, moved_.data(),
                                              facts);
    if (!(facts.largest <= 0x1p40)) continue;  // a candidate with larger coordinates is never excluded
    high_starts_[at] = -128 * facts.high_sum;
    low_starts_[at] = -128 * facts.low_sum;
    // The margin 2^-18 also covers the rounding of these double sums.
    const double wide = 1 + 0x1p-18;
    const double step = facts.step;
    const double all = 128 * std::sqrt(facts.highs) + std::sqrt(facts.lows);
    const auto set = [&](Level& level, double of_one, double norm, double rest) {
      const double off = std::sqrt(rest) + 0x1p-50 * std::sqrt(facts.squares) + 0x1p-110;
      level.steps[at] = static_cast<float>(of_one);
      level.norms[at] = static_cast<float>((norm + off) * wide);
      level.errors[at] = static_cast<float>((off + 0x1p-20 * step * all) * wide);
    };
    set(levels_[0], 128 * step, 128 * step * std::sqrt(facts.highs), facts.high_rests);
    set(levels_[1], step, step * std::sqrt(facts.wholes), facts.rests);
    half_[at] = static_cast<float>(0.5 * facts.squares / wide);
    half_above_[at] = static_cast<float>(0.5 * facts.squares * wide + 0x1p-110);
  }
  // Reorders the integers: one group after another. Within a group, the words for the same quad of all candidates are
  // contiguous.
  const auto interleave = [&](std::vector<std::int32_t>& to, std::int64_t group,
                              std::initializer_list<const std::int32_t*> from) {
    to.resize(from.size() * static_cast<std::size_t>(count_ * quads));
    std::int32_t* out = to.data();
    for (std::int64_t first = 0; first < count_; first += group) {
      const std::int64_t size = std::min(group, count_ - first);
      for (std::int64_t quad = 0; quad < quads; ++quad)
        for (std::int64_t candidate = first; candidate < first + size; ++candidate)
          for (const std::int32_t* const words : from) *out++ = words[candidate * stride_ + quad];
    }
  };
  interleave(high_, group_, {rows_high_.data()});
  pairs_.clear();
  if (count_ <= few_candidates) interleave(pairs_, pair_group_, {rows_high_.data(), low_.data()});
}

ByteTrialsView ByteTrials::view() const {
  const auto level = [](const Level& from) {
    return ByteTrialsView::Level{from.steps.data(), from.errors.data(), from.norms.data()};
  };
  return {count_,
          group_,
          pair_group_,
          stride_,
          high_.data(),
          pairs_.data(),
          rows_high_.data(),
          low_.data(),
          high_starts_.data(),
          low_starts_.data(),
          {level(levels_[0]), level(levels_[1])},
          half_.data(),
          half_above_.data()};
}

template class ByteRows<float>;
template class ByteRows<double>;
template void ByteTrials::make(const ByteRows<float>&, std::span<const float* const>);
template void ByteTrials::make(const ByteRows<double>&, std::span<const double* const>);

}  // namespace gradus::kmeans_detail
#endif
