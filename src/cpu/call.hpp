// The threads of a public call, from its beginning to its end.
#pragma once

#include <cstdint>

#include "core/float_environment.hpp"

namespace gradus::cpu {

/// Exists while a public call runs in the calling thread. This thread, and each thread of the teams that start_team()
/// starts meanwhile, has the default floating-point environment. In the end the calling thread and the OpenMP runtime's
/// threads, which outlive the call, have theirs again. A call within a call changes nothing.
class Call {
 public:
  Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  /// Gives `threads` threads of the OpenMP runtime the default environment. The runtime's later threads inherit it from
  /// the calling thread, and oneTBB's take it over with each task.
  void take_team(int threads);

  /// The caller left the number of threads to the library, which may use fewer at any time.
  void choose_threads() { chooses_threads_ = true; }
  bool chooses_threads() const { return chooses_threads_; }

  /// The outermost call of the calling thread, or null.
  static Call* current();

 private:
  core::DefaultFloatEnvironment environment_;
  std::uint64_t number_ = 0;  ///< 0: within another call
  int threads_ = 1;
  bool chooses_threads_ = false;
  bool changed_ = false;  ///< at least one thread of the runtime had another environment
};

}  // namespace gradus::cpu
