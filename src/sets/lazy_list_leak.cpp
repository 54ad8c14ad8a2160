// lazy_list_leak: removed nodes are marked before they are taken out.
//
// Idea: the mark tells a thread that has locked a node whether the node is in the list: the second walk is not needed,
// and look-ups need no lock at all. Nor do changes that find nothing to do.
//
// What changes from the row above: nothing is freed before the set is, so that a thread need not say what it does. The
// difference is the price of reclamation.
//
// Work: n / 2 steps of a pointer each; one lock to insert, two to erase.
// Limits: a thread that stops with its locks holds up changes that need the same nodes; look-ups go on.
//
// Source: S. Heller et al., "A lazy concurrent list-based set algorithm" (2005). The set itself:
// include/gradus/sets/lazy_list_set.hpp.
#include "gradus/sets/lazy_list_set.hpp"
#include "gradus/sets/leak.hpp"
#include "sets/job.hpp"
#include "sets/variants.hpp"

namespace gradus::sets_detail {

Outcome lazy_list_leak(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = lazy_list_set<std::int64_t, gradus::leak, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

}  // namespace gradus::sets_detail
