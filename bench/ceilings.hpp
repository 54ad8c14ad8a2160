// What this machine can do at most, measured on it: the yardstick beside every measured variant.
#pragma once

#include <string_view>

#include "gradus/execution.hpp"

namespace gradus::bench {

/// The best rates of a team of threads, together. A multiply-add is one operation.
struct Ceilings {
  double read_bytes_per_second = 0;  ///< summing an array several times as large as the last-level caches
  double copy_bytes_per_second = 0;  ///< read and written bytes of a copy of that size, past the caches
  double fma_f32_per_second = 0;
  double fma_f64_per_second = 0;
  double add_min_i32_per_second = 0;  ///< an addition and a minimum, together one operation
  double add_min_i64_per_second = 0;
  double add_min_f32_per_second = 0;
  double add_min_f64_per_second = 0;
  double madd_i16_per_second = 0;  ///< 16-bit products added into 32 bits, one operand from the first-level cache
};

/// The rates by their keys in JSON.
struct CeilingRate {
  std::string_view key;
  double Ceilings::*rate;
};
inline constexpr CeilingRate ceiling_rates[] = {
    {"read_bytes_per_second", &Ceilings::read_bytes_per_second},
    {"copy_bytes_per_second", &Ceilings::copy_bytes_per_second},
    {"fma_f32_per_second", &Ceilings::fma_f32_per_second},
    {"fma_f64_per_second", &Ceilings::fma_f64_per_second},
    {"add_min_i32_per_second", &Ceilings::add_min_i32_per_second},
    {"add_min_i64_per_second", &Ceilings::add_min_i64_per_second},
    {"add_min_f32_per_second", &Ceilings::add_min_f32_per_second},
    {"add_min_f64_per_second", &Ceilings::add_min_f64_per_second},
    {"madd_i16_per_second", &Ceilings::madd_i16_per_second},
};

/// Measures in about a quarter of a second, with the best instruction set of the machine; later calls with the same
/// arguments give the same answer at once. `threads` >= 1, as cpu::thread_count gives it.
Ceilings measure_ceilings(int threads, Pinning pinning);

}  // namespace gradus::bench
