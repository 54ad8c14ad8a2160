// skip_list_epoch, skip_list_hazard_pointers, skip_list_leak: the lock-free list with express lanes.
//
// Idea: half of the nodes are also linked on a second level, half of these on a third, and so on. A search skips most
// keys. Each level is a lock-free list. A node counts the levels on which it is linked, and is retired when it has been
// unlinked from all of them.
//
// Work: about 2 log2(n) pointer steps on n keys. These steps visit about 1.4 log2(n) different nodes. Each node is a
// cache miss if the set is larger than the caches. While the next node of a level is loading, the node on the level
// below is prefetched.
// Limits: the level of a node is random, so long searches are possible but very improbable.
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
