// Steps that pair_histogram() and pair_histogram_memory() share.
#pragma once

#include <cstdint>

#include "core/ladder.hpp"
#include "execution/request.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// Returns the variant that `execution` names, otherwise the best one for the shape and this machine.
inline const Variant& choose(const Shape& shape, const Execution& execution) {
  return execution::choose(variants(), choose, shape, execution, Room::name);
}

/// Returns the memory that the variant and the result take if the job uses all requested threads.
core::Memory estimate(const Shape& shape, const Variant& variant, const Execution& execution);

/// Returns the size in bytes of the copies that a call makes if it folds points or drops columns.
std::uint64_t estimate_copies(const PairHistogramShape& shape, const PairHistogramOptions& options);

}  // namespace gradus::pair_histogram_detail
