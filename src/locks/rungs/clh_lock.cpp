// clh_lock: a queue of threads, each of which polls the node of its predecessor.
//
// What changes from `array_lock`: the slots are nodes that threads bring with them and pass on. So each thread and each
// lock needs one node, whereas an array lock needs a slot for every thread that might wait.
//
// Cost: one atomic exchange to acquire, one write to release. Memory: 256 bytes per lock. In addition, one node of 128
// bytes for each lock, and one for each thread that holds a lock or waits for a lock.
// Limits: a waiting thread polls its predecessor's node, which is in remote memory on some machines. With `mcs_lock`, a
// waiting thread always polls its own node.
// The code: include/gradus/locks/clh_lock.hpp and node_pool.hpp.
// Sources: T. S. Craig, "Building FIFO and priority-queuing spin locks from atomic swap" (1993); P. Magnusson, A.
// Landin and E. Hagersten, "Queue locks on cache coherent multiprocessors" (1994).
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
    .change = "one cache line per actual thread, not per possible thread",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.in_order = true, .bytes = sizeof(gradus::clh_lock)},
    .run = {clh_lock},
};

}  // namespace gradus::locks_detail
