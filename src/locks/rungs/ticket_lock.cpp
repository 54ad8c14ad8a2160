// ticket_lock: draw a number, and wait until it is called.
//
// What changes from `ttas_lock`: order. Who comes draws a number, who leaves calls the next, and nobody is overtaken.
//
// Cost: one addition to come in, a write to let go, which all who wait then read again. Memory: 256 bytes.
// Limits: a hand-off takes a transfer of the line for each that waits. A lock that is handed on in order waits for a
// thread that has no processor: with more threads than processors each hand-off may take a time slice.
// The code: include/gradus/locks/ticket_lock.hpp.
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
    .change = "nobody is overtaken",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.in_order = true, .bytes = sizeof(gradus::ticket_lock)},
    .run = {ticket_lock},
};

}  // namespace gradus::locks_detail
