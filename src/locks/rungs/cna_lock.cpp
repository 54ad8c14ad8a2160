// cna_lock: the queue of `mcs_lock`, in which threads near the holder's memory go first, within bounds.
//
// What changes from `mcs_lock`: who lets go prefers a thread on its own node of the machine's memory, so that what the
// lock guards stays in that node's caches. Those that were passed come first again after 256 such hand-offs.
//
// Cost: that of `mcs_lock`; with several nodes a walk along the queue to the first near thread. Memory: 256 bytes.
// Limits: on one node it gains nothing. Threads of other nodes are overtaken, though not for ever.
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
    .summary = "the same queue, threads near the holder's memory first, within bounds",
    .change = "what is guarded stays in one node's caches",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.bytes = sizeof(gradus::cna_lock)},
    .run = {cna_lock},
};

}  // namespace gradus::locks_detail
