// The floating-point environment of a thread. The bits of a result depend on the operands and on this environment.
#pragma once

#include <cfenv>
#include <cstdint>

namespace gradus::core {

/// The control state of one thread: rounding direction, treatment of denormals, precision, and which exceptions trap. A
/// new thread inherits the state of the thread that starts it. Libraries built with -ffast-math change the state when
/// they are loaded.
class FloatEnvironment {
 public:
  static FloatEnvironment of_this_thread();
  /// Sets the calling thread's environment to the IEEE 754 default: round to nearest, keep denormals, no traps.
  static void set_default();

  void set() const;
  /// Returns true if operations give the same bits as in the default environment and nothing traps. Returns false on
  /// architectures whose registers this code does not know.
  bool is_default() const;

 private:
#if defined(__x86_64__)
  std::uint32_t vector_control_ = 0;  ///< MXCSR
  std::uint16_t x87_control_ = 0;     ///< control word of the x87 unit (long double)
#else
  std::fenv_t environment_{};
#endif
};

/// Sets the default environment for the calling thread, and restores the previous one on destruction.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() : before_(FloatEnvironment::of_this_thread()) {
    if (!before_.is_default()) FloatEnvironment::set_default();
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;
  ~DefaultFloatEnvironment() { before_.set(); }

  const FloatEnvironment& before() const { return before_; }

 private:
  FloatEnvironment before_;
};

}  // namespace gradus::core
