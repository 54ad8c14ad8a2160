// Types that all variants of locks share: a job of many threads that contend for one lock, and its result.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/ladder.hpp"

namespace gradus::locks_detail {

/// The way the threads of a job acquire the lock.
enum class AcquireMode : std::uint8_t {
  lock,       ///< lock() and unlock()
  try_lock,   ///< try_lock() until it succeeds
  timed,      ///< try_lock_for() and try_lock_until() until they succeed
  two_locks,  ///< std::scoped_lock on two locks; half of the threads name the locks in reverse order
  delays,     ///< lock() and unlock(); a thread sometimes yields its CPU before a section and inside it
  wait        ///< std::condition_variable_any, by which threads take turns
};

struct Shape {
  std::int64_t sections = 0;
  AcquireMode mode = AcquireMode::lock;
};

/// A job in which threads enter critical sections under one lock, `sections` times in total.
struct Problem {
  std::int64_t sections = 0;  ///< number of critical sections of all threads together
  std::int64_t critical = 0;  ///< number of steps of work in a section, on data that the lock guards
  std::int64_t outside = 0;   ///< number of steps of work that a thread does between two sections
  AcquireMode mode = AcquireMode::lock;
  bool times_waits = false;  ///< true if each wait is measured; a measurement takes as long as a short section
  std::stop_token stop;

  Shape shape() const { return {.sections = sections, .mode = mode}; }
};

/// A histogram of waiting times. The width of a bucket is at most one eighth of the smallest time in the bucket, except
/// that times below 8 have buckets of width 1.
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
  /// Returns the time in nanoseconds that the given share of the waits did not exceed. The result may be up to one
  /// eighth too high. Returns 0 if there are no waits.
  std::uint64_t percentile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count()));
    std::uint64_t seen = 0;
    for (std::size_t index = 0; index < counts_.size(); ++index)
      if (seen += counts_[index]; seen > wanted) return end_of(index);
    return longest_;
  }

 private:
  // Eight buckets divide the values from one power of two to the next. Each value below eight has a separate bucket.
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
  std::vector<std::int64_t> of_thread;  ///< for each thread: number of its critical sections
  std::int64_t counted = 0;   ///< final value of the guarded counter; less than sections() if updates were lost
  std::int64_t overlaps = 0;  ///< number of sections in which a thread saw another thread inside
  std::int64_t again = 0;     ///< number of hand-offs to the thread that released the lock
  std::int64_t near = 0;      ///< number of hand-offs within a NUMA node, including `again`
  Waits waits;
  double seconds = 0;            ///< duration from the first section to the last
  double processor_seconds = 0;  ///< CPU time of all threads during `seconds`

  std::int64_t sections() const {
    std::int64_t all = 0;
    for (const std::int64_t one : of_thread) all += one;
    return all;
  }
  /// Returns Jain's fairness index, (sum of x)^2 / (n sum of x^2), where x are the numbers of sections of the n
  /// threads. The index is 1 if all threads have the same number, and 1/n if one thread has all sections.
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

/// The interface of this room for core/ladder.hpp.
struct Room {
  static constexpr std::string_view name = "locks";
  using Shape = locks_detail::Shape;
  using Elements = core::NoElements;
  template <class>
  using Problem = locks_detail::Problem;
  template <class>
  using Result = locks_detail::Result;
  /// Additional fields of a row of the table of variants.
  struct RowFacts {
    bool excludes = true;    ///< true if the lock admits only one thread at a time
    bool in_order = false;   ///< true if threads are served in order of arrival
    std::int64_t bytes = 0;  ///< size of a lock; 0 for a lock that is not an object
  };
};
using Variant = core::Variant<Room>;

}  // namespace gradus::locks_detail
