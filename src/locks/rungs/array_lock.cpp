// array_lock: tickets, each announced on a separate cache line.
//
// What changes from `ticket_lock`: each waiting thread polls a separate slot, so a hand-off transfers one cache line.
//
// Cost: one atomic addition to acquire, one write to release. Memory: 8448 bytes per lock, with 64 slots.
// Limits: memory for the maximum number of waiting threads is reserved even if no thread waits. With more threads than
// slots the lock stays correct, but several threads poll the same slot.
// The code: include/gradus/locks/array_lock.hpp.
// Source: T. E. Anderson, "The performance of spin lock alternatives for shared-memory multiprocessors" (1990).
#include "gradus/locks/array_lock.hpp"

#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result array_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<gradus::array_lock>(problem, execution, phases);
}

extern constinit const Variant array_lock_rung{
    .name = "array_lock",
    .summary = "tickets, each on a separate cache line",
    .change = "a hand-off touches only the next thread",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.in_order = true, .bytes = sizeof(gradus::array_lock)},
    .run = {array_lock},
};

}  // namespace gradus::locks_detail
