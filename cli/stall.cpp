#include "cli/stall.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace gradus::cli {

namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr auto poll_interval = std::chrono::milliseconds(50);

/// A clock that stops while this process is suspended. The clock must be polled more often than once per second.
class PollingClock {
 public:
  /// Returns the seconds since the last call, but at most one, because a longer gap means that this process was
  /// suspended.
  double seconds_since_poll() {
    constexpr double most = 1;
    return std::min(1e-9 * static_cast<double>(now() - std::exchange(last_, now())), most);
  }

 private:
  std::int64_t last_ = now();
};

}  // namespace

class WatchedCommunicator::Call {
 public:
  Call(WatchedCommunicator& of, const char* what, std::size_t items) : of_(of) {
    const std::int64_t start = now();
    of_.longest_work_ = std::max(of_.longest_work_.load(), start - of_.last_end_);
    of_.items_ = items;
    of_.number_ += 1;
    of_.what_ = what;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    of_.what_ = nullptr;
    of_.last_end_ = now();
  }

 private:
  WatchedCommunicator& of_;
};

WatchedCommunicator::WatchedCommunicator(Communicator& of, std::function<void(const std::string&)> end)
    : of_(of), end_(std::move(end)), last_end_(now()), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

WatchedCommunicator::~WatchedCommunicator() = default;

void WatchedCommunicator::set_limit(double seconds) { limit_ = seconds; }

void WatchedCommunicator::sum(std::span<std::uint64_t> words) {
  const Call call(*this, "a sum of {} words", words.size());
  of_.sum(words);
}
void WatchedCommunicator::least(std::span<double> numbers) {
  const Call call(*this, "the least of {} numbers", numbers.size());
  of_.least(numbers);
}
void WatchedCommunicator::greatest(std::span<double> numbers) {
  const Call call(*this, "the greatest of {} numbers", numbers.size());
  of_.greatest(numbers);
}
void WatchedCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  const Call call(*this, "a broadcast of {} bytes", bytes.size());
  of_.broadcast(bytes, root);
}
void WatchedCommunicator::gather(std::span<const std::byte> own, std::span<std::byte> all) {
  const Call call(*this, "a gathering of {} bytes", all.size());
  of_.gather(own, all);
}

void WatchedCommunicator::watch(const std::stop_token& stop) {
  std::uint64_t looked_at = 0;
  double waited = 0;
  PollingClock time;
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(poll_interval);
    const double passed = time.seconds_since_poll();
    const std::uint64_t number = number_;
    const char* const what = what_;
    waited = what != nullptr && number == looked_at ? waited + passed : 0;
    looked_at = number;
    const double limit = limit_ >= 0 ? limit_.load() : std::max(usual, 20e-9 * static_cast<double>(longest_work_));
    if (what == nullptr || limit == 0 || waited < limit || number_ != number) continue;
    end_(fmt::format("has waited for the others for {:.3g} s (--stall-timeout) in collective call {}, {}", waited,
                     number, fmt::format(fmt::runtime(what), items_.load())));
  }
}

Deadline::Deadline(double seconds, std::function<void()> end)
    : thread_([seconds, end = std::move(end)](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any gone;
        PollingClock time;
        double waited = 0;
        while (waited < seconds && !stop.stop_requested()) {
          gone.wait_for(lock, stop, poll_interval, [] { return false; });
          waited += time.seconds_since_poll();
        }
        if (!stop.stop_requested()) end();
      }) {}

}  // namespace gradus::cli
