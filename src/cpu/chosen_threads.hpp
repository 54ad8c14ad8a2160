// How many threads a job takes where nobody says: as many as pay.
#pragma once

#include <algorithm>

#include "cpu/threads.hpp"
#include "gradus/execution.hpp"

namespace gradus::cpu {

/// As many of all threads as pay, for work between two barriers that takes one of them so long. A team whose cores are
/// busy with something else waits for some milliseconds at each barrier, until the last thread is given a core again:
/// for short work that is many times the work.
inline int chosen_threads(double nanoseconds, const Execution& execution) {
  constexpr double worth_a_thread = 128e3;  // some ten times what it costs to set it going and wait for it
  constexpr double is_short = 20e6;
  const int all = thread_count(execution);
  const double worth = nanoseconds / worth_a_thread;
  const int threads = worth < all ? std::max(1, static_cast<int>(worth)) : all;
  return nanoseconds < is_short ? threads_with_processor(threads) : threads;
}

}  // namespace gradus::cpu
