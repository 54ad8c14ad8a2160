// pthread_mutex: the mutex of POSIX threads.
//
// What changes from `openmp_critical`: the lock is an object. A thread that does not get the lock sleeps in the kernel
// until the holder wakes it. No thread spins.
//
// Cost: one compare-and-swap to acquire and one exchange to release; one system call to sleep and one to wake.
// Limits: sleeping and waking take some microseconds, much longer than a short section.
// Source: IEEE Std 1003.1; U. Drepper, "Futexes are tricky" (2005), for the implementation on Linux.
#include "cpu/posix_locks.hpp"
#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result pthread_mutex(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<cpu::PthreadMutex>(problem, execution, phases);
}

extern constinit const Variant pthread_mutex_rung{
    .name = "pthread_mutex",
    .summary = "the mutex of POSIX threads",
    .change = "an object; waiters sleep",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.bytes = sizeof(pthread_mutex_t)},
    .run = {pthread_mutex},
};

}  // namespace gradus::locks_detail
