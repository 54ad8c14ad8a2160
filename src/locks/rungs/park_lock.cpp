// park_lock: spins for some microseconds, then sleeps until the lock is free.
//
// What changes from `ttas_lock`: a thread that has polled in vain sleeps and leaves its CPU to other threads. A
// releasing thread wakes one sleeper, but any running thread may take the lock first.
//
// Cost: one compare-and-swap to acquire and one to release; one system call to sleep and one to wake. Memory: 128
// bytes.
// Limits: no order of arrival; waking a thread takes some microseconds.
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
    .summary = "spin for some microseconds, then sleep",
    .change = "leaves the CPU to others",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .facts = {.bytes = sizeof(gradus::park_lock)},
    .run = {park_lock},
};

}  // namespace gradus::locks_detail
