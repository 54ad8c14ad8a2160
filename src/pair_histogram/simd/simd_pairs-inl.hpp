// Parts of the kernels of the float filter for pairs. simd_filter.cpp explains the filter. This code is compiled once
// per instruction set, so Highway's toggle replaces an ordinary include guard.

#if defined(GRADUS_PAIR_HISTOGRAM_SIMD_PAIRS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_PAIR_HISTOGRAM_SIMD_PAIRS_TOGGLE
#undef GRADUS_PAIR_HISTOGRAM_SIMD_PAIRS_TOGGLE
#else
#define GRADUS_PAIR_HISTOGRAM_SIMD_PAIRS_TOGGLE
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "pair_histogram/simd/edge_table-inl.hpp"
#include "pair_histogram/simd/simd_pairs.hpp"

// NOLINTBEGIN(misc-definitions-in-headers): compiled once for each instruction set, in one source file each

HWY_BEFORE_NAMESPACE();
namespace gradus::pair_histogram_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, filter_block>;
using Integers = hn::CappedTag<std::int32_t, filter_block>;
using Numbers = hn::CappedTag<std::uint32_t, filter_block>;
using FloatVector = hn::Vec<Floats>;
using NumberVector = hn::Vec<Numbers>;
using NumberMask = decltype(hn::Zero(Numbers()) == hn::Zero(Numbers()));

HWY_INLINE std::int64_t float_lanes() { return static_cast<std::int64_t>(hn::Lanes(Floats())); }

// Returns the numbers place, place + 1, ... Iota with a variable start would store and load all lanes.
HWY_INLINE hn::Vec<Integers> numbers_from(std::int64_t place) {
  return hn::Iota(Integers(), 0) + hn::Set(Integers(), static_cast<std::int32_t>(place));
}

// Returns the square root of a positive number. The result is not always correctly rounded (see FilterPlan::error_at).
HWY_INLINE FloatVector root_of(FloatVector square) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  const auto inverse = hn::ApproximateReciprocalSqrt(square);
  const auto root = square * inverse;
  const auto half = hn::Set(Floats(), 0.5F) * inverse;
  return hn::MulAdd(hn::NegMulAdd(root, root, square), half, root);
#else
  return hn::Sqrt(square);
#endif
}

// A first point, or any other origin of distances, broadcast to all lanes.
struct FirstPoint {
  FloatVector coordinates[dimension_limit];
};

HWY_INLINE FirstPoint first_point(const float* const* columns, int dimensions, std::int64_t place) {
  FirstPoint point;
  for (int dim = 0; dim < dimension_limit; ++dim)
    point.coordinates[dim] = hn::Set(Floats(), columns[dim < dimensions ? dim : 0][place]);
  return point;
}

// Returns the separation in a column, in units of cells. The sign of the result has no meaning.
template <bool periodic>
HWY_INLINE FloatVector separation(const FilterView& view, int dim, FloatVector first, FloatVector second) {
  if constexpr (!periodic) return first - second;
  const Integers integers;
  return hn::ConvertTo(Floats(), hn::BitCast(integers, first) - hn::BitCast(integers, second)) *
         hn::Set(Floats(), view.scale[dim]);
}

// Returns squared distances in a triclinic cell. If the difference of two coordinates is within four steps of half a
// turn, this function and the canonical rule may choose different images. Two such points are at least half a height
// apart, up to rounding. The function then returns a distance at the last edge, which makes the pair doubtful.
HWY_INLINE FloatVector squared_in_cell(const FilterView& view, const FirstPoint& first, const float* const* columns,
                                       std::int64_t place) {
  const Floats f;
  const Integers i;
  const Numbers u;
  FloatVector steps[3];
  auto from_half = hn::Set(u, 0xffffffffU);
#pragma GCC unroll 3
  for (int vector = 0; vector < 3; ++vector) {
    const auto apart =
        hn::BitCast(i, first.coordinates[vector]) - hn::BitCast(i, hn::LoadU(f, columns[vector] + place));
    from_half = hn::Min(from_half, hn::BitCast(u, apart) + hn::Set(u, 0x80000004U));
    steps[vector] = hn::ConvertTo(f, apart);
  }
  auto square = hn::Set(f, 0x1p-60F);  // keeps the reciprocal root finite
#pragma GCC unroll 3
  for (int axis = 0; axis < 3; ++axis) {
    auto apart = steps[0] * hn::Set(f, view.steps[0][axis]);
    apart = hn::MulAdd(steps[1], hn::Set(f, view.steps[1][axis]), apart);
    apart = hn::MulAdd(steps[2], hn::Set(f, view.steps[2][axis]), apart);
    square = hn::MulAdd(apart, apart, square);
  }
  const auto at_half = hn::RebindMask(f, hn::Min(from_half, hn::Set(u, 8)) == from_half);
  return hn::IfThenElse(at_half, hn::Set(f, view.edge_square), square);
}

