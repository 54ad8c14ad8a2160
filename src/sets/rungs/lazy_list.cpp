// lazy_list_epoch, lazy_list_hazard_pointers, lazy_list_leak: removed nodes are marked before they are taken out.
//
// Idea: the mark tells a thread that has locked a node whether the node is in the list: the second walk is not needed,
// and look-ups need no lock at all. Nor do changes that find nothing to do.
//
// Work: n / 2 steps of a pointer each; one lock to insert, two to erase.
// Limits: a thread that stops with its locks holds up changes that need the same nodes; look-ups go on.
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
