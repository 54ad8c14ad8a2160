// Terminates a rank that waits too long for other ranks. Neither MPI nor mpirun detects that a process is suspended or
// in an endless loop.
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

/// Forwards calls to another communicator. A thread measures how long each call takes.
class WatchedCommunicator final : public Communicator {
 public:
  /// If a call takes longer than the limit, a separate thread calls end() with a description of the call. end() must
  /// not return.
  WatchedCommunicator(Communicator& of, std::function<void(const std::string&)> end);
  ~WatchedCommunicator() override;

  /// Sets the limit in seconds; 0: no limit. The default limit is the longer of two times: `usual`, and twenty times
  /// the longest time that this rank has worked between two calls. All ranks have about the same amount of work, so no
  /// call should wait that long.
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
  /// Does nothing, because the program first reports the error, and then RankedJob::end() terminates all ranks.
  void give_up() noexcept override {}
  bool has_ended() const noexcept override { return of_.has_ended(); }

 private:
  class Call;
  void watch(const std::stop_token& stop);

  Communicator& of_;
  std::function<void(const std::string&)> end_;
  // The state of the current call. Only the thread that makes the calls writes the state. The watching thread reads it.
  /// Name of the call, with {} for the number of items; null: there is no call.
  std::atomic<const char*> what_{nullptr};
  std::atomic<std::uint64_t> items_{0};
  std::atomic<std::uint64_t> number_{0};
  std::atomic<double> limit_{-1};  ///< limit in seconds; -1: the default limit
  std::atomic<std::int64_t> longest_work_{0};
  std::int64_t last_end_;
  std::jthread thread_;
};

/// Calls end() if the object still exists after `seconds`. end() must not return. Time in which the process is
/// suspended does not count.
class Deadline {
 public:
  Deadline(double seconds, std::function<void()> end);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace gradus::cli
