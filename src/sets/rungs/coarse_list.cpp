// coarse_list: a sorted list under one lock.
//
// Idea: take the lock, do what the sequential list does, let go. Of the row above it keeps the code and adds
// std::mutex. Threads work one after another, so that more of them add nothing but the way of the lock from core to
// core.
//
// Work: n / 2 steps of a pointer each on a list of n keys, one lock.
// Limits: whoever holds the lock holds up all others.
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
