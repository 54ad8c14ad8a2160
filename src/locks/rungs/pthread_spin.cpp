// pthread_spin: the spin lock of POSIX threads.
//
// What changes from `std_mutex`: a waiting thread stays awake, so no wake-up is needed. The C library's lock tries
// once, then polls until the lock is free and tries again.
//
// Cost: one locked instruction to acquire, one write to release.
// Limits: a waiting thread never yields its CPU. With more threads than CPUs, waiting threads can keep the holder off
// the CPUs for whole time slices. A lock has 4 bytes, so two locks may share a cache line. The threads of both locks
// then contend for this line.
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
    .change = "waiters stay awake and keep their CPUs",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.bytes = sizeof(pthread_spinlock_t)},
    .run = {pthread_spin},
};

}  // namespace gradus::locks_detail
