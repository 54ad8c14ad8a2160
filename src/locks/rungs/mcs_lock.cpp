// mcs_lock: a queue of threads, each of which admits its successor.
//
// What changes from `clh_lock`: a waiting thread polls a node on its own stack, and the releasing thread writes to this
// node. A thread that does not wait needs no node, and no node outlives the wait.
//
// Cost: without contention one compare-and-swap to acquire and one to release; otherwise an exchange, a link from the
// predecessor, and a write. Memory: 256 bytes.
// Limits: a releasing thread may have to wait until its successor has linked itself.
// The code: include/gradus/locks/mcs_lock.hpp.
// Source: J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable synchronization on shared-memory
// multiprocessors" (1991); M. L. Scott, "Shared-Memory Synchronization" (2013), section 4.3.
#include "gradus/locks/mcs_lock.hpp"

#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result mcs_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<gradus::mcs_lock>(problem, execution, phases);
}

extern constinit const Variant mcs_lock_rung{
    .name = "mcs_lock",
    .summary = "a queue in which each thread knows the next",
    .change = "polls its own memory; a node only while waiting",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.in_order = true, .bytes = sizeof(gradus::mcs_lock)},
    .run = {mcs_lock},
};

}  // namespace gradus::locks_detail
