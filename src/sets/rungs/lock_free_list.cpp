// lock_free_list_epoch, lock_free_list_hazard_pointers, lock_free_list_leak: one atomic operation sets the mark, and
// any passing thread unlinks the node.
//
// Idea: the mark and the next pointer are one word. So one compare-and-swap links a new node only if its predecessor
// has not been removed. No locks are left, and no thread waits for another thread, even if that thread stops.
//
// Work: n / 2 pointer steps; one atomic operation to insert, two to erase.
// Limits: a thread that loses the race for a link traverses the list again.
//
// Sources: T. L. Harris, "A pragmatic implementation of non-blocking linked-lists" (2001); M. M. Michael, "High
// performance dynamic lock-free hash tables and list-based sets" (2002). The set itself:
// include/gradus/sets/lock_free_list_set.hpp.
#include "gradus/sets/lock_free_list_set.hpp"

#include "sets/job.hpp"
#include "sets/rows.hpp"

namespace gradus::sets_detail {

template <class Reclamation>
Outcome lock_free_list(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = lock_free_list_set<std::int64_t, Reclamation, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

GRADUS_ROWS_OF_STRUCTURE(lock_free_list, list,
                         "no locks: one atomic operation sets the mark, passing threads unlink nodes",
                         "no locks; a stopped thread blocks no other");

}  // namespace gradus::sets_detail
