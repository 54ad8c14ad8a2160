// Uses threads of this process as the ranks of a job. In tests, these threads replace MPI, also under the thread
// sanitizer. If ranks make different calls, an error is thrown, whereas MPI would hang.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "gradus/communicator.hpp"
#include "ranks/thread_group.hpp"
#include "tests/helpers.hpp"

namespace gradus::tests {

class ThreadRanks {
 public:
  explicit ThreadRanks(int size) : group_(size) {}

  int size() const { return group_.size(); }
  int calls() const { return group_.operations(); }  ///< number of completed collective operations

  /// Calls job(communicator) on one thread per rank. Returns the exception that each thread threw, or null.
  std::vector<std::exception_ptr> run(const std::function<void(Communicator&)>& job) {
    // With Archer, LLVM 14's OpenMP runtime crashes if several threads are the first to enter it at the same time. This
    // thread therefore enters the runtime before it starts the threads of the ranks.
#pragma omp parallel num_threads(2)
    {}
    return group_.try_run(job);
  }

 private:
  core::ThreadGroup group_;
};

/// Expects that each rank throws an error of class E. Returns its message, which must be the same on all ranks.
template <class E>
std::string common_error(int size, const std::function<void(Communicator&)>& job) {
  ThreadRanks ranks(size);
  const std::vector<std::exception_ptr> thrown = ranks.run(job);
  std::string common;
  for (const std::exception_ptr& each : thrown) {
    const std::string message = error_of<E>([&] {
      if (each) std::rethrow_exception(each);
    });
    if (common.empty()) common = message;
    EXPECT_EQ(message, common);
  }
  return common;
}

}  // namespace gradus::tests
