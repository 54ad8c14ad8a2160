/// Deadlines of the timed locks, for any clock and duration type. A time beyond the range of the clock counts as
/// infinitely far in the future or in the past.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

namespace gradus {

namespace locks_detail {

/// Returns true if Period / Ticks is a valid std::ratio: its numerator and denominator must fit in 64 bits.
template <class Period, class Ticks>
constexpr bool has_ratio() {
  constexpr std::intmax_t most = std::numeric_limits<std::intmax_t>::max();
  constexpr std::intmax_t numerators = std::gcd(Period::num, Ticks::num);
  constexpr std::intmax_t denominators = std::gcd(Period::den, Ticks::den);
  return Period::num / numerators <= most / (Ticks::den / denominators) &&
         Period::den / denominators <= most / (Ticks::num / numerators);
}

/// Converts `time` to Ticks, rounding up. Precondition: the result is well within the range of Ticks.
/// Does not use std::chrono::ceil(), which multiplies before it divides. If neither tick length is a multiple of the
/// other one, the product could overflow.
template <class Ticks, class Rep, class Period>
constexpr Ticks ticks_of(const std::chrono::duration<Rep, Period>& time) {
  using seconds = std::chrono::duration<double>;
  using ticks_period = typename Ticks::period;
  using integer = std::intmax_t;
  constexpr integer most = std::numeric_limits<integer>::max();
  if constexpr (std::is_integral_v<Rep> && std::is_integral_v<typename Ticks::rep> && ticks_period::num == 1 &&
                Period::num <= most / Period::den) {
    if (std::cmp_less_equal(time.count(), most)) {
      // Splits the time into whole seconds and a remainder in units of 1 / Period::den.
      const auto count = static_cast<integer>(time.count());
      integer periods = count / Period::den;
      integer parts = count % Period::den;
      if (parts < 0) {
        parts += Period::den;
        --periods;
      }
      parts *= Period::num;
      const integer whole = periods * Period::num + parts / Period::den;
      parts %= Period::den;
      integer rest = 0;
      if constexpr (Period::den <= most / ticks_period::den)
        rest = (parts * ticks_period::den + Period::den - 1) / Period::den;
      else if (parts > 0)  // the remainder is less than a second, so the error of a double is less than a tick
        rest = static_cast<integer>(static_cast<double>(parts) / static_cast<double>(Period::den) *
                                    static_cast<double>(ticks_period::den)) +
               1;
      return Ticks(static_cast<typename Ticks::rep>(whole * ticks_period::den + rest));
    }
  }
  if constexpr (!std::is_integral_v<Rep> && has_ratio<Period, ticks_period>()) return std::chrono::ceil<Ticks>(time);
  else return std::chrono::ceil<Ticks>(seconds(time));
}

}  // namespace locks_detail

/// Returns the deadline in ticks of the clock, rounded up. A deadline of NaN counts as past.
template <class Clock, class Duration>
constexpr std::chrono::time_point<Clock, typename Clock::duration> lock_deadline(
    const std::chrono::time_point<Clock, Duration>& deadline) {
  using ticks = typename Clock::duration;
  using result = std::chrono::time_point<Clock, ticks>;
  using seconds = std::chrono::duration<double>;
  // Floating-point numbers do not overflow, but they are rounded. So a time within a millionth of a limit is treated as
  // the limit.
  const seconds at = deadline.time_since_epoch();
  if (!(at > seconds(ticks::min()) * (1 - 1e-6))) return result::min();
  if (at > seconds(ticks::max()) * (1 - 1e-6)) return result::max();
  return result(locks_detail::ticks_of<ticks>(deadline.time_since_epoch()));
}

/// Returns the deadline that is `patience` from now.
template <class Rep, class Period>
std::chrono::steady_clock::time_point lock_deadline(const std::chrono::duration<Rep, Period>& patience) {
  using clock = std::chrono::steady_clock;
  const clock::time_point now = clock::now();
  const std::chrono::duration<double> wait = patience;
  if (!(wait > std::chrono::duration<double>::zero())) return now;
  if (wait > std::chrono::duration<double>(clock::time_point::max() - now) * (1 - 1e-6))
    return clock::time_point::max();
  return now + locks_detail::ticks_of<clock::duration>(patience);
}

}  // namespace gradus
