// openmp_critical: an OpenMP critical section.
//
// What changes from `no_lock`: one thread at a time is inside. A critical section has a name but is not an object: all
// sections with the same name exclude each other, anywhere in the program.
//
// Cost: the lock of the runtime. GNU's runtime spins for a while and then sleeps; the environment variables
// OMP_WAIT_POLICY and GOMP_SPINCOUNT set the time.
// Limits: a critical section guards a block of code, not an object. A critical section has no try_lock() and supports
// no condition variable.
// Source: the OpenMP specification's `critical` construct.
#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

namespace {

struct OmpCritical {};

}  // namespace

template <>
struct Guard<OmpCritical> {
  template <class Section>
  static bool with(OmpCritical&, const Section& section) {
    bool wants_more = false;
#pragma omp critical(gradus_locks)
    wants_more = section();
    return wants_more;
  }
};

Result openmp_critical(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<OmpCritical>(problem, execution, phases);
}

extern constinit const Variant openmp_critical_rung{
    .name = "openmp_critical",
    .summary = "OpenMP's critical construct",
    .change = "one thread at a time; a name, not an object",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = only_plainly,
    .run = {openmp_critical},
};

}  // namespace gradus::locks_detail
