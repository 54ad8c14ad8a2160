// split_ordered_epoch: a hash set that is one lock-free list with a door for each bucket.
//
// Idea: in the order of the hashes' reversed bits, each bucket is a piece of the list, and its two halves are those of
// twice as many buckets: the set grows without moving a key. The ladder's first set without an order of its keys.
//
// Removed nodes are freed when all operations that were under way have ended: one atomic exchange for an operation, and
// plain loads on the way. A thread that stops inside an operation holds back all that is removed meanwhile.
//
// Work: a hash, and one or two steps, each a cache miss where the set does not fit the caches.
// Limits: buckets are not given back.
//
// Source: O. Shalev and N. Shavit, "Split-ordered lists: lock-free extensible hash tables" (2006). The set itself:
// include/gradus/sets/split_ordered_set.hpp.
#include "gradus/sets/split_ordered_set.hpp"

#include "gradus/sets/epoch.hpp"
#include "sets/job.hpp"
#include "sets/variants.hpp"

namespace gradus::sets_detail {

Outcome split_ordered_epoch(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = split_ordered_set<std::int64_t, gradus::epoch, std::hash<std::int64_t>, std::equal_to<>,
                                CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/false);
}

}  // namespace gradus::sets_detail
