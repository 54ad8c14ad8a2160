#include "kmeans/seeding/byte_rows.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/seeding/byte_rows.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "kmeans/simd/integer_filter-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

constexpr float farthest = 0x1p40F;  // scaled: beyond, a row is never ruled out
constexpr float nearest_zero = 0x1p-60F;

// A row's bytes to where they stand in a panel, and what is known of it.
template <class T>
void pack_row(const T* row, const T* middle, T scale, std::int64_t dimensions, float* tile, std::uint8_t* out,
              float* row_scale, float* residual, float* half_square) {
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

  const hn::ScalableTag<float> f;
  const hn::Rebind<std::uint8_t, decltype(f)> bytes;
  const auto floats = static_cast<std::int64_t>(hn::Lanes(f));
  const std::int64_t whole = (dimensions + floats - 1) / floats * floats;
  for (; dim < whole; ++dim) tile[dim] = 0;
  auto most = hn::Zero(f);
  auto squares = hn::Zero(f);
  for (dim = 0; dim < whole; dim += floats) {
    const auto value = hn::LoadU(f, tile + dim);
    most = hn::Max(most, hn::Abs(value));
    squares = hn::MulAdd(value, value, squares);
  }
  const float largest = hn::GetLane(hn::MaxOfLanes(f, most));
  const std::int64_t quads = (dimensions + 3) / 4;
  if (!(largest <= farthest)) {
    for (std::int64_t quad = 0; quad < quads; ++quad) __builtin_memset(out + 64 * quad, 128, 4);
    *row_scale = *residual = 0;
    *half_square = -__builtin_inff();
    return;
  }
  const bool has_bytes = largest >= nearest_zero;
  const float step = has_bytes ? largest / 127 : 0.0F;
  const auto steps = hn::Set(f, has_bytes ? 127 / largest : 0.0F);
  const auto back = hn::Set(f, step);
  const auto offset = hn::Set(hn::RebindToSigned<decltype(f)>(), 128);
  auto rests = hn::Zero(f);
  // The bytes take the place of floats that have been read.
  auto* const packed = reinterpret_cast<std::uint8_t*>(tile);
  for (dim = 0; dim < whole; dim += floats) {
    const auto value = hn::LoadU(f, tile + dim);
    const auto rounded = hn::NearestInt(hn::Mul(value, steps));
    const auto rest = hn::NegMulAdd(hn::ConvertTo(f, rounded), back, value);
    rests = hn::MulAdd(rest, rest, rests);
    hn::StoreU(hn::DemoteTo(bytes, rounded + offset), bytes, packed + dim);
  }
  for (std::int64_t quad = 0; quad < quads; ++quad) __builtin_memcpy(out + 64 * quad, packed + 4 * quad, 4);
  // Chains of the sums are no longer than all columns and a few.
  const double rounding = static_cast<double>(dimensions + 32) * 0x1p-24;
  const auto square = static_cast<double>(hn::GetLane(hn::SumOfLanes(f, squares)));
  const auto rest = static_cast<double>(hn::GetLane(hn::SumOfLanes(f, rests)));
  *row_scale = step;
  *residual = static_cast<float>(
      (__builtin_sqrt(rest * (1 + 2 * rounding)) + 0x1p-22 * __builtin_sqrt(square * (1 + 2 * rounding)) + 0x1p-110) *
      (1 + 0x1p-20));
  *half_square = static_cast<float>(0.5 * square * (1 - 2 * rounding));
}

void pack_row_f32(const float* row, const float* middle, float scale, std::int64_t dimensions, float* tile,
                  std::uint8_t* out, float* row_scale, float* residual, float* half_square) {
  pack_row(row, middle, scale, dimensions, tile, out, row_scale, residual, half_square);
}
void pack_row_f64(const double* row, const double* middle, double scale, std::int64_t dimensions, float* tile,
                  std::uint8_t* out, float* row_scale, float* residual, float* half_square) {
  pack_row(row, middle, scale, dimensions, tile, out, row_scale, residual, half_square);
}

// As many candidates as the registers hold two sums of each, beside a vector of points and one of a candidate.
constexpr std::int64_t most_together = HWY_TARGET == HWY_AVX3 ? 12 : 5;

#if GRADUS_INTEGER_PANELS
constexpr std::int64_t lanes_together = vector_lanes;
using Sum = DotVector;

