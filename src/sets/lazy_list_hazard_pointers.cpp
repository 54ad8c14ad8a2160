// lazy_list_hazard_pointers: removed nodes are marked before they are taken out.
//
// Idea: the mark tells a thread that has locked a node whether the node is in the list: the second walk is not needed,
// and look-ups need no lock at all. Nor do changes that find nothing to do.
//
// What changes from the row above: a thread publishes the address of each node before it looks at it, an atomic
// exchange a step, and starts again where it stands on a removed node. In return a thread that stops holds back four
// nodes only.
//
// Work: n / 2 steps of a pointer each; one lock to insert, two to erase.
// Limits: a thread that stops with its locks holds up changes that need the same nodes; look-ups go on.
//
// Source: S. Heller et al., "A lazy concurrent list-based set algorithm" (2005). The set itself:
// include/gradus/sets/lazy_list_set.hpp.
#include "gradus/sets/hazard_pointers.hpp"
#include "gradus/sets/lazy_list_set.hpp"
#include "sets/job.hpp"
#include "sets/variants.hpp"

namespace gradus::sets_detail {

Outcome lazy_list_hazard_pointers(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = lazy_list_set<std::int64_t, gradus::hazard_pointers, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

}  // namespace gradus::sets_detail
