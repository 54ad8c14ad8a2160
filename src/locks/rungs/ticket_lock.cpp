// ticket_lock: draw a number, and wait until it is called.
//
// What changes from `ttas_lock`: threads get the lock in order. A thread draws a number, and a release calls the next
// number, so no thread overtakes another.
//
// Cost: one atomic addition to acquire; one write to release, which all waiting threads then read. Memory: 256 bytes.
// Limits: a hand-off transfers the cache line to every waiting thread. Because the order is fixed, the lock goes to the
// next thread even if that thread has no CPU. With more threads than CPUs, each hand-off may therefore take a time
// slice. The code: include/gradus/locks/ticket_lock.hpp.
// Source: J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable synchronization on shared-memory
// multiprocessors" (1991).
#include "gradus/locks/ticket_lock.hpp"

#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result ticket_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<gradus::ticket_lock>(problem, execution, phases);
}

extern constinit const Variant ticket_lock_rung{
    .name = "ticket_lock",
    .summary = "draw a number and wait until it is called",
    .change = "no overtaking",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.in_order = true, .bytes = sizeof(gradus::ticket_lock)},
    .run = {ticket_lock},
};

}  // namespace gradus::locks_detail
