// The ceilings of this machine, as measured: the yardstick for every measured variant.
#pragma once

#include <string_view>

#include "gradus/execution.hpp"

namespace gradus::bench {

/// The best total rates of a thread team. A multiply-add is one operation.
struct Ceilings {
  double read_bytes_per_second = 0;  ///< sum of an array several times larger than the last-level caches
  double copy_bytes_per_second = 0;  ///< bytes read and written by a copy of that size, with non-temporal stores
  double fma_f32_per_second = 0;
  double fma_f64_per_second = 0;
  double add_min_i32_per_second = 0;  ///< an addition and a minimum count as one operation
  double add_min_i64_per_second = 0;
  double add_min_f32_per_second = 0;
  double add_min_f64_per_second = 0;
  double madd_i16_per_second = 0;  ///< 16-bit products added to 32-bit sums, one operand from the L1 cache
};

/// The rates and their keys in JSON.
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

/// Measures for about a quarter of a second with the machine's best instruction set. Later calls with the same
/// arguments return the cached result. `threads` must be at least 1, as from cpu::thread_count().
Ceilings measure_ceilings(int threads, Pinning pinning);

}  // namespace gradus::bench
