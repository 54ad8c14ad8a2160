// coarse_list: a sorted list under one lock.
//
// Idea: acquire the lock, do what the sequential list does, release the lock. The code of the sequential list stays the
// same; only a std::mutex is added. Threads work one after another, so more threads only add the transfer of the lock
// between cores.
//
// Work: n / 2 pointer steps on a list of n keys, one lock.
// Limits: the holder of the lock delays all other threads.
//
// Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor Programming", 9.4. The set itself:
// include/gradus/sets/coarse_list_set.hpp.
#include "gradus/sets/coarse_list_set.hpp"

#include "sets/job.hpp"
#include "sets/rows.hpp"

namespace gradus::sets_detail {

Outcome coarse_list(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = coarse_list_set<std::int64_t, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

extern constinit const Variant coarse_list_rung =
    list("coarse_list", "one lock around the list", "a mutex", coarse_list);

}  // namespace gradus::sets_detail
