// optimistic_list_epoch, optimistic_list_hazard_pointers, optimistic_list_leak: traverse without locks, lock two nodes,
// traverse again to validate.
//
// Idea: threads do not disturb each other while they traverse, because they only read. After both nodes are locked, a
// second traversal from the head checks that they are still in the list. This is faster if two traversals without locks
// take less time than one traversal with locks.
//
// Work: n pointer steps and two locks, also for look-ups.
// Limits: a thread that stops while holding locks blocks threads that need the same nodes.
//
// Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor Programming", 9.6. The set itself:
// include/gradus/sets/optimistic_list_set.hpp.
#include "gradus/sets/optimistic_list_set.hpp"

#include "sets/job.hpp"
#include "sets/rows.hpp"

namespace gradus::sets_detail {

template <class Reclamation>
Outcome optimistic_list(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = optimistic_list_set<std::int64_t, Reclamation, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

GRADUS_ROWS_OF_STRUCTURE(optimistic_list, list, "walk without locks, lock two nodes, walk again to be sure",
                         "no locks on the way; two walks, two locks, also to look up");

}  // namespace gradus::sets_detail
