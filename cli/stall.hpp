// Who waits too long for the other ranks says so and ends. Neither MPI nor mpirun sees that a process has stopped
// without ending, or that it computes for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>

#include "gradus/communicator.hpp"

namespace gradus::cli {

/// The calls of another communicator, under the eyes of a thread.
class WatchedCommunicator final : public Communicator {
 public:
  /// `end` gets the words about the call that has waited for longer than the limit, in a thread of its own, and does
  /// not return.
  WatchedCommunicator(Communicator& of, std::function<void(const std::string&)> end);
  ~WatchedCommunicator() override;

  /// So many seconds; 0: none. Before this is called it is `usual`, but not less than twenty times the longest time
  /// that this rank itself has let others wait for: ranks have about as much to do.
  void set_limit(double seconds);
  static constexpr double usual = 600;
  static constexpr double most = 1e9;

  int rank() const override { return of_.rank(); }
  int size() const override { return of_.size(); }
  int neighbours() const override { return of_.neighbours(); }
  void sum(std::span<std::uint64_t> words) override;
  void least(std::span<double> numbers) override;
  void greatest(std::span<double> numbers) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override;
  /// Nothing: the program says first what was wrong, and then ends all of them: RankedJob::end().
  void give_up() noexcept override {}

 private:
  class Call;
  void watch(const std::stop_token& stop);

  Communicator& of_;
  std::function<void(const std::string&)> end_;
  // Of the call at hand. Only this rank's thread writes them, and the watching one looks at them long afterwards.
  std::atomic<const char*> what_{nullptr};  ///< null: there is none; its number of items is {}
  std::atomic<std::uint64_t> items_{0};
  std::atomic<std::uint64_t> number_{0};  ///< of calls so far
  std::atomic<double> limit_{-1};         ///< -1: the usual one
  std::atomic<std::int64_t> longest_work_{0};
  std::int64_t last_end_;
  std::jthread thread_;
};

/// Calls end(), which does not return, unless it is gone before so many seconds have passed in which the process was
/// not stopped.
class Deadline {
 public:
  Deadline(double seconds, std::function<void()> end);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace gradus::cli
