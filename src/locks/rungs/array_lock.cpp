// array_lock: tickets, and for each number a cache line at which it is called.
//
// What changes from `ticket_lock`: each who waits watches a slot of its own, so that a hand-off is one transfer,
// however many wait.
//
// Cost: one addition to come in, a write to let go. Memory: 8448 bytes a lock, with 64 slots.
// Limits: the memory is for as many as might wait, though none does. With more threads than slots it stays right, and
// several watch one slot.
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
    .summary = "tickets, each called at a cache line of its own",
    .change = "a hand-off disturbs nobody but the next",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.in_order = true, .bytes = sizeof(gradus::array_lock)},
    .run = {array_lock},
};

}  // namespace gradus::locks_detail
