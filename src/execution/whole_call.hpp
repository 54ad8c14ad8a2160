// The steps at the beginning and end of every public call.
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
/// Throws gradus::Error if the system refused to start a thread. Rethrows any other exception that is being handled.
[[noreturn]] void rethrow_without_thread(const std::system_error& error);

/// Runs job(), the body of a public call, in the default floating-point environment, and restores the caller's
/// environment. Exceptions of the standard library for a lack of memory or threads become errors of this library.
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

/// Returns a copy of the request with two changes. First, if the list of GPUs has one element, the copy requests this
/// GPU instead of a list. Second, the progress callback of the copy calls the caller's callback and then restores the
/// default floating-point environment. The copy keeps a reference to `execution`.
Execution adapted(const Execution& execution);

/// Runs job(execution) like the overload above. The job receives adapted(execution).
template <class Job>
auto whole_call(const Execution& execution, const Job& job) {
  const bool is_plain = !execution.progress && execution.gpus.size() != 1;  // a plain request needs no adapted copy
  return whole_call([&] { return is_plain ? job(execution) : job(adapted(execution)); });
}

/// Runs job(execution, ranks). `name` is the public call and T its element type. With several ranks, first checks that
/// all ranks make the same call.
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
