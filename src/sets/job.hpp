// The job of every set: the set is filled, then used by all threads at once, then checked. Only the use is timed. The
// keys are drawn and the set is constructed before the clock starts.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "core/phases.hpp"
#include "core/philox.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "sets/problem.hpp"

namespace gradus::sets_detail {

/// The number of bytes that the calling thread has allocated through CountingAllocators, minus the bytes it has freed.
inline constinit thread_local std::int64_t bytes_taken = 0;

/// A std::allocator that counts bytes. Counting costs one addition per call.
template <class T>
struct CountingAllocator {
  using value_type = T;
  CountingAllocator() = default;
  template <class Other>
  CountingAllocator(const CountingAllocator<Other>&) {}

  T* allocate(std::size_t count) {
    T* place = std::allocator<T>().allocate(count);
    bytes_taken += static_cast<std::int64_t>(count * sizeof(T));
    return place;
  }
  void deallocate(T* place, std::size_t count) noexcept {
    std::allocator<T>().deallocate(place, count);
    bytes_taken -= static_cast<std::int64_t>(count * sizeof(T));
  }
  friend bool operator==(CountingAllocator, CountingAllocator) { return true; }
};

/// A call that a thread will make. All calls are drawn before the clock starts.
struct PlannedCall {
  std::int32_t key;
  Call call;
};

/// Returns the keys [0, range) in random order. The first half is in the set initially. Because of the random order,
/// neighbours in the set are distant in memory, as in a set that has been used for a while.
inline Keys shuffled_keys(std::int64_t range, std::uint64_t seed) {
  Keys keys(static_cast<std::size_t>(range));
  std::iota(keys.begin(), keys.end(), 0);
  const core::Philox random(seed, 1);
  for (std::size_t left = keys.size(); left > 1; --left) std::swap(keys[left - 1], keys[random.below(left, left)]);
  return keys;
}

/// The part of the job that one thread does.
template <class Set>
class alignas(128) Worker {
 public:
  Worker(const Problem& problem, int thread, int threads)
      : problem_(problem), thread_(thread), operations_(cpu::share(problem.operations, thread, threads)) {}

  void plan() {
    const core::Philox random(problem_.seed, 2);
    calls_.resize(static_cast<std::size_t>(operations_.size()));
    for (std::size_t at = 0; at < calls_.size(); ++at) {
      const auto index = 2 * (static_cast<std::uint64_t>(operations_.begin) + at);
      const auto kind = static_cast<int>(random.below(index, 100));
      calls_[at].key = static_cast<std::int32_t>(random.below(index + 1, static_cast<std::uint64_t>(problem_.range)));
      calls_[at].call = kind < problem_.mix.contains                         ? Call::contains
                        : kind < problem_.mix.contains + problem_.mix.insert ? Call::insert
                                                                             : Call::erase;
    }
    if (problem_.records) history_.reserve(calls_.size());
  }

  /// Inserts this thread's share of the initial keys.
  void fill(Set& set, const Keys& keys, int threads) const {
    const cpu::Range own = cpu::share(problem_.range / 2, thread_, threads);
    for (std::int64_t at = own.begin; at < own.end; ++at) {
      if (at % 64 == 0 && problem_.stop.stop_requested()) return;
      set.insert(keys[static_cast<std::size_t>(at)]);
    }
  }

  void operate(Set& set, std::atomic<std::uint64_t>& clock) {
    begin_ = core::Clock::now();
    if (problem_.records) call_all<true>(set, clock);
    else call_all<false>(set, clock);
    end_ = core::Clock::now();
  }

  void add_to(Outcome& outcome) const {
    outcome.operations += called_;
    outcome.answered_yes += answered_yes_;
    outcome.added += added_;
    outcome.added_sum += added_sum_;
    outcome.history.insert(outcome.history.end(), history_.begin(), history_.end());
    outcome.peak_garbage_bytes = std::max(outcome.peak_garbage_bytes, peak_garbage_bytes_);
  }
  core::Clock::time_point begin() const { return begin_; }
  core::Clock::time_point end() const { return end_; }

 private:
  static constexpr std::int64_t between_looks = 1024;
  static constexpr std::int64_t between_looks_at_clock = 16;

