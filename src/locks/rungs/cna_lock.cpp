// cna_lock: the queue of `mcs_lock`, in which threads on the holder's NUMA node go first, up to a limit.
//
// What changes from `mcs_lock`: a releasing thread prefers a successor on its own NUMA node, so that the guarded data
// stays in the caches of that node. After 256 such hand-offs the threads that were overtaken go first.
//
// Cost: as `mcs_lock`. On a machine with several NUMA nodes, a releasing thread also walks along the queue to the first
// thread on its own node. Memory: 256 bytes.
// Limits: with a single NUMA node, the lock has no advantage. Threads of other NUMA nodes are overtaken, but only until
// the limit is reached.
// The code: include/gradus/locks/cna_lock.hpp.
// Source: D. Dice and A. Kogan, "Compact NUMA-aware locks" (2019).
#include "gradus/locks/cna_lock.hpp"

#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result cna_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<gradus::cna_lock>(problem, execution, phases);
}

extern constinit const Variant cna_lock_rung{
    .name = "cna_lock",
    .summary = "the same queue, threads on the holder's node first, within bounds",
    .change = "guarded data stays in one node's caches",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.bytes = sizeof(gradus::cna_lock)},
    .run = {cna_lock},
};

}  // namespace gradus::locks_detail
