// The kernel of pair counts: lists the points near a group of points, then finds the bins of their pairs.
//
// Coordinates are 32-bit integers, whose differences wrap around as a periodic box does. The list has coordinates
// relative to the middle of the group, so that the loop over pairs subtracts floats. A place among bins of one width
// comes from a rounding, a place among other bins from a table. The slots of pairs in bins are packed (Compress) and
// counted one by one. The pairs that are too near an edge go to the canonical rule.
#include "pair_histogram/sky/sky_kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pair_histogram/sky/sky_kernel.cpp"
// clang-format off
#define GRADUS_WITHOUT_SSE4
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <utility>

#include "pair_histogram/simd/edge_table-inl.hpp"

#ifndef GRADUS_PAIR_HISTOGRAM_SKY_KERNEL
#define GRADUS_PAIR_HISTOGRAM_SKY_KERNEL
namespace gradus::pair_histogram_detail {

constexpr std::int64_t sky_block = 16;

// The counters of a slot take turns.
struct SkyCounters {
  explicit SkyCounters(const SkyView& view)
      : copies{view.counts, view.counts + view.slot_count, view.counts + 2 * view.slot_count,
               view.counts + 3 * view.slot_count} {}
  HWY_INLINE void count_block(const std::int32_t* slots) const {
#pragma GCC unroll 16
    for (std::int64_t pair = 0; pair < sky_block; ++pair) ++copies[pair % sky_copies][slots[pair]];
  }
  std::uint32_t* copies[sky_copies];
};

void count_full_buffer(SkyView& view);
void swap_buffers(SkyView& view);

}  // namespace gradus::pair_histogram_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::pair_histogram_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using SkyFloats = EdgeFloats;
using SkyIntegers = EdgeIntegers;
using SkyVector = hn::Vec<SkyFloats>;
using SkyMask = hn::Mask<SkyFloats>;

// If the squared norm of the sum of two points in reach is smaller, the direction to their midpoint is inaccurate.
constexpr float least_norm = 1.0F / 16;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(SkyFloats())); }

// Returns the local coordinates of points.
HWY_INLINE SkyVector local(const SkyView& view, const SkyGroup& group, int dim, hn::Vec<SkyIntegers> steps) {
  return hn::ConvertTo(SkyFloats(), steps - hn::Set(SkyIntegers(), group.origin[dim])) *
         hn::Set(SkyFloats(), view.scale[dim]);
}

// Returns the integer part of a value below 2^31.
HWY_INLINE hn::Vec<SkyIntegers> truncated(SkyVector value) {
#if HWY_TARGET == HWY_AVX3
  return {_mm512_cvttps_epi32(value.raw)};  // ConvertTo() would correct greater values
#else
  return hn::ConvertTo(SkyIntegers(), value);
#endif
}

// Returns 1 / sqrt(value) with a relative error below 2^-21.
HWY_INLINE SkyVector inverse_root(SkyVector value) {
  const SkyFloats f;
#if HWY_TARGET == HWY_AVX3
  const auto guess = hn::ApproximateReciprocalSqrt(value);  // error below 2^-14; one step of Newton's iteration
  return guess * hn::NegMulAdd(value * hn::Set(f, 0.5F) * guess, guess, hn::Set(f, 1.5F));
#else
  return hn::Set(f, 1.0F) / hn::Sqrt(value);
#endif
}

// A table that stays in registers, if there are enough of them.
struct FirstTable {
#if HWY_TARGET == HWY_AVX3
  explicit FirstTable(const SkyView& view) : table(view.table[0]) {
    const SkyFloats f;
    const SkyIntegers i;
    if (view.registers == nullptr) return;
    is_in_registers = true;
    least = hn::Set(f, view.registers->least);
    for (int half = 0; half < 2; ++half) {
      low[half] = hn::Load(f, view.registers->low + 16 * half);
      high[half] = hn::Load(f, view.registers->high + 16 * half);
      places[half] = hn::Load(i, view.registers->place + 16 * half);
    }
  }
  HWY_INLINE hn::Vec<SkyIntegers> place(SkyVector square, SkyMask& doubtful) const {
    const SkyFloats f;
    const SkyIntegers i;
    auto place = hn::Zero(i);
    if (HWY_UNLIKELY(!is_in_registers)) {
      look_up(table, square, place, doubtful);
      return place;
    }
    const auto interval = hn::ShiftRightSame(hn::BitCast(i, hn::Max(square, least)), table.shift);
    const SkyVector begin{_mm512_permutex2var_ps(low[0].raw, interval.raw, low[1].raw)};
    const SkyVector end{_mm512_permutex2var_ps(high[0].raw, interval.raw, high[1].raw)};
    place = {_mm512_permutex2var_epi32(places[0].raw, interval.raw, places[1].raw)};
    const auto is_past = square >= end;
    doubtful = hn::Or(doubtful, hn::AndNot(is_past, square >= begin));
    return {_mm512_mask_add_epi32(place.raw, is_past.raw, place.raw, hn::Set(i, table.step).raw)};
  }

