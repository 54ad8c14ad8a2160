// split_ordered_epoch, split_ordered_hazard_pointers, split_ordered_leak: a hash set that is one lock-free list with an
// entry point for each bucket.
//
// Idea: keys are sorted by the reversed bits of their hashes. Each bucket is then a contiguous part of the list. If the
// number of buckets doubles, the two halves of a bucket become buckets. So the set grows without moving a key. It is
// the first set of the ladder that does not order its keys.
//
// Work: one hash and one or two steps. Each step is a cache miss if the set does not fit in the caches.
// Limits: buckets are never freed.
//
// Source: O. Shalev and N. Shavit, "Split-ordered lists: lock-free extensible hash tables" (2006). The set itself:
// include/gradus/sets/split_ordered_set.hpp.
#include "gradus/sets/split_ordered_set.hpp"

#include "sets/job.hpp"
#include "sets/rows.hpp"

namespace gradus::sets_detail {

template <class Reclamation>
Outcome split_ordered(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = split_ordered_set<std::int64_t, Reclamation, std::hash<std::int64_t>, std::equal_to<>,
                                CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/false);
}

GRADUS_ROWS_OF_STRUCTURE(split_ordered, large,
                         "a lock-free hash set: one list in the order of reversed hashes, an entry per bucket",
                         "a constant number of steps; no order");

}  // namespace gradus::sets_detail
