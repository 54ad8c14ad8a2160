// Scales rows to unit length for the cosine metric, with the same steps on CPU and GPU.
//
// Squares of coordinates near 1e-165 would underflow, and squares of coordinates near 1e155 would overflow. So a row is
// first multiplied by a power of two, which brings its largest coordinate to a value between 1/2 and 1. The rounding of
// this product is negligible.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.hpp"

namespace gradus::kmeans_detail {

/// Multiplies by the power of two that brings `largest` to a value between 1/2 and 1. If `largest` is zero, multiplies
/// by 1.
class NearOne {
 public:
  GRADUS_HOST_DEVICE explicit NearOne(double largest) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    // For the smallest numbers, the power of two itself would overflow a double. Therefore, numbers are scaled in two
    // steps. The first step is exact.
    const int first = -exponent > 1000 ? 1000 : -exponent;
    first_ = std::ldexp(1.0, first);
    second_ = std::ldexp(1.0, -exponent - first);
  }
  GRADUS_HOST_DEVICE double operator()(double value) const { return value * first_ * second_; }

 private:
  double first_ = 1;
  double second_ = 1;
};

/// Scales a row to unit length and returns true. A row of zeros has no direction: in this case, leaves the row
/// unchanged and returns false.
template <class T>
GRADUS_HOST_DEVICE bool scale_to_unit_length(T* row, std::int64_t d) {
  double largest = 0;
  for (std::int64_t dim = 0; dim < d; ++dim) {
    const double size = std::fabs(static_cast<double>(row[dim]));
    // The loop does not use std::fmax(), because g++ 12 for 64-bit Arm cannot compile a reduction with it.
    if (size > largest) largest = size;
  }
  if (largest == 0) return false;
  const NearOne scale(largest);
  double squares = 0;
  for (std::int64_t dim = 0; dim < d; ++dim) {
    const double value = scale(static_cast<double>(row[dim]));
    squares = std::fma(value, value, squares);
  }
  const double length = std::sqrt(squares);
  for (std::int64_t dim = 0; dim < d; ++dim) row[dim] = static_cast<T>(scale(static_cast<double>(row[dim])) / length);
  return true;
}

}  // namespace gradus::kmeans_detail