// Returns the squared distances, in cells, between the first point and the points that begin at `place`.
template <int D, bool periodic>
HWY_INLINE FloatVector squared_distances(const FilterView& view, const FirstPoint& first, const float* const* columns,
                                         std::int64_t place) {
  if constexpr (D == in_a_cell) return squared_in_cell(view, first, columns, place);
  const Floats f;
  auto square = hn::Set(f, 0x1p-60F);  // keeps the reciprocal root finite
#pragma GCC unroll 3
  for (int dim = 0; dim < D; ++dim) {
    const auto apart = separation<periodic>(view, dim, first.coordinates[dim], hn::LoadU(f, columns[dim] + place));
    square = hn::MulAdd(apart, apart, square);
  }
  return square;
}

// Returns the distances plus the margin as fixed-point numbers. The lowest `fraction_bits` bits are the fraction, and
// the bits above them give the cell.
template <int D, bool periodic>
HWY_INLINE NumberVector fixed_distances(const FilterView& view, const FirstPoint& first, const float* const* columns,
                                        std::int64_t place) {
  const auto square = squared_distances<D, periodic>(view, first, columns, place);
  return hn::BitCast(Numbers(),
                     root_of(hn::Min(square, hn::Set(Floats(), view.greatest_square))) + hn::Set(Floats(), view.magic));
}

// Returns the slots plus one from the table of edges, and zero for doubtful pairs.
template <int D, bool periodic>
HWY_INLINE NumberVector slots_by_interval(const FilterView& view, const FirstPoint& first, const float* const* columns,
                                          std::int64_t place) {
  const Integers i;
  auto number = hn::Set(i, 1);
  auto doubtful = hn::MaskFromVec(hn::Zero(Floats()));
  look_up(view.edges, squared_distances<D, periodic>(view, first, columns, place), number, doubtful);
  return hn::BitCast(Numbers(), hn::IfThenZeroElse(hn::RebindMask(i, doubtful), number));
}

HWY_INLINE NumberVector cells_of(const FilterView& view, NumberVector fixed) {
  return hn::ShiftRightSame(fixed, view.fraction_bits);
}

// Sets lane `keep` and all later lanes to a distance that is certainly beyond the bins, because these lanes hold no
// pairs.
HWY_INLINE NumberVector keep_lanes(const FilterView& view, NumberVector fixed, std::int64_t keep) {
  const Numbers u;
  return hn::IfThenElse(hn::Iota(u, 0) < hn::Set(u, static_cast<std::uint32_t>(keep)), fixed, hn::Set(u, view.beyond));
}

// The numbers by which the queue identifies the points of a pair.
struct PairNumbers {
  std::int64_t first;
  const std::int32_t* second_numbers;  // for each place, the number of its point; null if place and number are equal

  std::int32_t second(std::int64_t place) const {
    return second_numbers != nullptr ? second_numbers[place] : static_cast<std::int32_t>(place);
  }
};

HWY_NOINLINE void queue_doubtful(FilterView& view, NumberVector fixed, const PairNumbers& numbers, std::int64_t place) {
  const Numbers u;
  HWY_ALIGN std::uint32_t values[hn::MaxLanes(u)];
  hn::Store(fixed, u, values);
  for (std::int64_t lane = 0; lane < float_lanes(); ++lane) {
    if ((values[lane] & view.certain) != 0) continue;
    const std::uint32_t slot = view.by_interval ? view.doubtful : (values[lane] >> view.fraction_bits) - view.ahead + 1;
    view.queue[view.queued++] = {static_cast<std::int32_t>(numbers.first), numbers.second(place + lane), slot};
  }
  if (view.queued >= doubt_limit) view.settle(view.owner);
}

HWY_INLINE NumberMask doubtful_lanes(const FilterView& view, NumberVector fixed) {
  const Numbers u;
  return hn::And(fixed, hn::Set(u, view.certain)) == hn::Zero(u);
}

HWY_INLINE void increment(const FilterView& view, NumberVector places) {
  const Numbers u;
  HWY_ALIGN std::uint32_t values[hn::MaxLanes(u)];
  hn::Store(places, u, values);
#pragma GCC unroll 16
  for (std::size_t lane = 0; lane < hn::MaxLanes(u); ++lane) ++view.counters[values[lane]];
}

