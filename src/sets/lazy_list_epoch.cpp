// lazy_list_epoch: removed nodes are marked before they are taken out.
//
// Idea: the mark tells a thread that has locked a node whether the node is in the list: the second walk is not needed,
// and look-ups need no lock at all. Nor do changes that find nothing to do.
//
// Removed nodes are freed when all operations that were under way have ended: one atomic exchange for an operation, and
// plain loads on the way. A thread that stops inside an operation holds back all that is removed meanwhile.
//
// Work: n / 2 steps of a pointer each; one lock to insert, two to erase.
// Limits: a thread that stops with its locks holds up changes that need the same nodes; look-ups go on.
//
// Source: S. Heller et al., "A lazy concurrent list-based set algorithm" (2005). The set itself:
// include/gradus/sets/lazy_list_set.hpp.
#include "gradus/sets/epoch.hpp"
#include "gradus/sets/lazy_list_set.hpp"
#include "sets/job.hpp"
#include "sets/variants.hpp"

namespace gradus::sets_detail {

Outcome lazy_list_epoch(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = lazy_list_set<std::int64_t, gradus::epoch, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

}  // namespace gradus::sets_detail
