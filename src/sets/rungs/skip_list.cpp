// skip_list_epoch, skip_list_hazard_pointers, skip_list_leak: the lock-free list with express lanes.
//
// Idea: half of the nodes are linked on a second level as well, half of these on a third: a search passes over most
// keys. Each level is a lock-free list. A node counts the levels that hold it, and is retired when the last one
// has let it go.
//
// Work: about 2 log2(n) steps of a pointer each on n keys, over 1.4 log2(n) different nodes, each a cache miss where
// the set is larger than the caches. While the next node is on its way, the one below is prefetched.
// Limits: the levels of a node are drawn; that all searches are long is only very improbable.
//
// Sources: W. Pugh, "Skip lists" (1990); K. Fraser, "Practical lock freedom" (2004). The set itself:
// include/gradus/sets/skip_list_set.hpp.
#include "gradus/sets/skip_list_set.hpp"

#include "sets/job.hpp"
#include "sets/rows.hpp"

namespace gradus::sets_detail {

template <class Reclamation>
Outcome skip_list(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = skip_list_set<std::int64_t, Reclamation, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

GRADUS_ROWS_OF_STRUCTURE(skip_list, large, "express lanes over the lock-free list: O(log n) steps",
                         "steps grow with the logarithm of the keys");

}  // namespace gradus::sets_detail
