// optimistic_list_epoch, optimistic_list_hazard_pointers, optimistic_list_leak:
// walk without locks, lock two nodes, walk again to be sure.
//
// Idea: threads no longer get into each other's way on their way: they only read. When both nodes are locked, a second
// walk from the head tells whether they are in the list still. It pays where two walks without locks cost less than one
// with them.
//
// Work: n steps of a pointer each, two locks; look-ups too.
// Limits: a thread that stops with its locks holds up those that need the same nodes.
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
