// tas_lock: test-and-set. Every waiting thread sets one flag again and again. A thread whose write changes the flag
// from clear to set has the lock.
//
// What changes from `pthread_spin`: this library implements the lock and places it on separate cache lines. A thread
// yields its CPU after waiting for some microseconds. All waiting threads write to the flag again and again.
//
// Cost: one atomic exchange to acquire, one write to release; while threads wait, every attempt transfers the cache
// line. Memory: 128 bytes.
// Limits: the holder must get the cache line back before it can release the lock. No order of arrival: a thread may
// wait for ever.
// The code: include/gradus/locks/tas_lock.hpp.
// Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor Programming" (2008), chapter 7.
#include "gradus/locks/tas_lock.hpp"

#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result tas_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<gradus::tas_lock>(problem, execution, phases);
}

extern constinit const Variant tas_lock_rung{
    .name = "tas_lock",
    .summary = "test and set one flag until it was free",
    .change = "ours; separate cache lines; yields its CPU after some microseconds",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .facts = {.bytes = sizeof(gradus::tas_lock)},
    .run = {tas_lock},
};

}  // namespace gradus::locks_detail
