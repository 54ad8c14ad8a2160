// Durations of the named phases of a job, in the order of their first use.
#pragma once

#include <chrono>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/run_report.hpp"

namespace gradus::core {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline void add_phase(std::vector<Phase>& phases, std::string_view name, double seconds) {
  for (Phase& phase : phases)
    if (phase.name == name) {
      phase.seconds += seconds;
      return;
    }
  phases.push_back({std::string(name), seconds});
}

/// Limits progress reports to about twenty per second.
class RateLimiter {
 public:
  bool ready() {
    const Clock::time_point now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return false;
    last_ = now;
    return true;
  }

 private:
  Clock::time_point last_ = Clock::now();
};

/// A timer that adds the time between its construction and its destruction to a phase.
class PhaseTimer {
 public:
  PhaseTimer(std::vector<Phase>& phases, std::string_view name) : phases_(phases), name_(name) {}
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  ~PhaseTimer() {
    try {
      add_phase(phases_, name_, seconds_since(start_));
    } catch (const std::bad_alloc&) {  // ignored: the work is done, even if its duration cannot be recorded
    }
  }

 private:
  std::vector<Phase>& phases_;
  std::string_view name_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace gradus::core
