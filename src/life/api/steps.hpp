// Steps that all public calls have in common.
#pragma once

#include <cstdint>

#include "core/ladder.hpp"
#include "execution/request.hpp"
#include "life/problem.hpp"

namespace gradus::life_detail {

/// Returns true if the magnitude of a coordinate is at most 2^62.
bool is_near(std::int64_t place);

void check(const LifeOptions& options);
void check_sizes(std::int64_t height, std::int64_t width);
/// Throws UsageError for a malformed view.
void check_grid(const LifeGridView& cells, const char* what);
/// Throws UnsupportedError if the cells are on a GPU but the job needs them in host memory.
void check_stays_there(MemoryPlace place, const char* what, const LifeOptions& options);

Shape describe(std::int64_t height, std::int64_t width, const LifeOptions& options, bool tree = false);

/// Returns the variant that `execution` names. If it names none, returns the best variant for the shape and this
/// machine.
inline const Variant& choose(const Shape& shape, const Execution& execution) {
  return execution::choose(variants(), choose, shape, execution, Room::name);
}

/// Returns the memory of the job. A grid takes one bit per cell. The job needs a grid for its result, and further grids
/// for stepping, comparing or growing.
core::Memory estimate(const Shape& shape, const Variant& variant, const LifeOptions& options, int threads);

}  // namespace gradus::life_detail
