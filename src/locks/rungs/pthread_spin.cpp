// pthread_spin: the spin lock of POSIX threads.
//
// What changes from `std_mutex`: who waits stays awake, and so needs no wake. The C library's lock tries once, then
// looks until it is free and tries again.
//
// Cost: one locked instruction to come in, a write to let go.
// Limits: it never gives its processor away: with more threads than processors those that wait keep the holder from
// running for whole time slices. 4 bytes, so that two of them share a cache line, and with them their contention.
// Source: IEEE Std 1003.1, pthread_spin_lock().
#include "cpu/posix_locks.hpp"
#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result pthread_spin(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<cpu::PthreadSpin>(problem, execution, phases);
}

extern constinit const Variant pthread_spin_rung{
    .name = "pthread_spin",
    .summary = "the spin lock of POSIX threads",
    .change = "who waits stays awake, and keeps its processor",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.bytes = sizeof(pthread_spinlock_t)},
    .run = {pthread_spin},
};

}  // namespace gradus::locks_detail
