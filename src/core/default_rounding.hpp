// Arithmetic as IEEE 754 has it, whatever the caller's thread was set to: threads inherit the direction of rounding,
// and that denormal numbers count as zero, from the thread that starts them, and keep it.
#pragma once

#include <cfenv>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gradus::core {

/// For as long as it lives, in this thread: rounding to nearest, denormal numbers as they are. By each thread whose
/// results are promised to the bit.
class DefaultRounding {
 public:
#if defined(__x86_64__)
  DefaultRounding() : before_(_mm_getcsr()) {
    if ((before_ & control) != 0) _mm_setcsr(before_ & ~control);
  }
  ~DefaultRounding() {
    if ((before_ & control) != 0) _mm_setcsr((_mm_getcsr() & ~control) | (before_ & control));
  }
#else
  DefaultRounding() : before_(std::fegetround()) {
    if (before_ != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  }
  ~DefaultRounding() {
    if (before_ != FE_TONEAREST) std::fesetround(before_);
  }
#endif
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned int control = 0x8000U | 0x6000U | 0x0040U;  // flush to zero, direction, denormals are zero
  unsigned int before_;
#else
  int before_;
#endif
};

}  // namespace gradus::core
