// Looks values up in an EdgeTable. This code is compiled once per instruction set, so Highway's toggle replaces an
// ordinary include guard.

#if defined(GRADUS_PAIR_HISTOGRAM_EDGE_TABLE_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_PAIR_HISTOGRAM_EDGE_TABLE_TOGGLE
#undef GRADUS_PAIR_HISTOGRAM_EDGE_TABLE_TOGGLE
#else
#define GRADUS_PAIR_HISTOGRAM_EDGE_TABLE_TOGGLE
#endif

#include <hwy/highway.h>

#include "pair_histogram/simd/edge_table.hpp"

// NOLINTBEGIN(misc-definitions-in-headers): compiled once for each instruction set, in one source file each

HWY_BEFORE_NAMESPACE();
namespace gradus::pair_histogram_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using EdgeFloats = hn::CappedTag<float, 16>;
using EdgeIntegers = hn::RebindToSigned<EdgeFloats>;

// Returns the elements of a table in vector registers.
template <class D>
HWY_INLINE hn::Vec<D> from_registers(D d, const hn::TFromD<D>* table, hn::Vec<EdgeIntegers> index) {
#if HWY_TARGET == HWY_AVX3
  const auto first_half = hn::LoadU(d, table);
  const auto second_half = hn::LoadU(d, table + 16);
  if constexpr (hwy::IsFloat<hn::TFromD<D>>())
    return {_mm512_permutex2var_ps(first_half.raw, index.raw, second_half.raw)};
  else return {_mm512_permutex2var_epi32(first_half.raw, index.raw, second_half.raw)};
#else
  const EdgeIntegers i;
  constexpr auto lanes = static_cast<std::int32_t>(hn::MaxLanes(d));
  const auto in_register = hn::IndicesFromVec(d, hn::And(index, hn::Set(i, lanes - 1)));
  auto found = hn::TableLookupLanes(hn::LoadU(d, table), in_register);
#pragma GCC unroll 4
  for (std::int32_t first = lanes; first < static_cast<std::int32_t>(intervals_in_registers); first += lanes)
    found = hn::IfThenElse(hn::RebindMask(d, hn::Set(i, first - 1) < index),
                           hn::TableLookupLanes(hn::LoadU(d, table + first), in_register), found);
  return found;
#endif
}

// Adds the numbers of edges before the values, times the table's step, to `place`, and the values that are too near an
// edge to `doubtful`.
HWY_INLINE void look_up(const EdgeTableView& table, hn::Vec<EdgeFloats> value, hn::Vec<EdgeIntegers>& place,
                        hn::Mask<EdgeFloats>& doubtful) {
  const EdgeFloats f;
  const EdgeIntegers i;
  auto interval = hn::ShiftRightSame(hn::BitCast(i, value), table.shift) - hn::Set(i, table.base);
  interval = hn::Min(hn::Max(interval, hn::Zero(i)), hn::Set(i, table.last));
  hn::Vec<EdgeFloats> low;
  hn::Vec<EdgeFloats> high;
  hn::Vec<EdgeIntegers> before;
  constexpr bool has_registers = hn::MaxLanes(EdgeFloats()) >= 8;
  if (has_registers && table.last < intervals_in_registers) {
    low = from_registers(f, table.low, interval);
    high = from_registers(f, table.high, interval);
    before = from_registers(i, table.place, interval);
  } else {
    low = hn::GatherIndex(f, table.low, interval);
    high = hn::GatherIndex(f, table.high, interval);
    before = hn::GatherIndex(i, table.place, interval);
  }
  place = place + before + hn::IfThenElseZero(hn::RebindMask(i, value >= high), hn::Set(i, table.step));
  doubtful = hn::Or(doubtful, hn::And(value >= low, value < high));
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::pair_histogram_detail
HWY_AFTER_NAMESPACE();

// NOLINTEND(misc-definitions-in-headers)
#endif
