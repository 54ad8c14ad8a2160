/// When a wait ends, for any clock and any number of ticks: a time that does not fit into the clock's own ticks comes
/// never, or has come. For the timed locks.
#pragma once

#include <chrono>

namespace gradus {

/// The deadline in the clock's own ticks, and not before it. NaN has come.
template <class Clock, class Duration>
constexpr std::chrono::time_point<Clock, typename Clock::duration> lock_deadline(
    const std::chrono::time_point<Clock, Duration>& deadline) {
  using ticks = typename Clock::duration;
  using result = std::chrono::time_point<Clock, ticks>;
  using seconds = std::chrono::duration<double>;
  // In floating point nothing overflows. It rounds, so what is within a millionth of the end is taken for the end.
  const seconds at = deadline.time_since_epoch();
  if (!(at > seconds(ticks::min()) * (1 - 1e-6))) return result::min();
  if (at > seconds(ticks::max()) * (1 - 1e-6)) return result::max();
  return std::chrono::ceil<ticks>(deadline);
}

/// As long from now on.
template <class Rep, class Period>
std::chrono::steady_clock::time_point lock_deadline(const std::chrono::duration<Rep, Period>& patience) {
  using clock = std::chrono::steady_clock;
  const clock::time_point now = clock::now();
  const std::chrono::duration<double> wait = patience;
  if (!(wait > std::chrono::duration<double>::zero())) return now;
  if (wait > std::chrono::duration<double>(clock::time_point::max() - now) * (1 - 1e-6))
    return clock::time_point::max();
  return now + std::chrono::ceil<clock::duration>(patience);
}

}  // namespace gradus