// Counts pairs that share an increment. The bins of `joint` vectors are the digits of one number.
template <int joint>
HWY_INLINE void count_joint(FilterView& view, const NumberVector (&fixed)[joint], const PairNumbers& numbers,
                            const std::int64_t (&places)[joint]) {
  const Numbers u;
  auto doubtful = doubtful_lanes(view, fixed[0]);
  auto number = cells_of(view, fixed[0]);
#pragma GCC unroll 4
  for (int digit = 1; digit < joint; ++digit) {
    doubtful = hn::Or(doubtful, doubtful_lanes(view, fixed[digit]));
    number = number * hn::Set(u, view.radix) + cells_of(view, fixed[digit]);
  }
  increment(view, number - hn::LoadU(u, view.base));
  if (HWY_UNLIKELY(!hn::AllFalse(u, doubtful)))
    for (int digit = 0; digit < joint; ++digit) queue_doubtful(view, fixed[digit], numbers, places[digit]);
}

// Counts the pairs of four vectors by comparing their slots with each slot. Equal slots never wait for each other, as
// increments of one counter would. Pairs beyond the bins are not counted.
HWY_INLINE void count_bytes(FilterView& view, const NumberVector (&slots)[4], const PairNumbers& numbers,
                            const std::int64_t (&places)[4]) {
  const Numbers u;
#if HWY_TARGET == HWY_SCALAR
  for (const NumberVector& slot : slots)
    if (hn::GetLane(slot) != 0) ++view.counters[hn::GetLane(slot) - 1];
  const bool is_certain = hn::GetLane(slots[0]) != 0 && hn::GetLane(slots[1]) != 0 && hn::GetLane(slots[2]) != 0 &&
                          hn::GetLane(slots[3]) != 0;
#else
  const hn::Repartition<std::uint8_t, Numbers> bytes;
  const auto packed = hn::BitCast(bytes, hn::Or(hn::Or(slots[0], hn::ShiftLeft<8>(slots[1])),
                                                hn::Or(hn::ShiftLeft<16>(slots[2]), hn::ShiftLeft<24>(slots[3]))));
  auto wanted = hn::Zero(bytes);
  for (std::uint32_t slot = 0; slot + 1 < view.radix; ++slot) {
    wanted = wanted + hn::Set(bytes, 1);
    view.counters[slot] += static_cast<std::uint32_t>(hn::CountTrue(bytes, packed == wanted));
  }
  const bool is_certain = hn::AllFalse(bytes, packed == hn::Zero(bytes));
#endif
  if (HWY_UNLIKELY(!is_certain))
    for (int vector = 0; vector < 4; ++vector)
      if (!hn::AllFalse(u, doubtful_lanes(view, slots[vector])))
        queue_doubtful(view, slots[vector], numbers, places[vector]);
}

// Counts one pair at a time, using the table of cells.
HWY_INLINE void count_by_cell(FilterView& view, NumberVector fixed, const PairNumbers& numbers, std::int64_t place,
                              std::int64_t vector) {
  const Numbers u;
  HWY_ALIGN std::uint32_t cells[hn::MaxLanes(u)];
  hn::Store(cells_of(view, fixed) - hn::Set(u, view.ahead), u, cells);
#pragma GCC unroll 16
  for (std::size_t lane = 0; lane < hn::MaxLanes(u); ++lane) {
    const std::uint32_t slot = view.by_cell[cells[lane]];
    ++view.counters[slot + view.base[lane]];
    if (HWY_UNLIKELY(slot == view.doubtful))
      view.queue[view.queued++] = {static_cast<std::int32_t>(numbers.first),
                                   numbers.second(place + static_cast<std::int64_t>(lane)), view.doubtful};
  }
  if (view.row != nullptr) hn::StoreU(hn::Load(u, cells), u, view.row + vector * float_lanes());
  if (HWY_UNLIKELY(view.queued >= doubt_limit)) view.settle(view.owner);
}

// The second points of a row of pairs, as consecutive vectors.
struct Run {
  std::int64_t begin;
  std::int64_t operator()(std::int64_t vector) const { return begin + vector * float_lanes(); }
};

// The second points of a row of pairs, as a list of blocks of `filter_block` points.
struct ListedBlocks {
  const std::int32_t* blocks;
  std::int64_t operator()(std::int64_t vector) const {
    const std::int64_t to_a_block = filter_block / float_lanes();
    return blocks[vector / to_a_block] * filter_block + vector % to_a_block * float_lanes();
  }
};

// The weight of a first point, and the weights of a row's second points, which are null without weights.
struct Weights {
  std::int64_t first = 0;
  const std::int64_t* second = nullptr;
};

// The vectors of a row of pairs. In the last one, only the first `kept` lanes hold pairs that are to be counted.
struct RowEnd {
  std::int64_t last;
  std::int64_t kept;
};

