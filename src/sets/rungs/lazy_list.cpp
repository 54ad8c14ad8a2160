// lazy_list_epoch, lazy_list_hazard_pointers, lazy_list_leak: removed nodes are marked before they are unlinked.
//
// Idea: the mark shows a thread that has locked a node whether the node is still in the list. So the second traversal
// is not needed, and look-ups need no lock at all. Changes that find nothing to do need no lock either.
//
// Work: n / 2 pointer steps; one lock to insert, two to erase.
// Limits: a thread that stops while holding locks blocks changes that need the same nodes; look-ups continue.
//
// Source: S. Heller et al., "A lazy concurrent list-based set algorithm" (2005). The set itself:
// include/gradus/sets/lazy_list_set.hpp.
#include "gradus/sets/lazy_list_set.hpp"

#include "sets/job.hpp"
#include "sets/rows.hpp"

namespace gradus::sets_detail {

template <class Reclamation>
Outcome lazy_list(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = lazy_list_set<std::int64_t, Reclamation, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

GRADUS_ROWS_OF_STRUCTURE(lazy_list, list, "removed nodes are marked first: look-ups take no locks, changes walk once",
                         "one walk; look-ups and changes that find nothing to do take no locks");

}  // namespace gradus::sets_detail
