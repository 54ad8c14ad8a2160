// lock_free_list_hazard_pointers: the mark is set by one atomic operation, and whoever comes by takes the node out.
//
// Idea: mark and next node are one word, so that one compare-and-exchange links a new node only where its neighbour is
// not removed meanwhile. No locks are left, and no thread waits for another one, whatever happens to it.
//
// What changes from the row above: a thread publishes the address of each node before it looks at it, an atomic
// exchange a step, and starts again where it stands on a removed node. In return a thread that stops holds back four
// nodes only.
//
// Work: n / 2 steps of a pointer each; one atomic operation to insert, two to erase.
// Limits: a thread that is beaten to a link walks again.
//
// Sources: T. L. Harris, "A pragmatic implementation of non-blocking linked-lists" (2001); M. M. Michael, "High
// performance dynamic lock-free hash tables and list-based sets" (2002). The set itself:
// include/gradus/sets/lock_free_list_set.hpp.
#include "gradus/sets/hazard_pointers.hpp"
#include "gradus/sets/lock_free_list_set.hpp"
#include "sets/job.hpp"
#include "sets/variants.hpp"

namespace gradus::sets_detail {

Outcome lock_free_list_hazard_pointers(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = lock_free_list_set<std::int64_t, gradus::hazard_pointers, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

}  // namespace gradus::sets_detail
