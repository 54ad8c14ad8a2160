// tas_lock: test-and-set. One flag, which all who wait set until it was free.
//
// What changes from `pthread_spin`: it is ours, to begin with, on cache lines of its own, and a thread that has waited
// for some microseconds gives its processor away. All who wait write to the flag, again and again.
//
// Cost: one exchange to come in, a write to let go; while threads wait, a transfer of the cache line for each of
// their looks. Memory: 128 bytes.
// Limits: the holder, too, must win the line back to let go. No order of arrival: a thread may wait for ever.
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
    .change = "ours; cache lines of its own; gives its processor away after some microseconds",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .facts = {.bytes = sizeof(gradus::tas_lock)},
    .run = {tas_lock},
};

}  // namespace gradus::locks_detail
