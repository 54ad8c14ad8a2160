// The ceilings of this machine: measured rates with which the rates of variants are compared.
#pragma once

#include <string_view>

#include "gradus/execution.hpp"

namespace gradus::bench {

/// The highest total rates of a team of threads. A multiply-add counts as one operation.
struct Ceilings {
  /// Bytes read while summing an array several times larger than the last-level caches.
  double read_bytes_per_second = 0;
  /// Bytes read and written while copying an array of the same size with non-temporal stores.
  double copy_bytes_per_second = 0;
  double fma_f32_per_second = 0;
  double fma_f64_per_second = 0;
  double add_min_i32_per_second = 0;  ///< an addition and a minimum together count as one operation
  double add_min_i64_per_second = 0;
  double add_min_f32_per_second = 0;
  double add_min_f64_per_second = 0;
  /// Products of 16-bit numbers added to 32-bit sums, with one operand from the L1 cache.
  double madd_i16_per_second = 0;
};

/// The rates, and their keys in JSON.
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

/// Measures for about a quarter of a second, with the best instruction set of the machine. Later calls with the same
/// arguments return the stored result. `threads` must be at least 1.
Ceilings measure_ceilings(int threads, Pinning pinning);

}  // namespace gradus::bench