// sum[i] += the products of 4 bytes without sign and the 4 at `four` with one, of which no two products are above 2^15.
template <bool dot>
HWY_INLINE DotVector add_bytes(DotVector sum, DotVector without_sign, const std::int32_t& four) {
#if GRADUS_DOT_INSTRUCTIONS
  if constexpr (dot) {
#if HWY_TARGET == HWY_AVX3
    // The load repeats them. Compilers rather take a way by a port that the products need.
    asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(without_sign), "m"(four));
    return sum;
#else
    return dot_bytes(sum, without_sign, hn::Set(WideTag(), four).raw);
#endif
  }
#endif
  const DotVector with_sign = hn::Set(WideTag(), four).raw;
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

template <std::int64_t count, bool dot>
HWY_INLINE void multiply_group(const std::uint8_t* panel, std::int64_t quads, const std::int32_t* values,
                               Sum (&high)[count], Sum (&low)[count]) {
  const WideTag wide;
  const hn::Repartition<std::uint8_t, WideTag> bytes;
#pragma GCC unroll 16
  for (std::int64_t candidate = 0; candidate < count; ++candidate)
    high[candidate] = low[candidate] = hn::Zero(wide).raw;
  for (std::int64_t quad = 0; quad < quads; ++quad) {
    const DotVector points = hn::LoadU(bytes, panel + 64 * quad).raw;
#pragma GCC unroll 16
    for (std::int64_t candidate = 0; candidate < count; ++candidate) {
      const std::int32_t* const from = values + 2 * (quad * count + candidate);
      high[candidate] = add_bytes<dot>(high[candidate], points, from[0]);
      low[candidate] = add_bytes<dot>(low[candidate], points, from[1]);
    }
  }
}

HWY_INLINE hn::Vec<WideTag> integers(DotVector sum) { return hn::Vec<WideTag>{sum}; }
using Floats = hn::ScalableTag<float>;
#else
using WideTag = hn::CappedTag<std::int32_t, 1>;
using Floats = hn::CappedTag<float, 1>;
constexpr std::int64_t lanes_together = 1;
using Sum = std::int32_t;

template <std::int64_t count, bool dot>
void multiply_group(const std::uint8_t* panel, std::int64_t quads, const std::int32_t* values, Sum (&high)[count],
                    Sum (&low)[count]) {
  for (std::int64_t candidate = 0; candidate < count; ++candidate) high[candidate] = low[candidate] = 0;
  for (std::int64_t quad = 0; quad < quads; ++quad)
    for (std::int64_t candidate = 0; candidate < count; ++candidate)
      for (std::int64_t dim = 0; dim < 4; ++dim) {
        std::int8_t from[8];
        __builtin_memcpy(from, values + 2 * (quad * count + candidate), sizeof from);
        high[candidate] += panel[64 * quad + dim] * from[dim];
        low[candidate] += panel[64 * quad + dim] * from[4 + dim];
      }
}

HWY_INLINE hn::Vec<WideTag> integers(Sum sum) { return hn::Set(WideTag(), sum); }
#endif

template <class Mask>
HWY_INLINE std::uint32_t bits_of(Mask mask) {
  std::uint8_t bytes[8];
  hn::StoreMaskBits(Floats(), mask, bytes);
  // As many bytes are read as were written, lest the load wait for the store.
  if constexpr (lanes_together == 16) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, bytes, sizeof bits);
    return bits;
  } else {
    return bytes[0];
  }
}