  EdgeTableView table;
  bool is_in_registers = false;
  SkyVector least = hn::Zero(SkyFloats());
  SkyVector low[2];
  SkyVector high[2];
  hn::Vec<SkyIntegers> places[2];
#else
  explicit FirstTable(const SkyView& view) : table(view.table[0]) {}
  HWY_INLINE hn::Vec<SkyIntegers> place(SkyVector square, SkyMask& doubtful) const {
    auto place = hn::Zero(SkyIntegers());
    look_up(table, square, place, doubtful);
    return place;
  }
  EdgeTableView table;
#endif
};

// The kinds of pairs for which code is compiled separately, with a fixed line of sight. The code of `any` examines the
// view.
enum Kind { any, across, separation };

template <int kind>
void count_row(SkyView& view, const FirstTable& table, const SkyGroup& group, std::int64_t point, std::int64_t begin,
               std::int64_t end) {
  const bool is_midpoint = kind == any && view.is_midpoint;
  const bool is_across = kind == across || (kind == any && view.is_across);
  const SkyFloats f;
  const SkyIntegers i;
  const SkyList& list = *view.list;
  const FirstTable first_table = table;
  SkyVector own[3];
  SkyVector own_place[3];
#pragma GCC unroll 3
  for (int dim = 0; dim < 3; ++dim) {
    own[dim] = local(view, group, dim, hn::Set(i, group.first.steps[dim][point]));
    if (is_midpoint) own_place[dim] = hn::Set(f, group.first.places[dim][point]);
  }
  const auto first_square = hn::Set(f, view.first_square);
  const auto second_end = hn::Set(f, view.second_end);
  const auto per_length = hn::Set(f, is_across ? view.fixed.per_length : view.even.per_length);
  const auto before = hn::Set(f, is_across ? view.fixed.before : view.even.before - 0.5F);
  const auto least = hn::Set(f, is_across ? view.fixed.least : view.even.least - 0.5F);
  const auto most = hn::Set(f, view.even.most - 0.5F);
  const auto certain = hn::Set(f, 0.5F - view.even.doubt);
  const auto doubt_mask = hn::Set(i, view.fixed.doubt_mask);
  const int fixed_shift = view.fixed.shift;
  const auto mu_error = hn::Set(f, view.mu_error);
  const SkyLookup lookup = view.second_lookup;
  const bool numbers_all = view.numbers_all;
  std::int32_t* const slots = view.slots;
  std::int64_t length = view.length;
  const SkyCounters counters(view);
  const std::int32_t* const full_slots = view.full_slots;
  const std::int64_t full_length = view.full_length;
  std::int64_t counted = view.counted;
  for (std::int64_t place = begin; place < end; place += lanes()) {
    // Counting takes load and store units, which the rest of the loop hardly uses.
    if (counted < full_length) {
      counters.count_block(full_slots + counted);
      counted += sky_block;
    }
    SkyVector apart[3];
#pragma GCC unroll 3
    for (int dim = 0; dim < 3; ++dim) apart[dim] = own[dim] - hn::LoadU(f, list.locals[dim] + place);
    auto square = hn::MulAdd(apart[0], apart[0], apart[1] * apart[1]);
    if (is_midpoint || !is_across) square = hn::MulAdd(apart[2], apart[2], square);
    auto second = hn::Abs(apart[2]);
    SkyMask near = square < first_square;
    SkyMask doubtful = hn::FirstN(f, 0);
    auto error = hn::Zero(f);  // of mu
    if (is_midpoint) {
      auto norm = hn::Zero(f);
      SkyVector sum[3];
#pragma GCC unroll 3
      for (int dim = 0; dim < 3; ++dim) {
        sum[dim] = own_place[dim] + hn::LoadU(f, list.places[dim] + place);
        norm = hn::MulAdd(sum[dim], sum[dim], norm);
      }
      doubtful = norm < hn::Set(f, least_norm);
      second = hn::Abs(hn::MulAdd(apart[0], sum[0], hn::MulAdd(apart[1], sum[1], apart[2] * sum[2])));
      const auto inverse = inverse_root(hn::Max(norm, hn::Set(f, least_norm)));
      second = second * inverse;
      if (is_across) {
        const auto x = hn::MulSub(apart[1], sum[2], apart[2] * sum[1]);
        const auto y = hn::MulSub(apart[2], sum[0], apart[0] * sum[2]);
        const auto z = hn::MulSub(apart[0], sum[1], apart[1] * sum[0]);
        const auto across = hn::MulAdd(x, x, hn::MulAdd(y, y, z * z)) * inverse * inverse;
        near = hn::And(across < first_square, second < second_end);
        near = hn::Or(near, hn::And(doubtful, square < hn::Set(f, view.list_square)));
        // Past the end of the list, a sum of places may be zero, and so may the separation across it.
        near = hn::And(near, hn::FirstN(f, static_cast<std::size_t>(std::min(end - place, lanes()))));
        square = across;
      }
    } else if (is_across) {
      near = hn::And(near, second < second_end);
    }
    auto slot = first_table.place(square, doubtful);
    if (!is_across) {
      if (lookup != SkyLookup::none) {
        const auto inverse = inverse_root(hn::Max(square, hn::Set(f, 0x1p-100F)));
        second = second * inverse;
        error = mu_error * inverse;
      }
    }
    if (HWY_LIKELY(lookup == SkyLookup::even)) {
      const auto value = hn::Max(hn::MulAdd(second, per_length, before), least);
      if (is_across) {
        const auto bits = truncated(value);
        slot = slot + hn::ShiftRightSame(bits, fixed_shift);
        doubtful = hn::Or(doubtful, hn::RebindMask(f, hn::And(bits, doubt_mask) == hn::Zero(i)));
      } else {
        const auto middle = hn::Min(value, most);
        const auto rounded = hn::Round(middle);
        slot = slot + truncated(rounded);
        doubtful = hn::Or(doubtful, hn::Abs(middle - rounded) > hn::NegMulAdd(error, per_length, certain));
      }
    } else if (lookup == SkyLookup::none) {
      slot = slot + hn::Set(i, 1);
    } else {
      auto other = slot;
      look_up(view.table[1], second + error, slot, doubtful);
      if (!is_across) {
        look_up(view.table[1], hn::Max(second - error, hn::Zero(f)), other, doubtful);
        doubtful = hn::Or(doubtful, hn::RebindMask(f, slot != other));
      }
    }
    doubtful = hn::And(doubtful, near);
    if (HWY_UNLIKELY(!hn::AllFalse(f, doubtful))) {
      near = hn::AndNot(doubtful, near);
      hn::StoreU(hn::Compress(hn::LoadU(i, list.numbers + place), hn::RebindMask(i, doubtful)), i,
                 view.doubtful_second + view.doubts);
      hn::StoreU(hn::Set(i, static_cast<std::int32_t>(point)), i, view.doubtful_first + view.doubts);
      view.doubts += static_cast<std::int64_t>(hn::CountTrue(f, doubtful));
      if (view.doubts >= sky_list) view.settle_doubts(view.owner);
    }
    hn::StoreU(hn::Compress(slot, hn::RebindMask(i, near)), i, slots + length);
    if (numbers_all)
      hn::StoreU(hn::Compress(hn::LoadU(i, list.numbers + place), hn::RebindMask(i, near)), i, view.numbers + length);
    length += static_cast<std::int64_t>(hn::CountTrue(f, near));
  }
  view.length = length;
  view.counted = counted;
}

