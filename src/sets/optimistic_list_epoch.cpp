// optimistic_list_epoch: walk without locks, lock two nodes, walk again to be sure.
//
// Idea: threads no longer get into each other's way on their way: they only read. When both nodes are locked, a second
// walk from the head tells whether they are in the list still. It pays where two walks without locks cost less than one
// with them.
//
// Removed nodes are freed when all operations that were under way have ended: one atomic exchange for an operation, and
// plain loads on the way. A thread that stops inside an operation holds back all that is removed meanwhile.
//
// Work: n steps of a pointer each, two locks; look-ups too.
// Limits: a thread that stops with its locks holds up those that need the same nodes.
//
// Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor Programming", 9.6. The set itself:
// include/gradus/sets/optimistic_list_set.hpp.
#include "gradus/sets/epoch.hpp"
#include "gradus/sets/optimistic_list_set.hpp"
#include "sets/job.hpp"
#include "sets/variants.hpp"

namespace gradus::sets_detail {

Outcome optimistic_list_epoch(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = optimistic_list_set<std::int64_t, gradus::epoch, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

}  // namespace gradus::sets_detail
