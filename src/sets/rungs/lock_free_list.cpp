// lock_free_list_epoch, lock_free_list_hazard_pointers, lock_free_list_leak:
// the mark is set by one atomic operation, and whoever comes by takes the node out.
//
// Idea: mark and next node are one word, so that one compare-and-exchange links a new node only where its neighbour is
// not removed meanwhile. No locks are left, and no thread waits for another one, whatever happens to it.
//
// Work: n / 2 steps of a pointer each; one atomic operation to insert, two to erase.
// Limits: a thread that is beaten to a link walks again.
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
                         "no locks: the mark is set by one atomic operation, whoever comes by takes nodes out",
                         "no locks; a thread that stops holds up nobody");

}  // namespace gradus::sets_detail
