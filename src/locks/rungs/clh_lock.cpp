// clh_lock: a queue of threads, each of which watches the one before it.
//
// What changes from `array_lock`: the slots are nodes that threads bring along and hand on, so that there are as many
// as there are threads and locks, and not as many as there might be threads at each lock.
//
// Cost: one exchange to come in, a write to let go. Memory: 256 bytes, and a node of 128 for each lock and each thread
// that holds or wants one.
// Limits: it watches memory that another thread wrote last; on machines where that is far away, `mcs_lock` watches its
// own.
// The code: include/gradus/locks/clh_lock.hpp and node_pool.hpp.
// Sources: T. S. Craig, "Building FIFO and priority-queuing spin locks from atomic swap" (1993); P. Magnusson,
// A. Landin and E. Hagersten, "Queue locks on cache coherent multiprocessors" (1994).
#include "gradus/locks/clh_lock.hpp"

#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result clh_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<gradus::clh_lock>(problem, execution, phases);
}

extern constinit const Variant clh_lock_rung{
    .name = "clh_lock",
    .summary = "a queue in which each thread watches the one before it",
    .change = "as many cache lines as there are threads, not as there might be",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.in_order = true, .bytes = sizeof(gradus::clh_lock)},
    .run = {clh_lock},
};

}  // namespace gradus::locks_detail
