// The kernel of pair counts: collects the pairs in reach, then finds their bins, both with vectors.
//
// A pair's separation comes from 32-bit integer coordinates, whose difference wraps around as a periodic box does.
// Pairs that may be in a bin are packed into buffers (Compress), about one pair in three. The second step finds the
// places of both coordinates in tables. The pairs that are too near an edge go to the canonical rule.
#include "pair_histogram/sky/sky_kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pair_histogram/sky/sky_kernel.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "pair_histogram/simd/edge_table-inl.hpp"

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

void flush(SkyView& view) {
  const SkyFloats f;
  const SkyIntegers i;
  // Iota with a variable start would store and load all lanes.
  const auto lane_numbers = hn::Iota(i, 0);
  view.doubts = 0;
  for (std::int64_t pair = 0; pair < view.length; pair += lanes()) {
    auto square = hn::LoadU(f, view.square + pair);
    auto along = hn::LoadU(f, view.along + pair);
    auto doubtful = square < hn::Zero(f);  // none
    if (view.is_midpoint) {
      const auto norm = hn::LoadU(f, view.norm + pair);
      doubtful = norm < hn::Set(f, least_norm);
      if (view.is_across) square = square / norm;
      along = along / hn::Sqrt(norm);
    }
    if (!view.is_across) {
      doubtful = hn::Or(doubtful, square < hn::Set(f, view.near_square));
      along = along / hn::Sqrt(hn::Max(square, hn::Set(f, 0x1p-100F)));
    }
    auto slot = hn::Zero(i);
    look_up(view.table[0], square, slot, doubtful);
    look_up(view.table[1], along, slot, doubtful);
    const auto numbers = lane_numbers + hn::Set(i, static_cast<std::int32_t>(pair));
    doubtful = hn::And(doubtful, hn::RebindMask(f, numbers < hn::Set(i, static_cast<std::int32_t>(view.length))));
    hn::StoreU(hn::IfThenZeroElse(hn::RebindMask(i, doubtful), slot), i, view.slots + pair);
    hn::StoreU(hn::Compress(numbers, hn::RebindMask(i, doubtful)), i, view.doubtful + view.doubts);
    view.doubts += static_cast<std::int64_t>(hn::CountTrue(f, doubtful));
  }
  for (std::int64_t pair = 0; pair < view.length; ++pair) ++view.counts[view.slots[pair]];
  if (view.doubts > 0 || view.settles_all) view.settle(view.owner);
  view.length = 0;
}

template <bool is_midpoint, bool is_across>
void count_segment(SkyView& view, const SkySegment& segment) {
  const SkyFloats f;
  const SkyIntegers i;
  const auto lane_numbers = hn::Iota(i, 0);
  const std::int64_t* const keys = segment.second.keys;
  const auto first_square = hn::Set(f, view.first_square);
  const auto second_end = hn::Set(f, view.second_end);
  std::int64_t length = view.length;
  std::int64_t begin = segment.second_begin;
  std::int64_t end = segment.second_begin;
  for (std::int64_t point = segment.first_begin; point < segment.first_end; ++point) {
    const std::int64_t key = segment.first.keys[point] - segment.turn;
    while (begin < segment.second_end && keys[begin] < key - segment.reach) ++begin;
    while (end < segment.second_end && keys[end] <= key + segment.reach) ++end;
    hn::Vec<SkyIntegers> steps[3];
    SkyVector own[3];
#pragma GCC unroll 3
    for (int dim = 0; dim < 3; ++dim) {
      steps[dim] = hn::Set(i, segment.first.steps[dim][point]);
      if constexpr (is_midpoint) own[dim] = hn::Set(f, segment.first.places[dim][point]);
    }
    const auto last = hn::Set(i, static_cast<std::int32_t>(end));
    for (std::int64_t place = segment.is_own ? std::max(begin, point + 1) : begin; place < end; place += lanes()) {
      SkyVector apart[3];
#pragma GCC unroll 3
      for (int dim = 0; dim < 3; ++dim)
        apart[dim] = hn::ConvertTo(f, steps[dim] - hn::LoadU(i, segment.second.steps[dim] + place)) *
                     hn::Set(f, view.scale[dim]);
      SkyVector square;
      SkyVector along;
      auto norm = hn::Zero(f);
      SkyMask near;
      if constexpr (is_midpoint) {
        SkyVector sum[3];
#pragma GCC unroll 3
        for (int dim = 0; dim < 3; ++dim) {
          sum[dim] = own[dim] + hn::LoadU(f, segment.second.places[dim] + place);
          norm = hn::MulAdd(sum[dim], sum[dim], norm);
        }
        along = hn::MulAdd(apart[0], sum[0], hn::MulAdd(apart[1], sum[1], apart[2] * sum[2]));
        along = hn::Max(along, hn::Zero(f) - along);
        if constexpr (is_across) {
          const auto x = hn::MulSub(apart[1], sum[2], apart[2] * sum[1]);
          const auto y = hn::MulSub(apart[2], sum[0], apart[0] * sum[2]);
          const auto z = hn::MulSub(apart[0], sum[1], apart[1] * sum[0]);
          square = hn::MulAdd(x, x, hn::MulAdd(y, y, z * z));
          near = hn::And(square < first_square * norm, along * along < second_end * second_end * norm);
          near = hn::Or(near, norm < hn::Set(f, least_norm));
        }
      }
      if constexpr (!is_midpoint || !is_across) {
        square = hn::MulAdd(apart[0], apart[0], apart[1] * apart[1]);
        if constexpr (!is_across) square = hn::MulAdd(apart[2], apart[2], square);
        near = square < first_square;
      }
      if constexpr (!is_midpoint) {
        along = hn::Max(apart[2], hn::Zero(f) - apart[2]);
        if constexpr (is_across) near = hn::And(near, along < second_end);
      }
      const auto numbers = lane_numbers + hn::Set(i, static_cast<std::int32_t>(place));
      near = hn::And(near, hn::RebindMask(f, numbers < last));
      if (hn::AllFalse(f, near)) continue;
      hn::StoreU(hn::Compress(square, near), f, view.square + length);
      hn::StoreU(hn::Compress(along, near), f, view.along + length);
      if constexpr (is_midpoint) hn::StoreU(hn::Compress(norm, near), f, view.norm + length);
      hn::StoreU(hn::Compress(numbers, hn::RebindMask(i, near)), i, view.second + length);
      hn::StoreU(hn::Set(i, static_cast<std::int32_t>(point)), i, view.first + length);
      length += static_cast<std::int64_t>(hn::CountTrue(f, near));
      if (HWY_LIKELY(length < sky_buffer)) continue;
      view.length = length;
      flush(view);
      length = 0;
    }
  }
  view.length = length;
}

void count(SkyView& view, const SkySegment& segment) {
  if (view.is_midpoint)
    return view.is_across ? count_segment<true, true>(view, segment) : count_segment<true, false>(view, segment);
  return view.is_across ? count_segment<false, true>(view, segment) : count_segment<false, false>(view, segment);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::pair_histogram_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::pair_histogram_detail {

HWY_EXPORT(count);
HWY_EXPORT(flush);

void count_sky_segment(SkyView& view, const SkySegment& segment) { HWY_DYNAMIC_DISPATCH(count)(view, segment); }
void flush_sky_pairs(SkyView& view) { HWY_DYNAMIC_DISPATCH(flush)(view); }

}  // namespace gradus::pair_histogram_detail
#endif