// One group of candidates, and a panel's points. For the nearest: their bounds go to `scores`, and `best` is raised.
template <std::int64_t count, bool dot, bool nearest>
HWY_INLINE std::int64_t look_at_group(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                                      std::int64_t first, float* scores, float* best, Undecided* undecided) {
  const Floats f;
  const std::uint8_t* const bytes = rows.panels + panel * rows.quads * 64;
  const std::int32_t* const values = trials.values + first * rows.quads * 2;
  std::uint32_t open[count] = {};
  for (std::int64_t lane = 0; lane < 16; lane += lanes_together) {
    Sum high[count];
    Sum low[count];
    multiply_group<count, dot>(bytes + 4 * lane, rows.quads, values, high, low);
    const std::int64_t at = panel * 16 + lane;
    const auto scale = hn::LoadU(f, rows.scales + at);
    const auto residual = hn::LoadU(f, rows.residuals + at);
    const auto limit = hn::LoadU(f, rows.limits + at);
    auto least_bound = hn::Zero(f);
    if constexpr (nearest) least_bound = hn::LoadU(f, best + lane);
#pragma GCC unroll 16
    for (std::int64_t index = 0; index < count; ++index) {
      const std::int64_t candidate = first + index;
      const auto upper = integers(high[index]) - hn::Set(WideTag(), trials.high_offsets[candidate]);
      const auto lower = integers(low[index]) - hn::Set(WideTag(), trials.low_offsets[candidate]);
      const auto product = hn::MulAdd(hn::ConvertTo(f, upper), hn::Set(f, 128.0F), hn::ConvertTo(f, lower));
      const auto step = hn::Set(f, trials.steps[candidate]);
      const auto error = hn::Set(f, trials.errors[candidate]);
      const auto norm = hn::Set(f, trials.norms[candidate]);
      const auto rest = hn::MulSub(residual, norm, hn::Set(f, trials.half[candidate]));
      const auto bound = hn::MulAdd(scale, hn::MulAdd(product, step, error), rest);
      if constexpr (nearest) {
        const auto rest_below = hn::MulAdd(residual, norm, hn::Set(f, trials.half_above[candidate]));
        least_bound = hn::Max(least_bound, hn::MulSub(scale, hn::MulSub(product, step, error), rest_below));
        hn::StoreU(bound, f, scores + candidate * 16 + lane);
      } else {
        open[index] |= bits_of(hn::Not(bound <= limit)) << lane;
      }
    }
    if constexpr (nearest) hn::StoreU(least_bound, f, best + lane);
  }
  std::int64_t found = 0;
  if constexpr (!nearest)
    for (std::int64_t index = 0; index < count; ++index) {
      undecided[found] = {static_cast<std::int32_t>(first + index), open[index]};
      found += open[index] != 0;
    }
  return found;
}

