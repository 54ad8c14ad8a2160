// The job of every rung: threads that contend for one lock. Only the lock differs.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "gradus/locks/policy.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

/// A lock type that meets the standard's Lockable requirements.
template <class Lock>
concept Lockable = requires(Lock lock) {
  lock.lock();
  lock.unlock();
  { lock.try_lock() } -> std::convertible_to<bool>;
};
template <class Lock>
concept TimedLockable = Lockable<Lock> && requires(Lock lock, std::chrono::nanoseconds patience) {
  { lock.try_lock_for(patience) } -> std::convertible_to<bool>;
};

/// The data that the lock guards. The variables are relaxed atomics, so that a faulty lock causes no undefined
/// behaviour. (They compile like plain variables.) One variable is plain, so that the thread sanitizer can check the
/// lock.
struct alignas(lock_padding) Board {
  std::atomic<std::int64_t> entered{0};
  std::atomic<int> inside{-1};
  std::atomic<std::uint64_t> value{0};
  std::int64_t plain = 0;
};

inline std::uint64_t work(std::uint64_t value, std::int64_t steps) {
  for (std::int64_t step = 0; step < steps; ++step) value = value * 6364136223846793005U + 1442695040888963407U;
  return value;
}

/// The counters of one thread. Other threads read them only after the job.
struct alignas(lock_padding) Share {
  core::Clock::time_point begin;
  core::Clock::time_point end;
  double processor_seconds = 0;
  std::int64_t sections = 0;
  std::int64_t overlaps = 0;
  std::int64_t again = 0;
  std::int64_t near = 0;
  Waits waits;
};

/// The state that all threads of a job share.
template <class Lock>
struct Contest {
  const Problem& problem;
  Lock lock{};
  Board board{};
  Lock second{};  ///< the second lock of AcquireMode::two_locks
  std::condition_variable_any turn{};
  std::vector<unsigned> node_of;  ///< NUMA node of each thread
  std::atomic<bool> stopped{false};

  Contest(const Problem& the_problem, int threads) : problem(the_problem), node_of(static_cast<std::size_t>(threads)) {}

  bool is_over() const {
    return stopped.load(std::memory_order_relaxed) || board.entered.load(std::memory_order_relaxed) >= problem.sections;
  }

  template <bool excludes>
  void enter(int thread, Share& share) {
    constexpr auto relaxed = std::memory_order_relaxed;
    const int before = board.inside.load(relaxed);
    board.inside.store(thread, relaxed);
    const std::int64_t entered = board.entered.load(relaxed);
    const std::uint64_t value = work(board.value.load(relaxed), problem.critical);
    if (problem.mode == AcquireMode::delays && (entered + thread) % 8 == 0) std::this_thread::yield();
    board.value.store(value, relaxed);
    board.entered.store(entered + 1, relaxed);
    if constexpr (excludes) ++board.plain;
    share.overlaps += board.inside.load(relaxed) != thread;
    ++share.sections;
    share.again += before == thread;
    share.near += before >= 0 && node_of[static_cast<std::size_t>(before)] == node_of[static_cast<std::size_t>(thread)];
    if (entered % 1024 == 0 && problem.stop.stop_requested()) stopped.store(true, relaxed);
  }
};

/// Calls section() while the lock object is held. Returns the result of section(), which is true if the thread wants
/// another section.
template <class Lock>
struct Guard {
  template <class Section>
  static bool with(Lock& lock, const Section& section) {
    const std::scoped_lock guard(lock);
    return section();
  }
};

