// Steps that pair_histogram() on one GPU or on several and pair_histogram_memory() share.
#pragma once

#include <array>
#include <cstdint>

#include "core/ladder.hpp"
#include "execution/request.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/ranks.hpp"

namespace gradus::pair_histogram_detail {

/// The greatest magnitude of an integer of a wave vector for structure_factor().
inline constexpr std::int64_t greatest_integer = 4096;

/// Returns the places of the views. Throws UsageError for a malformed view.
template <class T>
std::array<execution::NamedPlace, 4> check_views(MatrixView<const T> points, const PairHistogramMemory<T>& memory) {
  execution::check_view(points, "points");
  execution::check_view(memory.others, "others");
  execution::check_view(memory.weights, "weights");
  execution::check_view(memory.other_weights, "other weights");
  return {{{points.place(), "points"},
           {memory.others.place(), "others"},
           {memory.weights.place(), "weights"},
           {memory.other_weights.place(), "other weights"}}};
}

/// Counts the pairs on one device, or with a communicator as one of several ranks.
template <class T>
PairHistogramResult count(MatrixView<const T> points, const PairHistogramOptions& options,
                          const PairHistogramMemory<T>& memory, const Execution& execution, RankData data);

/// Makes a call with Execution::gpus. Each of the GPUs gets all points and counts a part of the pairs, as one of
/// several ranks. Data that is on another GPU is copied to it.
template <class T>
PairHistogramResult count_on_gpus(MatrixView<const T> points, const PairHistogramOptions& options,
                                  const PairHistogramMemory<T>& memory, const Execution& execution);

/// Returns the variant that `execution` names, otherwise the best one for the shape and this machine.
inline const Variant& choose(const Shape& shape, const Execution& execution) {
  return execution::choose(variants(), choose, shape, execution, Room::name);
}

/// Returns the variant that counts a job with these arranged options. If the bins reach past half of the box, returns
/// simd_brute_force or the variant that `execution` names. Throws UnsupportedError if that one filters pairs.
const Variant& choose_within(const Shape& shape, const PairHistogramOptions& options, const Execution& execution);

/// Returns true if the bins reach past half of the box.
bool is_beyond_half(const Shape& shape, const PairHistogramOptions& options);

/// Returns the memory that the variant and the result take if the job uses all requested threads.
core::Memory estimate(const Shape& shape, const Variant& variant, const Execution& execution);

/// Returns the size in bytes of the copies that a call makes if it folds points or drops columns.
std::uint64_t estimate_copies(const PairHistogramShape& shape, const PairHistogramOptions& options);

}  // namespace gradus::pair_histogram_detail
