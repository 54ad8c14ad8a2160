// sequential: adds the values one after another.
//
// The first rung. It reads each value once and adds it to the sum.
//
// Bytes: 8 per value. Operations: one addition per value.
// Limits: one core.
// Source: none.
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "skeleton/problem.hpp"

namespace gradus::skeleton_detail {

std::uint64_t sequential(const Problem& problem, const Execution&, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "add");
  const std::int64_t count = problem.values.size();
  const std::int64_t chunk = core::chunk_length(count, 1);
  std::uint64_t sum = problem.start;
  for (std::int64_t first = 0; first < count; first += chunk) {
    core::honour_stop(problem.stop, "stopped while adding");
    const std::int64_t end = first + chunk < count ? first + chunk : count;
    for (std::int64_t index = first; index < end; ++index) sum += problem.values[index];
  }
  return sum;
}

extern constinit const Variant sequential_rung{
    .name = "sequential",
    .summary = "adds the values one after another",
    .backend = core::Backend::sequential,
    .run = {sequential},
};

}  // namespace gradus::skeleton_detail