// Counts the pairs of a first point with the vectors from `vector` on that share counters. If these include the last
// vector, vectors without pairs replace those after it.
template <int D, bool periodic, int joint, bool is_end, class Where>
HWY_INLINE void count_vectors(FilterView& view, const FirstPoint& first, const float* const* columns, Where where,
                              std::int64_t vector, RowEnd end, const PairNumbers& numbers) {
  constexpr int digits = std::min(joint, 4);  // by_interval takes four
  NumberVector fixed[digits];
  std::int64_t places[digits];
#pragma GCC unroll 4
  for (int digit = 0; digit < digits; ++digit) {
    const std::int64_t number = vector + digit;
    places[digit] = where(is_end ? std::min(number, end.last) : number);
    if constexpr (joint == by_interval)
      fixed[digit] = slots_by_interval<D, periodic>(view, first, columns, places[digit]);
    else fixed[digit] = fixed_distances<D, periodic>(view, first, columns, places[digit]);
    if constexpr (is_end)
      fixed[digit] =
          keep_lanes(view, fixed[digit], number < end.last ? float_lanes() : (number == end.last ? end.kept : 0));
  }
  if (view.row != nullptr)
    for (int digit = 0; digit < digits; ++digit)
      hn::StoreU(fixed[digit], Numbers(), view.row + (vector + digit) * float_lanes());
  if constexpr (joint == by_interval) count_bytes(view, fixed, numbers, places);
  else count_joint(view, fixed, numbers, places);
}

// Counts the pairs of a first point with the vectors of a row.
template <int D, bool periodic, int joint, class Where>
HWY_INLINE void count_row(FilterView& view, const FirstPoint& first, const float* const* columns, Where where,
                          RowEnd end, const PairNumbers& numbers, const Weights& weights) {
  if constexpr (joint == 0) {
    for (std::int64_t vector = 0; vector <= end.last; ++vector) {
      const std::int64_t place = where(vector);
      const auto fixed = fixed_distances<D, periodic>(view, first, columns, place);
      count_by_cell(view, vector < end.last ? fixed : keep_lanes(view, fixed, end.kept), numbers, place, vector);
    }
  } else {
    constexpr int digits = std::min(joint, 4);  // by_interval takes four
    std::int64_t vector = 0;
    for (; vector + digits <= end.last; vector += digits)
      count_vectors<D, periodic, joint, false>(view, first, columns, where, vector, end, numbers);
    // The end is one step, whatever the number of vectors. This avoids an unpredictable branch.
    count_vectors<D, periodic, joint, true>(view, first, columns, where, vector, end, numbers);
  }
  if (weights.second != nullptr)
    view.add_weights(view.owner, weights.first, weights.second, end.last * float_lanes() + end.kept);
}

// Counts the pairs of a first point with a range of second points. Reads up to a vector past the end but ignores those
// points.
template <int D, bool periodic, int joint>
HWY_INLINE void count_run(FilterView& view, const FirstPoint& first, const float* const* columns, std::int64_t begin,
                          std::int64_t end, const PairNumbers& numbers, const Weights& weights) {
  const std::int64_t vectors = (end - begin + float_lanes() - 1) / float_lanes();
  if (vectors > 0)
    count_row<D, periodic, joint>(view, first, columns, Run{begin},
                                  {vectors - 1, end - begin - (vectors - 1) * float_lanes()}, numbers,
                                  {weights.first, weights.second != nullptr ? weights.second + begin : nullptr});
}

// Calls kernel<D, periodic, joint>(view, ...) with the view's number of pairs per counter.
#define GRADUS_PAIR_KERNEL_JOINT(kernel, D, periodic, view, ...) \
  switch ((view).joint) {                                        \
    case 0: return kernel<D, periodic, 0>(view, __VA_ARGS__);    \
    case 1: return kernel<D, periodic, 1>(view, __VA_ARGS__);    \
    case 2: return kernel<D, periodic, 2>(view, __VA_ARGS__);    \
    case 3: return kernel<D, periodic, 3>(view, __VA_ARGS__);    \
    default: return kernel<D, periodic, 4>(view, __VA_ARGS__);   \
  }

// Calls kernel<D, periodic>(view, ...) with the view's dimensions and geometry.
#define GRADUS_PAIR_KERNEL(kernel, view, ...)             \
  if ((view).periodic) switch ((view).dimensions) {       \
      case 1: return kernel<1, true>(view, __VA_ARGS__);  \
      case 2: return kernel<2, true>(view, __VA_ARGS__);  \
      default: return kernel<3, true>(view, __VA_ARGS__); \
    }                                                     \
  switch ((view).dimensions) {                            \
    case 1: return kernel<1, false>(view, __VA_ARGS__);   \
    case 2: return kernel<2, false>(view, __VA_ARGS__);   \
    default: return kernel<3, false>(view, __VA_ARGS__);  \
  }

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::pair_histogram_detail
HWY_AFTER_NAMESPACE();

// NOLINTEND(misc-definitions-in-headers)
#endif