template <int kind>
void count_list(SkyView& view, const SkyGroup& group, std::int64_t length, std::int64_t own) {
  // Infinite separations are out of reach.
  hn::StoreU(hn::Set(SkyFloats(), 0x1p127F), SkyFloats(), view.list->locals[0] + length);
  const FirstTable table(view);
  for (std::int64_t point = group.begin; point < group.end; ++point) {
    const bool is_full = view.length + length + sky_overshoot > sky_buffer_room;
    if (is_full) count_full_buffer(view);
    if (is_full || (view.counted >= view.full_length && view.length >= sky_list / 2)) swap_buffers(view);
    const std::int64_t begin = group.is_own ? std::max<std::int64_t>(0, own + point - group.begin + 1) : 0;
    const std::int64_t row = view.length;
    count_row<kind>(view, table, group, point, begin, length);
    if (view.numbers_all) view.settle_row(view.owner, point, row);
  }
}

template <int kind>
void count_group(SkyView& view, const SkyGroup& group) {
  const bool is_midpoint = kind == any && view.is_midpoint;
  const bool is_across = kind == across || (kind == any && view.is_across);
  const SkyFloats f;
  const SkyIntegers i;
  const auto lane_numbers = hn::Iota(i, 0);
  SkyList& list = *view.list;
  std::int64_t length = 0;
  std::int64_t own = 0;  // the place of the group's first point in the list; negative after the list restarts
  for (std::int64_t number = 0; number < group.run_count; ++number) {
    const SkyRun& run = group.runs[number];
    for (std::int64_t place = run.begin; place < run.end; place += lanes()) {
      auto square = hn::Zero(f);
      SkyVector locals[3];
#pragma GCC unroll 3
      for (int dim = 0; dim < 3; ++dim) {
        locals[dim] = local(view, group, dim, hn::LoadU(i, group.second.steps[dim] + place));
        const auto outside = hn::Max(hn::Abs(locals[dim]) - hn::Set(f, group.half[dim]), hn::Zero(f));
        if (dim < 2 || is_midpoint || !is_across) square = hn::MulAdd(outside, outside, square);
      }
      const auto numbers = lane_numbers + hn::Set(i, static_cast<std::int32_t>(place));
      const auto near = hn::And(square <= hn::Set(f, view.list_square),
                                hn::RebindMask(f, numbers < hn::Set(i, static_cast<std::int32_t>(run.end))));
#pragma GCC unroll 3
      for (int dim = 0; dim < 3; ++dim) {
        hn::StoreU(hn::Compress(locals[dim], near), f, list.locals[dim] + length);
        if (is_midpoint)
          hn::StoreU(hn::Compress(hn::LoadU(f, group.second.places[dim] + place), near), f, list.places[dim] + length);
      }
      hn::StoreU(hn::Compress(numbers, hn::RebindMask(i, near)), i, list.numbers + length);
      length += static_cast<std::int64_t>(hn::CountTrue(f, near));
      if (HWY_LIKELY(length < sky_list)) continue;
      count_list<kind>(view, group, length, own);
      own -= length;
      length = 0;
    }
  }
  count_list<kind>(view, group, length, own);
}

