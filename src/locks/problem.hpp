// What all variants of locks share: a job of many threads that want one lock, and what is found out of it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/ladder.hpp"

namespace gradus::locks_detail {

/// How the threads of a job take the lock.
enum class Manner : std::uint8_t {
  lock,       ///< lock() and unlock()
  try_lock,   ///< try_lock() until it succeeds
  timed,      ///< try_lock_for() and try_lock_until() until they succeed
  two_locks,  ///< two locks by std::scoped_lock, half of the threads in the other order
  delays,     ///< lock() and unlock(), and the holder gives its processor away now and then, inside and before
  wait        ///< std::condition_variable_any: threads hand a turn around
};

struct Shape {
  std::int64_t sections = 0;
  Manner manner = Manner::lock;
};

/// Threads enter critical sections under one lock, which they want again and again, until enough were entered.
struct Problem {
  std::int64_t sections = 0;  ///< critical sections, by all threads together
  std::int64_t critical = 0;  ///< steps of work in each, on data that the lock guards
  std::int64_t outside = 0;   ///< steps of work of a thread between two of its own
  Manner manner = Manner::lock;
  bool times_waits = false;  ///< each wait for the lock; two looks at the clock take as long as a short section
  std::stop_token stop;

  Shape shape() const { return {.sections = sections, .manner = manner}; }
};

/// How often a wait took how long, to an eighth.
class Waits {
 public:
  void add(std::uint64_t nanoseconds) {
    ++counts_[bucket(nanoseconds)];
    if (nanoseconds > longest_) longest_ = nanoseconds;
  }
  void merge(const Waits& other) {
    for (std::size_t index = 0; index < counts_.size(); ++index) counts_[index] += other.counts_[index];
    if (other.longest_ > longest_) longest_ = other.longest_;
  }
  std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const std::uint64_t one : counts_) all += one;
    return all;
  }
  std::uint64_t longest() const { return longest_; }
  /// Nanoseconds that the share of all waits did not exceed; up to an eighth too many. 0 where there were none.
  std::uint64_t percentile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count()));
    std::uint64_t seen = 0;
    for (std::size_t index = 0; index < counts_.size(); ++index)
      if (seen += counts_[index]; seen > wanted) return end_of(index);
    return longest_;
  }

 private:
  // Eight buckets for each power of two; the first eight values have one each.
  static std::size_t bucket(std::uint64_t value) {
    if (value < 8) return static_cast<std::size_t>(value);
    const int power = std::bit_width(value) - 4;
    return static_cast<std::size_t>(8 * power) + static_cast<std::size_t>(value >> power);
  }
  std::uint64_t end_of(std::size_t index) const {
    if (index < 8) return index;
    const std::uint64_t power = index / 8 - 1;
    const std::uint64_t end = ((index - 8 * power + 1) << power) - 1;
    return end < longest_ ? end : longest_;
  }
  std::array<std::uint64_t, std::size_t{8} * 62> counts_{};
  std::uint64_t longest_ = 0;
};

struct Result {
  std::vector<std::int64_t> of_thread;  ///< critical sections of each thread
  std::int64_t counted = 0;   ///< by the guarded counter: the same as by the threads, where no update was lost
  std::int64_t overlaps = 0;  ///< sections in which another thread was seen
  std::int64_t again = 0;     ///< hand-offs to the thread that had let go
  std::int64_t near = 0;      ///< hand-offs within a node of the machine's memory, those included
  Waits waits;
  double seconds = 0;            ///< from the first section to the last
  double processor_seconds = 0;  ///< of all threads, meanwhile

  std::int64_t sections() const {
    std::int64_t all = 0;
    for (const std::int64_t one : of_thread) all += one;
    return all;
  }
  /// (sum of x)^2 / (n sum of x^2), of the threads' sections x: 1 where all had as many, 1/n where one had all.
  double jain() const {
    double sum = 0;
    double squares = 0;
    for (const std::int64_t one : of_thread) {
      sum += static_cast<double>(one);
      squares += static_cast<double>(one) * static_cast<double>(one);
    }
    return squares > 0 ? sum * sum / (static_cast<double>(of_thread.size()) * squares) : 1;
  }
};

/// What core/ladder.hpp wants to know of this room.
struct Room {
  static constexpr std::string_view name = "locks";
  using Shape = locks_detail::Shape;
  using Elements = core::NoElements;
  template <class>
  using Problem = locks_detail::Problem;
  template <class>
  using Result = locks_detail::Result;
  /// What a row says beside.
  struct RowFacts {
    bool excludes = true;    ///< others from the critical section
    bool in_order = false;   ///< who comes first is served first
    std::int64_t bytes = 0;  ///< of a lock; 0: it has none of its own
  };
};
using Variant = core::Variant<Room>;

}  // namespace gradus::locks_detail
