// Tracks a public call and the environment of its threads.
#pragma once

#include <cstdint>

#include "core/float_environment.hpp"

namespace gradus::cpu {

/// An object of this class exists while a public call runs in the calling thread. During the call, the calling thread
/// has the default floating-point environment, and so has each thread of the teams that start_team() starts. The
/// destructor restores the environment of the calling thread and of the OpenMP runtime's threads, because all of them
/// outlive the call. A nested call changes nothing.
class Call {
 public:
  Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  /// Gives `threads` threads of the OpenMP runtime the default environment. Threads that the runtime starts later
  /// inherit this environment from the calling thread. oneTBB's threads adopt it with each task.
  void take_team(int threads);

  /// Records that the caller did not choose the number of threads. The library may then use fewer threads at any time.
  void choose_threads() { chooses_threads_ = true; }
  bool chooses_threads() const { return chooses_threads_; }

  /// Returns the outermost call of the calling thread, or null.
  static Call* current();

 private:
  core::DefaultFloatEnvironment environment_;
  std::uint64_t number_ = 0;  ///< 0 for a nested call
  int threads_ = 1;
  bool chooses_threads_ = false;
  bool changed_ = false;  ///< true if at least one runtime thread did not have the default environment
};

}  // namespace gradus::cpu
