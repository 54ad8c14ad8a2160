// Steps that pair_histogram() and pair_histogram_memory() share.
#pragma once

#include <cstdint>

#include "core/ladder.hpp"
#include "execution/request.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// Returns the variant that `execution` names, or else the best one for the shape and this machine.
inline const Variant& choose(const Shape& shape, const Execution& execution) {
  return execution::choose(variants(), choose, shape, execution, Room::name);
}

/// Memory that the variant and the result take, with all threads of the request.
core::Memory estimate(const Shape& shape, const Variant& variant, const Execution& execution);

/// Bytes of the copies of points that are folded, or of which some columns do not count.
std::uint64_t estimate_copies(const PairHistogramShape& shape, const PairHistogramOptions& options);

}  // namespace gradus::pair_histogram_detail
