// split_ordered_hazard_pointers: a hash set that is one lock-free list with a door for each bucket.
//
// Idea: in the order of the hashes' reversed bits, each bucket is a piece of the list, and its two halves are those of
// twice as many buckets: the set grows without moving a key. The ladder's first set without an order of its keys.
//
// What changes from the row above: a thread publishes the address of each node before it looks at it, an atomic
// exchange a step, and starts again where it stands on a removed node. In return a thread that stops holds back four
// nodes only.
//
// Work: a hash, and one or two steps, each a cache miss where the set does not fit the caches.
// Limits: buckets are not given back.
//
// Source: O. Shalev and N. Shavit, "Split-ordered lists: lock-free extensible hash tables" (2006). The set itself:
// include/gradus/sets/split_ordered_set.hpp.
#include "gradus/sets/split_ordered_set.hpp"

#include "gradus/sets/hazard_pointers.hpp"
#include "sets/job.hpp"
#include "sets/variants.hpp"

namespace gradus::sets_detail {

Outcome split_ordered_hazard_pointers(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = split_ordered_set<std::int64_t, gradus::hazard_pointers, std::hash<std::int64_t>, std::equal_to<>,
                                CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/false);
}

}  // namespace gradus::sets_detail