  template <bool records>
  void call_all(Set& set, std::atomic<std::uint64_t>& clock) {
    for (const PlannedCall& plan : calls_) {
      if (called_ % between_looks == 0) {
        if (problem_.stop.stop_requested()) return;
        look_at_garbage(set);
      }
      if (problem_.most_seconds > 0 && called_ % between_looks_at_clock == 0 &&
          core::seconds_since(begin_) > problem_.most_seconds)
        break;
      ++called_;
      const std::int64_t key = plan.key;
      [[maybe_unused]] const std::uint64_t began = records ? clock.fetch_add(1) : 0;
      bool answer = false;
      if (plan.call == Call::contains) {
        answer = set.contains(key);
      } else if (plan.call == Call::insert) {
        answer = set.insert(key);
        added_ += answer;
        added_sum_ += answer ? key : 0;
      } else {
        answer = set.erase(key);
        added_ -= answer;
        added_sum_ -= answer ? key : 0;
      }
      answered_yes_ += answer;
      if constexpr (records) history_.push_back({key, began, clock.fetch_add(1), thread_, plan.call, answer});
    }
    look_at_garbage(set);
  }

  void look_at_garbage([[maybe_unused]] const Set& set) {
    if constexpr (requires { set.garbage_bytes(); })
      if (thread_ == 0) peak_garbage_bytes_ = std::max(peak_garbage_bytes_, set.garbage_bytes());
  }

  const Problem& problem_;
  int thread_;
  cpu::Range operations_;
  std::vector<PlannedCall> calls_;
  std::vector<Event> history_;
  std::int64_t called_ = 0;
  std::int64_t answered_yes_ = 0;
  std::int64_t added_ = 0;
  std::int64_t added_sum_ = 0;
  std::size_t peak_garbage_bytes_ = 0;
  core::Clock::time_point begin_;
  core::Clock::time_point end_;
};

/// Runs the whole job on a set of type Set. The keys of Set must be std::int64_t, and the allocator of Set must be a
/// CountingAllocator. `threads`: the number of threads; 0 means the number in `execution`.
template <class Set>
Outcome run_job(const Problem& problem, const Execution& execution, std::vector<Phase>& phases, bool is_ordered,
                int threads = 0) {
  if (threads == 0) threads = cpu::thread_count(execution);
  cpu::start_team(threads);
  const cpu::PinnedTeam pinned(threads, execution.pinning);
  Outcome outcome;
  outcome.is_ordered = is_ordered;
  Keys keys = shuffled_keys(problem.range, problem.seed);
  std::vector<std::unique_ptr<Worker<Set>>> workers(static_cast<std::size_t>(threads));
  std::atomic<std::uint64_t> clock{0};
  std::atomic<std::int64_t> bytes{-bytes_taken};  // the bytes after the construction are added below
  core::FirstFailure failure;
  auto set = std::make_unique<Set>();
  bytes.fetch_add(bytes_taken, std::memory_order_relaxed);
  const auto start = core::Clock::now();
  // Barriers separate filling and using the set.
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    std::unique_ptr<Worker<Set>>& own = workers[static_cast<std::size_t>(thread)];
    const std::int64_t bytes_before = bytes_taken;
    failure.run([&] {
      own = std::make_unique<Worker<Set>>(problem, thread, threads);
      own->plan();
      own->fill(*set, keys, threads);
    });
#pragma omp barrier
    if (!failure.happened()) failure.run([&] { own->operate(*set, clock); });
    bytes.fetch_add(bytes_taken - bytes_before, std::memory_order_relaxed);
  }
  failure.rethrow();
  core::honour_stop(problem.stop, "stopped while threads used a set");
  auto first = core::Clock::time_point::max();
  auto last = core::Clock::time_point::min();
  for (const auto& worker : workers) {
    worker->add_to(outcome);
    first = std::min(first, worker->begin());
    last = std::max(last, worker->end());
  }
  outcome.seconds = std::chrono::duration<double>(last - first).count();
  core::add_phase(phases, "fill", std::chrono::duration<double>(first - start).count());
  core::add_phase(phases, "operate", outcome.seconds);
  keys.resize(static_cast<std::size_t>(problem.range / 2));
  outcome.before = std::move(keys);
  for (const std::int64_t key : *set) outcome.after.push_back(key);
  outcome.size = set->size();
  const std::int64_t bytes_before = bytes_taken;
  {
    const core::PhaseTimer timer(phases, "destroy");
    set.reset();
  }
  outcome.leaked_bytes = bytes + bytes_taken - bytes_before;
  return outcome;
}

}  // namespace gradus::sets_detail
