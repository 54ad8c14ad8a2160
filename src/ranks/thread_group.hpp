// Ranks that are threads of this process. They exchange data through memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <span>
#include <vector>

#include "gradus/communicator.hpp"

namespace gradus::core {

class ThreadGroup {
 public:
  explicit ThreadGroup(int size);
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;
  ~ThreadGroup();

  int size() const { return static_cast<int>(calls_.size()); }
  Communicator& member(int rank);

  /// Calls job(communicator) for every rank: for rank 0 on this thread, and for each other rank on a separate thread.
  /// If jobs throw, rethrows the exception of the lowest rank, but ignores exceptions that only report that another
  /// rank gave up.
  void run(const std::function<void(Communicator&)>& job);
  /// Calls the jobs like run(), and returns the exception that each one threw, or null.
  std::vector<std::exception_ptr> try_run(const std::function<void(Communicator&)>& job);
  /// Returns true after a rank has given up or thrown. A group that has ended cannot be used again.
  bool has_ended() const { return who_gave_up_.load(std::memory_order_acquire) >= 0; }
  /// Returns the number of operations that the ranks have completed.
  int operations() const { return static_cast<int>(meetings_.load(std::memory_order_acquire) / 2); }

 private:
  enum class Kind : std::uint8_t { sum, least, greatest, broadcast, gather };
  struct Call {
    Kind kind;
    int root;
    std::size_t bytes;
    std::byte* data;
  };
  class Member;

  /// Waits until all ranks have called meet(). Throws if a rank has given up or finished its job.
  void meet(int rank);
  /// Publishes this rank's call, and waits for the calls of all ranks.
  void meet(int rank, const Call& call);
  void throw_if_incomplete(int rank);
  void give_up(int rank) noexcept;
  void wake_all() noexcept;

  std::vector<Call> calls_;
  std::vector<char> has_learned_;  ///< nonzero for each rank that has learned that another rank gave up
  std::deque<Member> members_;
  std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> meetings_{0};  ///< number of completed meetings
  std::atomic<std::uint32_t> signals_{0};   ///< changes when a waiting rank must look again
  std::atomic<int> who_gave_up_{-1};
  std::atomic<int> who_finished_{-1};
};

}  // namespace gradus::core
