// The whole of a public call that takes ranks (Execution::communicator): they make sure that all of them make the same
// one before anything else.
#pragma once

#include <string>

#include "core/ranks.hpp"
#include "core/same_call.hpp"
#include "execution/request.hpp"

namespace gradus::execution {

/// Runs job(ranks), the call of this name with elements of type T; null where there are no ranks.
template <class T, class Job>
auto whole_call(const char* name, const Execution& execution, const Job& job) {
  if (execution.communicator == nullptr) return within_memory([&] { return job(nullptr); });
  core::Ranks ranks(*execution.communicator, execution.stop);
  return ranks.run([&] {
    return within_memory([&] {
      core::require_same_call(ranks, std::string(name) + (sizeof(T) == 4 ? " of f32" : " of f64"));
      return job(&ranks);
    });
  });
}

}  // namespace gradus::execution
