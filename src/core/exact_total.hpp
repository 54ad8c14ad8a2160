// The exact sum of many doubles with a known maximum magnitude. Most values are summed in three limbs (exact_sum.hpp),
// with three integer additions and no carry per value. An exact accumulator sums the tiny values.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "core/exact_accumulator.hpp"
#include "core/exact_sum.hpp"
#include "core/host_device.hpp"

namespace gradus::core {

/// Sums of limbs, without the bits of integer_magic.
struct TotalLimbs {
  std::int64_t high = 0;
  std::int64_t middle = 0;
  std::int64_t low = 0;

  GRADUS_HOST_DEVICE void merge(const TotalLimbs& other) {
    high += other.high;
    middle += other.middle;
    low += other.low;
  }
};

/// A grid of three limbs for values of magnitude below 2^exponent.
struct TotalGrid {
  Grid grid;
  double exact_from = 0;  ///< the three limbs hold every bit of values of at least this magnitude

  TotalGrid() = default;
  TotalGrid(int exponent, std::int64_t summands)
      : grid(exponent, summands), exact_from(std::ldexp(1.0, least_exponent() + 53)) {}

  /// Returns the exponent of the step of the low limb.
  int least_exponent() const { return grid.unit - grid.bits; }

  GRADUS_HOST_DEVICE bool holds(double value) const { return value == 0 || std::fabs(value) >= exact_from; }

  /// Adds a value. Requires holds(value).
  GRADUS_HOST_DEVICE void add(double value, TotalLimbs& limbs) const {
    const auto bits = [](double rounded) { return std::bit_cast<std::int64_t>(rounded) - integer_magic_bits; };
    const double on_grid = value * grid.to_high;
    const double high = on_grid + integer_magic;
    const double rest = (on_grid - (high - integer_magic)) * grid.to_low;
    const double middle = rest + integer_magic;
    limbs.high += bits(high);
    limbs.middle += bits(middle);
    limbs.low += bits((rest - (middle - integer_magic)) * grid.to_low + integer_magic);
  }

  /// Adds the sum of the limbs, times 2^exponent, to `sum`.
  void add_to(ExactAccumulator& sum, const TotalLimbs& limbs, int exponent) const {
    sum.add(limbs.high, least_exponent() + 2 * grid.bits + exponent);
    sum.add(limbs.middle, least_exponent() + grid.bits + exponent);
    sum.add(limbs.low, least_exponent() + exponent);
  }
};

struct ExactTotal {
  TotalLimbs limbs;
  ExactAccumulator small;

  void add(const TotalGrid& grid, double value) {
    if (grid.holds(value)) grid.add(value, limbs);
    else small.add(value);
  }
  void merge(const ExactTotal& other) {
    limbs.merge(other.limbs);
    small.merge(other.small);
  }
  /// Returns the sum of the limbs, times 2^exponent.
  ExactAccumulator sum(const TotalGrid& grid, int exponent = 0) const {
    ExactAccumulator all = small;
    grid.add_to(all, limbs, exponent);
    return all;
  }
};

}  // namespace gradus::core
