// fine_list: a lock in each node, taken hand over hand.
//
// Idea: a thread holds the locks of two neighbouring nodes only, and acquires the next lock before it releases the
// previous one. So threads may work on different parts of the list. But they cannot overtake each other, and each step
// costs an atomic exchange on a word that the thread ahead has just changed.
//
// Work: n / 2 steps with a lock each.
// Limits: a thread that stops blocks all threads behind it.
//
// Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor Programming", 9.5. The set itself:
// include/gradus/sets/fine_list_set.hpp.
#include "gradus/sets/fine_list_set.hpp"

#include "sets/job.hpp"
#include "sets/rows.hpp"

namespace gradus::sets_detail {

Outcome fine_list(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Set = fine_list_set<std::int64_t, std::less<>, CountingAllocator<std::int64_t>>;
  return run_job<Set>(problem, execution, phases, /*is_ordered=*/true);
}

extern constinit const Variant fine_list_rung =
    list("fine_list", "a lock in each node, taken hand over hand",
         "as many locks as steps; threads in different parts of the list", fine_list);

}  // namespace gradus::sets_detail
