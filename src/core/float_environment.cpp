#include "core/float_environment.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gradus::core {

#if defined(__x86_64__)

namespace {

constexpr std::uint32_t default_vector_control = 0x1f80;
constexpr std::uint32_t vector_flags = 0x3f;  // sticky exception flags, which are not part of the control state
constexpr std::uint16_t default_x87_control = 0x37f;

std::uint16_t x87_control() {
  std::uint16_t word = 0;
  asm volatile("fnstcw %0" : "=m"(word));
  return word;
}

void set_x87_control(std::uint16_t word) {
  // Loads the word only if it differs from the present word, because loading is slow. First clears pending exceptions:
  // a pending exception would trap if the new word unmasked it.
  if (word == x87_control()) return;
  asm volatile("fnclex\n\tfldcw %0" : : "m"(word));
}

}  // namespace

FloatEnvironment FloatEnvironment::of_this_thread() {
  FloatEnvironment environment;
  environment.vector_control_ = _mm_getcsr();
  environment.x87_control_ = x87_control();
  return environment;
}

void FloatEnvironment::set_default() {
  _mm_setcsr(default_vector_control);
  set_x87_control(default_x87_control);
}

void FloatEnvironment::set() const {
  _mm_setcsr(vector_control_);
  set_x87_control(x87_control_);
}

bool FloatEnvironment::is_default() const {
  return (vector_control_ & ~vector_flags) == default_vector_control && x87_control_ == default_x87_control;
}

#else

FloatEnvironment FloatEnvironment::of_this_thread() {
  FloatEnvironment environment;
  std::fegetenv(&environment.environment_);
  return environment;
}

void FloatEnvironment::set_default() { std::fesetenv(FE_DFL_ENV); }
void FloatEnvironment::set() const { std::fesetenv(&environment_); }
bool FloatEnvironment::is_default() const { return false; }

#endif

}  // namespace gradus::core
