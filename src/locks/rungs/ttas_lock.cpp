// ttas_lock: test and test-and-set. Look first, set when it is free, rest longer from look to look.
//
// What changes from `tas_lock`: who waits reads, in its own cache, and writes only when the flag was free. So that not
// all of them rush for it then, each rests between its looks, twice as long each time.
//
// Cost: one exchange to come in, a write to let go; when it is let go, a transfer for those who look just then.
// Memory: 128 bytes.
// Limits: who just let go finds the flag in its own cache and is often the next; others starve. The best rest
// depends on the machine and on the section.
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
    .summary = "look first, then set the flag; rest twice as long from look to look",
    .change = "who waits reads in its own cache; no rush",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .facts = {.bytes = sizeof(gradus::ttas_lock)},
    .run = {ttas_lock},
};

}  // namespace gradus::locks_detail