template <class Lock, bool excludes>
void take_part(Contest<Lock>& contest, int thread, int threads, Share& share) {
  const Problem& problem = contest.problem;
  std::uint64_t own_value = static_cast<std::uint64_t>(thread);
  const auto section = [&] {
    if (contest.is_over()) return false;
    contest.template enter<excludes>(thread, share);
    return true;
  };
  if (problem.times_waits) {
    using Clock = std::chrono::steady_clock;
    bool wants_more = true;
    while (wants_more) {
      const Clock::time_point start = Clock::now();
      wants_more = Guard<Lock>::with(contest.lock, [&] {
        const std::chrono::nanoseconds waited = Clock::now() - start;
        if (!section()) return false;
        share.waits.add(static_cast<std::uint64_t>(waited.count()));
        return true;
      });
      own_value = work(own_value, problem.outside);
    }
  } else if (problem.mode == AcquireMode::lock) {
    while (Guard<Lock>::with(contest.lock, section)) own_value = work(own_value, problem.outside);
  } else if (problem.mode == AcquireMode::delays) {
    for (std::int64_t round = 0; Guard<Lock>::with(contest.lock, section); ++round)
      if ((round + thread) % 5 == 0) std::this_thread::yield();
  } else if constexpr (Lockable<Lock>) {
    Lock& lock = contest.lock;
    switch (problem.mode) {
      case AcquireMode::try_lock: {
        for (bool wants_more = true; wants_more;) {
          const std::unique_lock guard(lock, std::try_to_lock);
          if (guard.owns_lock()) wants_more = section();
          else std::this_thread::yield();
        }
        break;
      }
      case AcquireMode::timed: {
        if constexpr (TimedLockable<Lock>) {
          constexpr std::chrono::microseconds patience{20};
          for (bool wants_more = true, by_duration = true; wants_more; by_duration = !by_duration) {
            std::unique_lock guard(lock, std::defer_lock);
            const bool has_it = by_duration ? guard.try_lock_for(patience)
                                            : guard.try_lock_until(std::chrono::system_clock::now() + patience);
            if (has_it) wants_more = section();
          }
        }
        break;
      }
      case AcquireMode::two_locks: {
        for (bool wants_more = true; wants_more;) {
          const std::scoped_lock both(thread % 2 == 0 ? lock : contest.second, thread % 2 == 0 ? contest.second : lock);
          wants_more = section();
        }
        break;
      }
      case AcquireMode::wait: {
        // A thread waits for its turn. After its section, it wakes the other threads.
        for (bool wants_more = true; wants_more;) {
          std::unique_lock guard(lock);
          contest.turn.wait(guard, [&] {
            return contest.is_over() || contest.board.entered.load(std::memory_order_relaxed) % threads == thread;
          });
          wants_more = section();
          contest.turn.notify_all();
        }
        break;
      }
      default: break;
    }
  }
  // Without this volatile write, the compiler would remove the work, because its result is not used.
  *const_cast<volatile std::uint64_t*>(&own_value) = own_value;
}

/// Returns the CPU time that the calling thread has used.
inline double processor_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

template <class Lock, bool excludes = true>
Result contend(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::start_team(cpu::thread_count(execution));
  const cpu::PinnedTeam team(threads, execution.pinning);
  Contest<Lock> contest(problem, threads);
  std::vector<Share> shares(static_cast<std::size_t>(threads));
  // All threads must exist at the same time, because they wait for each other. OpenMP may start fewer threads than
  // requested. The loops below would then run the parts of several threads one after another, so the job is refused.
  bool are_all_there = true;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    are_all_there = omp_get_num_threads() == threads;
    if (are_all_there) {
#pragma omp for schedule(static)
      for (int thread = 0; thread < threads; ++thread)
        contest.node_of[static_cast<std::size_t>(thread)] = lock_policy::memory_node();
#pragma omp for schedule(static)
      for (int thread = 0; thread < threads; ++thread) {
        Share& share = shares[static_cast<std::size_t>(thread)];
        const double processor = processor_seconds();
        share.begin = core::Clock::now();
        take_part<Lock, excludes>(contest, thread, threads, share);
        share.end = core::Clock::now();
        share.processor_seconds = processor_seconds() - processor;
      }
    }
  }
  if (!are_all_there) throw Error("the OpenMP runtime does not give " + std::to_string(threads) + " threads");
  Result result;
  core::honour_stop(problem.stop, "stopped while threads took turns under a lock");
  // Measures from the start of the first thread until the first thread finds that all sections are done. Other threads
  // may notice the end late, because they wait for a CPU.
  auto begin = core::Clock::time_point::max();
  auto end = core::Clock::time_point::max();
  for (const Share& share : shares) {
    begin = std::min(begin, share.begin);
    end = std::min(end, share.end);
    result.processor_seconds += share.processor_seconds;
    result.of_thread.push_back(share.sections);
    result.overlaps += share.overlaps;
    result.again += share.again;
    result.near += share.near;
    result.waits.merge(share.waits);
  }
  result.seconds = std::chrono::duration<double>(end - begin).count();
  core::add_phase(phases, "contend", result.seconds);
  result.counted = contest.board.entered.load(std::memory_order_relaxed);
  if (excludes && contest.board.plain != result.counted) ++result.overlaps;
  return result;
}

// Constants and functions for the rows of the table of variants.

inline constexpr core::Contract excludes_others{.kind = core::Contract::invariants, .of = "mutual exclusion"};

inline core::Support but_not_timed(const Shape& shape, const execution::Machine&) {
  return shape.mode == AcquireMode::timed ? core::Support::no("it has no try_lock_for()") : core::Support::yes();
}

inline core::Support only_plainly(const Shape& shape, const execution::Machine&) {
  if (shape.mode == AcquireMode::lock || shape.mode == AcquireMode::delays) return core::Support::yes();
  return core::Support::no("it is no object with lock(), try_lock() and unlock() that exclude each other");
}

}  // namespace gradus::locks_detail
