// park_lock: look for some microseconds, then sleep until the lock is free.
//
// What changes from `ttas_lock`: who has looked in vain sleeps, and leaves its processor to others. Who lets go wakes
// one, and whoever is awake may have the lock meanwhile.
//
// Cost: a compare-and-exchange to come in and one to let go; a system call each for who sleeps and who wakes.
// Memory: 128 bytes.
// Limits: no order of arrival; to be woken takes some microseconds.
// The code: include/gradus/locks/park_lock.hpp.
// Source: A. R. Karlin and others, "Empirical studies of competitive spinning for a shared-memory multiprocessor"
// (1991); U. Drepper, "Futexes are tricky" (2005).
#include "gradus/locks/park_lock.hpp"

#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result park_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<gradus::park_lock>(problem, execution, phases);
}

extern constinit const Variant park_lock_rung{
    .name = "park_lock",
    .summary = "look for some microseconds, then sleep",
    .change = "leaves its processor to others",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .facts = {.bytes = sizeof(gradus::park_lock)},
    .run = {park_lock},
};

}  // namespace gradus::locks_detail
