// std_mutex: the standard library's mutex.
//
// What changes from `pthread_mutex`: the interface, and that an error is an exception. It is what a C++ program has
// without us, and what each lock below must be measured against.
//
// Cost and limits: those of `pthread_mutex`, which it is on Linux.
// Source: ISO/IEC 14882, [thread.mutex].
#include <mutex>

#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

Result std_mutex(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<std::mutex>(problem, execution, phases);
}

extern constinit const Variant std_mutex_rung{
    .name = "std_mutex",
    .summary = "the standard library's mutex",
    .change = "the interface of C++",
    .contract = excludes_others,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = but_not_timed,
    .facts = {.bytes = sizeof(std::mutex)},
    .run = {std_mutex},
};

}  // namespace gradus::locks_detail
