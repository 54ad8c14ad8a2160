// std_mutex: the standard library's mutex.
//
// What changes from `pthread_mutex`: the interface, which throws exceptions for errors. Every C++ program has this
// mutex, so it is the baseline for all locks below.
//
// Cost and limits: as `pthread_mutex`, which implements std::mutex on Linux.
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