template <bool dot, bool nearest>
std::int64_t look_at_groups(const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel, float* scores,
                            float* best, Undecided* undecided) {
  std::int64_t found = 0;
  for (std::int64_t first = 0; first < trials.count; first += trials.group) {
    const auto look = [&](auto size) HWY_ATTR {
      found += look_at_group<decltype(size)::value, dot, nearest>(rows, trials, panel, first, scores, best,
                                                                  undecided + found);
    };
    const std::int64_t left = trials.count - first;
    switch (left < trials.group ? left : trials.group) {
#define GRADUS_GROUP(size) \
  case size: look(std::integral_constant<std::int64_t, size>()); break
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
  return found;
}

template <bool nearest>
std::int64_t look_at_panel(bool dot, const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                           float* scores, float* best, Undecided* undecided) {
#if GRADUS_DOT_INSTRUCTIONS
  if (dot) return look_at_groups<true, nearest>(rows, trials, panel, scores, best, undecided);
#endif
  (void)dot;
  return look_at_groups<false, nearest>(rows, trials, panel, scores, best, undecided);
}

std::int64_t look_for_nearer(bool dot, const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                             Undecided* undecided) {
  return look_at_panel<false>(dot, rows, trials, panel, nullptr, nullptr, undecided);
}

// A candidate is surely farther than another one where its bound (from above, of -D / 2 and what depends on the point
// alone) lies below the other's from below, and by more than the canonical chains may err by: each by (d + 2) 2^-53 of
// a distance, which is at most 2 |x'|^2 + 2 |y'|^2. The part of the candidates stands in their b, which are widened for
// 2^-20 of it; 2^-20 |x'|^2 / 2 is taken off here.
std::int64_t look_for_nearest(bool dot, const ByteRowsView& rows, const ByteTrialsView& trials, std::int64_t panel,
                              float* scores, Undecided* undecided) {
  float best[16];
  for (float& bound : best) bound = -__builtin_inff();
  look_at_panel<true>(dot, rows, trials, panel, scores, best, nullptr);
  const Floats f;
  for (std::int64_t lane = 0; lane < 16; lane += lanes_together) {
    const auto half_square = hn::LoadU(f, rows.half_squares + panel * 16 + lane);
    const auto bound = hn::NegMulAdd(half_square, hn::Set(f, 0x1p-20F), hn::LoadU(f, best + lane));
    const auto none = hn::Set(f, -__builtin_inff());
    hn::StoreU(hn::IfThenElse(half_square >= hn::Zero(f), bound - hn::Set(f, 0x1p-100F), none), f, best + lane);
  }
  std::int64_t found = 0;
  for (std::int64_t candidate = 0; candidate < trials.count; ++candidate) {
    std::uint32_t open = 0;
    for (std::int64_t lane = 0; lane < 16; lane += lanes_together) {
      const auto bound = hn::LoadU(f, scores + candidate * 16 + lane);
      const auto out =
          hn::Or(bound <= hn::LoadU(f, rows.limits + panel * 16 + lane), bound < hn::LoadU(f, best + lane));
      open |= bits_of(hn::Not(out)) << lane;
    }
    undecided[found] = {static_cast<std::int32_t>(candidate), open};
    found += open != 0;
  }
  return found;
}

std::int64_t candidates_together() { return most_together; }

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::kmeans_detail {

HWY_EXPORT(pack_row_f32);
HWY_EXPORT(pack_row_f64);
HWY_EXPORT(look_for_nearer);
HWY_EXPORT(look_for_nearest);
HWY_EXPORT(candidates_together);

template <class T>
ByteRows<T>::ByteRows(MatrixView<const T> points)
    : points_(points), middle_(static_cast<std::size_t>(points.columns())),
      dot_instructions_(machine_has_dot_instructions()), values_(panels() * panel_rows * 4 * quads()),
      scales_(panels() * panel_rows, 0.0F), residuals_(panels() * panel_rows, 0.0F),
      limits_(panels() * panel_rows, std::numeric_limits<float>::infinity()),
      half_squares_(panels() * panel_rows, 0.0F) {
  // A sample is enough: what lies far outside its range only costs time.
  constexpr std::int64_t sample_rows = 1024;
  const std::int64_t rows = std::min(points.rows(), sample_rows);
  const auto row_of = [&](std::int64_t index) { return points.row(points.rows() / rows * index); };
  std::vector<double> sums(middle_.size());
  for (std::int64_t index = 0; index < rows; ++index)
    for (std::size_t dim = 0; dim < sums.size(); ++dim)
      sums[dim] += static_cast<double>(row_of(index)[dim]) / static_cast<double>(rows);
  for (std::size_t dim = 0; dim < sums.size(); ++dim) middle_[dim] = static_cast<T>(sums[dim]);
  double extent = 0;
  for (std::int64_t index = 0; index < rows; ++index)
    for (std::size_t dim = 0; dim < sums.size(); ++dim)
      extent = std::max(extent, std::abs(static_cast<double>(row_of(index)[dim]) - static_cast<double>(middle_[dim])));
  const int exponent =
      std::clamp(core::exponent_above(extent, -1100), sizeof(T) == 4 ? -120 : -300, sizeof(T) == 4 ? 120 : 600);
  scale_ = std::ldexp(1.0, -exponent);
  half_scale_ = 0.5 * scale_ * (1 + static_cast<double>(points.columns() + 16) * 0x1p-52);
}

template <class T>
void ByteRows<T>::copy_panel(std::int64_t panel, float* scratch) {
  std::uint8_t* const out = values_.data() + panel * panel_rows * 4 * quads();
  for (std::int64_t place = 0; place < panel_rows; ++place) {
    const std::int64_t row = panel * panel_rows + place;
    if (row >= points_.rows()) {
      for (std::int64_t quad = 0; quad < quads(); ++quad) std::fill_n(out + 64 * quad + 4 * place, 4, 128);
      continue;
    }
    const auto pack = [&](const auto& function) {
      function(points_.row(row), middle_.data(), static_cast<T>(scale_), points_.columns(), scratch, out + 4 * place,
               &scales_[row], &residuals_[row], &half_squares_[row]);
    };
    if constexpr (sizeof(T) == 4) pack(HWY_DYNAMIC_DISPATCH(pack_row_f32));
    else pack(HWY_DYNAMIC_DISPATCH(pack_row_f64));
  }
}

template <class T>
ByteRowsView ByteRows<T>::view() const {
  return {quads(), values_.data(), scales_.data(), residuals_.data(), limits_.data(), half_squares_.data()};
}

template <class T>
std::int64_t ByteRows<T>::look(const ByteTrials& trials, std::int64_t panel, Undecided* undecided) const {
  return HWY_DYNAMIC_DISPATCH(look_for_nearer)(dot_instructions_, view(), trials.view(), panel, undecided);
}

template <class T>
std::int64_t ByteRows<T>::look_for_nearest(const ByteTrials& trials, std::int64_t panel, float* scores,
                                           Undecided* undecided) const {
  return HWY_DYNAMIC_DISPATCH(look_for_nearest)(dot_instructions_, view(), trials.view(), panel, scores, undecided);
}

template <class T>
std::uint64_t ByteRows<T>::bytes(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::uint64_t>(rows + panel_rows) * static_cast<std::uint64_t>((columns + 3) / 4 * 4 + 16);
}

template <class T>
void ByteTrials::make(const ByteRows<T>& rows, std::span<const T* const> candidates) {
  const std::int64_t d = rows.columns();
  const std::int64_t quads = (d + 3) / 4;
  const std::int64_t most = HWY_DYNAMIC_DISPATCH(candidates_together)();
  count_ = static_cast<std::int64_t>(candidates.size());
  const std::int64_t groups = std::max<std::int64_t>((count_ + most - 1) / most, 1);
  group_ = std::max<std::int64_t>((count_ + groups - 1) / groups, 1);
  values_.assign(static_cast<std::size_t>(count_ * quads * 2), 0);
  for (auto* each : {&high_offsets_, &low_offsets_}) each->assign(candidates.size(), 0);
  for (auto* each : {&steps_, &errors_, &norms_}) each->assign(candidates.size(), 0.0F);
  half_.assign(candidates.size(), -std::numeric_limits<float>::infinity());
  half_above_.assign(candidates.size(), std::numeric_limits<float>::infinity());
  std::vector<double> moved(static_cast<std::size_t>(d));
  for (std::int64_t candidate = 0; candidate < count_; ++candidate) {
    const auto at = static_cast<std::size_t>(candidate);
    double largest = 0;
    double squares = 0;
    for (std::size_t dim = 0; dim < moved.size(); ++dim) {
      moved[dim] = (static_cast<double>(candidates[at][dim]) - static_cast<double>(rows.middle()[dim])) * rows.scale();
      largest = std::max(largest, std::abs(moved[dim]));
      squares += moved[dim] * moved[dim];
    }
    if (!(largest <= 0x1p40)) continue;  // never ruled out
    constexpr double most_steps = 8000;  // at most 63 * 128 + 63
    const float step = largest < 0x1p-60 ? 0.0F : static_cast<float>(largest / most_steps);
    const double inverse = step > 0 ? 1 / static_cast<double>(step) : 0.0;
    const std::int64_t first = candidate / group_ * group_;
    const std::int64_t size = std::min(group_, count_ - first);
    auto* const out = reinterpret_cast<std::uint8_t*>(values_.data() + 2 * (first * quads + candidate - first));
    double rests = 0, wholes = 0, highs = 0, lows = 0;
    std::int32_t high_sum = 0, low_sum = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const double value = moved[static_cast<std::size_t>(dim)];
      const double rounded = (value * inverse + 0x1.8p52) - 0x1.8p52;
      const double rest = value - rounded * static_cast<double>(step);
      const auto whole = static_cast<std::int32_t>(rounded);
      const std::int32_t high = (whole + 64) >> 7;
      const std::int32_t low = whole - 128 * high;
      std::uint8_t* const four = out + dim / 4 * 8 * size + dim % 4;
      four[0] = static_cast<std::uint8_t>(high);
      four[4] = static_cast<std::uint8_t>(low);
      high_sum += high;
      low_sum += low;
      rests += rest * rest;
      wholes += rounded * rounded;
      highs += high * high;
      lows += low * low;
    }
    high_offsets_[at] = 128 * high_sum;
    low_offsets_[at] = 128 * low_sum;
    // Sums of doubles: what they lose is far below the 2^-18 by which all is widened.
    const double wide = 1 + 0x1p-18;
    const double off = std::sqrt(rests) + 0x1p-50 * std::sqrt(squares) + 0x1p-110;
    const double length = 127 * std::sqrt(static_cast<double>(d));  // of q, at most
    steps_[at] = step;
    errors_[at] = static_cast<float>(
        (length * off + 0x1p-20 * length * static_cast<double>(step) * (128 * std::sqrt(highs) + std::sqrt(lows))) *
        wide);
    norms_[at] = static_cast<float>((std::sqrt(wholes) * static_cast<double>(step) + off) * wide);
    half_[at] = static_cast<float>(0.5 * squares / wide);
    half_above_[at] = static_cast<float>(0.5 * squares * wide + 0x1p-110);
  }
}

ByteTrialsView ByteTrials::view() const {
  return {count_,        values_.data(), group_,        high_offsets_.data(), low_offsets_.data(),
          steps_.data(), errors_.data(), norms_.data(), half_.data(),         half_above_.data()};
}

template class ByteRows<float>;
template class ByteRows<double>;
template void ByteTrials::make(const ByteRows<float>&, std::span<const float* const>);
template void ByteTrials::make(const ByteRows<double>&, std::span<const double* const>);

}  // namespace gradus::kmeans_detail
#endif
