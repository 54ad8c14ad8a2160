// The floating-point environment of a thread: what decides, besides the operands, which bits an operation gives.
#pragma once

#include <cfenv>
#include <cstdint>

namespace gradus::core {

/// The control state of one thread: direction of rounding, treatment of denormal numbers, precision, and which
/// exceptions trap. A thread inherits it from the thread that starts it and keeps it. Libraries built with -ffast-math
/// change it when they are loaded.
class FloatEnvironment {
 public:
  /// Returns the calling thread's environment.
  static FloatEnvironment of_this_thread();
  /// Sets the calling thread's environment to the default of IEEE 754: rounding to nearest, denormal numbers, no traps.
  static void set_default();

  /// Sets the calling thread's environment to this one.
  void set() const;
  /// Returns true if operations give the bits of the default environment and nothing traps. Where the architecture's
  /// registers are not known to this code, returns false.
  bool is_default() const;

 private:
#if defined(__x86_64__)
  std::uint32_t vector_control_ = 0;  ///< MXCSR
  std::uint16_t x87_control_ = 0;     ///< of long double
#else
  std::fenv_t environment_{};
#endif
};

/// Gives the calling thread the default environment for the life of the object, then the former one again.
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
