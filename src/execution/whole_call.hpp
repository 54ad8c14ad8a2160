// The whole of a public call: what is the same for every job, before it and after it.
#pragma once

#include <new>
#include <string>
#include <system_error>

#include "cpu/call.hpp"
#include "gradus/execution.hpp"
#include "ranks/ranks.hpp"
#include "ranks/same_call.hpp"

namespace gradus::execution {

[[noreturn]] void throw_out_of_memory();
/// Throws gradus::Error if the system refused a thread, otherwise the exception being handled.
[[noreturn]] void rethrow_without_thread(const std::system_error& error);

/// Runs job(), the whole of a public call, in the default floating-point environment. The caller's threads get theirs
/// back. What the standard library throws for want of memory or of a thread becomes an error of this library.
template <class Job>
auto whole_call(const Job& job) {
  const cpu::Call call;
  try {
    return job();
  } catch (const std::bad_alloc&) {
    throw_out_of_memory();
  } catch (const std::system_error& error) {
    rethrow_without_thread(error);
  }
}

/// Returns the request with a progress callback that gives the calling thread the default environment again, whatever
/// the caller's own callback has done to it. Refers to the request.
Execution with_guarded_progress(const Execution& execution);

/// Runs job(execution) likewise, with guarded progress.
template <class Job>
auto whole_call(const Execution& execution, const Job& job) {
  return whole_call([&] { return execution.progress ? job(with_guarded_progress(execution)) : job(execution); });
}

/// Runs job(execution, ranks), the call of this name with elements of type T. Several ranks first make sure that all of
/// them make the same call.
template <class T, class Job>
auto whole_call(const char* name, const Execution& execution, const Job& job) {
  if (execution.communicator == nullptr)
    return whole_call(execution, [&](const Execution& here) { return job(here, core::Ranks::alone()); });
  core::Ranks ranks(*execution.communicator, execution.stop);
  return ranks.run([&] {
    return whole_call(execution, [&](const Execution& here) {
      core::require_same_call(ranks, std::string(name) + (sizeof(T) == 4 ? " of f32" : " of f64"));
      return job(here, ranks);
    });
  });
}

}  // namespace gradus::execution
