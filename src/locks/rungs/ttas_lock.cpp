// ttas_lock: test and test-and-set. Read the flag first, set it only if it is clear, and back off between attempts.
//
// What changes from `tas_lock`: a waiting thread reads the flag in its own cache. It writes the flag only after it has
// read a clear flag. Each thread pauses between two reads, twice as long each time (exponential backoff), so that the
// threads do not all write at once.
//
// Cost: one atomic exchange to acquire, one write to release; after a release, one transfer for each thread that reads
// the flag at that moment. Memory: 128 bytes.
// Limits: the releasing thread has the flag in its own cache and is often the next holder, so other threads starve. The
// best pause depends on the machine and on the section.
// The code: include/gradus/locks/ttas_lock.hpp.
// Source: T. E. Anderson, "The performance of spin lock alternatives for shared-memory multiprocessors" (1990).
#include "gradus/locks/ttas_lock.hpp"

#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result ttas_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<gradus::ttas_lock>(problem, execution, phases);
}

extern constinit const Variant ttas_lock_rung{
    .name = "ttas_lock",
    .summary = "read first, then set the flag; exponential backoff between reads",
    .change = "waiters read their own caches; no rush",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .facts = {.bytes = sizeof(gradus::ttas_lock)},
    .run = {ttas_lock},
};

}  // namespace gradus::locks_detail