void count(SkyView& view, const SkyGroup& group) {
#if HWY_TARGET == HWY_AVX3
  if (!view.is_midpoint)
    return view.is_across ? count_group<across>(view, group) : count_group<separation>(view, group);
#endif
  count_group<any>(view, group);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::pair_histogram_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::pair_histogram_detail {

HWY_EXPORT(count);

void count_sky_group(SkyView& view, const SkyGroup& group) { HWY_DYNAMIC_DISPATCH(count)(view, group); }

void count_full_buffer(SkyView& view) {
  const SkyCounters counters(view);
  for (; view.counted < view.full_length; view.counted += sky_block)
    counters.count_block(view.full_slots + view.counted);
}

void swap_buffers(SkyView& view) {
  // No bin has the slot 0.
  std::fill_n(view.slots + view.length, sky_block, 0);
  std::swap(view.slots, view.full_slots);
  view.sum_of_counts += view.length + sky_block;
  view.full_length = view.length;
  view.counted = view.length = 0;
  if (view.sum_of_counts > view.settle_after) view.settle_counts(view.owner);
}

void flush_sky_pairs(SkyView& view) {
  count_full_buffer(view);
  swap_buffers(view);
  count_full_buffer(view);
}

}  // namespace gradus::pair_histogram_detail
#endif
