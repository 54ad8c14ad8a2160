// Parts of the kernels of the float filter for pairs. simd_filter.cpp explains the filter. This code is compiled once
// per instruction set, so Highway's toggle replaces an ordinary include guard.

#if defined(GRADUS_PAIR_HISTOGRAM_SIMD_PAIRS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_PAIR_HISTOGRAM_SIMD_PAIRS_TOGGLE
#undef GRADUS_PAIR_HISTOGRAM_SIMD_PAIRS_TOGGLE
#else
#define GRADUS_PAIR_HISTOGRAM_SIMD_PAIRS_TOGGLE
#endif

#include <hwy/highway.h>

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

HWY_INLINE NumberVector cells_of(const FilterView& view, NumberVector fixed) {
  return hn::ShiftRightSame(fixed, view.fraction_bits);
}

// Sets lane `keep` and all later lanes to a distance that is certainly beyond the bins, because these lanes hold no
// pairs.
HWY_INLINE NumberVector keep_lanes(const FilterView& view, NumberVector fixed, std::int64_t keep) {
  const Numbers u;
  const auto beyond = hn::BitCast(u, root_of(hn::Set(Floats(), view.greatest_square)) + hn::Set(Floats(), view.magic));
  return hn::IfThenElse(hn::Iota(u, 0) < hn::Set(u, static_cast<std::uint32_t>(keep)), fixed, beyond);
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
    const std::uint32_t bin = (values[lane] >> view.fraction_bits) - view.ahead;
    view.queue[view.queued++] = {static_cast<std::int32_t>(numbers.first), numbers.second(place + lane), bin + 1};
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

// Multiplies the weight `first` by each weight in `second`. Adds each product to the sum of the slot of the
// corresponding cell in `cells`.
HWY_NOINLINE void add_weights(const FilterView& view, const std::uint32_t* cells, std::int64_t first,
                              const std::int64_t* second) {
  const auto add = [&](int words, const auto& add_product) {
    for (std::size_t lane = 0; lane < hn::MaxLanes(Numbers()); ++lane)
      add_product(view.weights + view.by_cell[cells[lane]] * words, second[lane]);
  };
  using Form = WeightSums::Form;
  const WeightSums& sums = view.sums;
  if (sums.form() == Form::narrow)
    add(2, [&](std::uint64_t* sum, std::int64_t weight) { WeightSums::add_narrow(sum, first, weight); });
  else if (sums.form() == Form::wide)
    add(3, [&](std::uint64_t* sum, std::int64_t weight) { WeightSums::add_wide(sum, first, weight); });
  else
    add(sums.words(), [&, own = WeightSums::significant_bits(first)](std::uint64_t* sum, std::int64_t weight) {
      sums.add_shifted(sum, own, WeightSums::significant_bits(weight));
    });
}

// Counts one pair at a time, using the table of cells. `second_weights` is null without weights.
HWY_INLINE void count_by_cell(FilterView& view, NumberVector fixed, const PairNumbers& numbers, std::int64_t place,
                              std::int64_t first_weight, const std::int64_t* second_weights) {
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
  if (second_weights != nullptr) add_weights(view, cells, first_weight, second_weights + place);
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

struct Weights {
  std::int64_t first = 0;
  const std::int64_t* second = nullptr;
};

// Counts the pairs of a first point with `vectors` vectors of second points. In the last vector, only the first `kept`
// lanes hold pairs that are to be counted.
template <int D, bool periodic, int joint, class Where>
HWY_INLINE void count_row(FilterView& view, const FirstPoint& first, const float* const* columns, Where where,
                          std::int64_t vectors, std::int64_t kept, const PairNumbers& numbers, const Weights& weights) {
  if constexpr (joint == 0) {
    for (std::int64_t vector = 0; vector < vectors; ++vector) {
      const std::int64_t place = where(vector);
      const auto fixed = fixed_distances<D, periodic>(view, first, columns, place);
      count_by_cell(view, vector + 1 < vectors ? fixed : keep_lanes(view, fixed, kept), numbers, place, weights.first,
                    weights.second);
    }
  } else {
    NumberVector fixed[joint];
    std::int64_t places[joint];
    std::int64_t vector = 0;
    for (; vector + joint < vectors; vector += joint) {
#pragma GCC unroll 4
      for (int digit = 0; digit < joint; ++digit) {
        places[digit] = where(vector + digit);
        fixed[digit] = fixed_distances<D, periodic>(view, first, columns, places[digit]);
      }
      count_joint(view, fixed, numbers, places);
    }
    // The last joint counters also take `joint` vectors. If fewer vectors remain, the rest are vectors without pairs.
    // This avoids an unpredictable branch on the number of vectors.
#pragma GCC unroll 4
    for (int digit = 0; digit < joint; ++digit) {
      const std::int64_t last = vectors - 1;
      places[digit] = where(vector + digit < last ? vector + digit : last);
      const std::int64_t lanes = vector + digit < last ? float_lanes() : (vector + digit == last ? kept : 0);
      fixed[digit] = keep_lanes(view, fixed_distances<D, periodic>(view, first, columns, places[digit]), lanes);
    }
    count_joint(view, fixed, numbers, places);
  }
}

// Counts the pairs of a first point with a range of second points. Reads up to a vector past the end but ignores those
// points.
template <int D, bool periodic, int joint>
HWY_INLINE void count_run(FilterView& view, const FirstPoint& first, const float* const* columns, std::int64_t begin,
                          std::int64_t end, const PairNumbers& numbers, const Weights& weights) {
  const std::int64_t vectors = (end - begin + float_lanes() - 1) / float_lanes();
  if (vectors > 0)
    count_row<D, periodic, joint>(view, first, columns, Run{begin}, vectors,
                                  end - begin - (vectors - 1) * float_lanes(), numbers, weights);
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
