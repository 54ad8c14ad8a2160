// Measures the error of a result: compares a sample of its elements with exact values.
#pragma once

#include <stop_token>
#include <vector>

#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// The elements of C that are compared: all, or a sample spread evenly over C.
template <class T>
class ErrorSample {
 public:
  ErrorSample() = default;
  /// Saves the old elements of C that the comparison needs. Must be constructed before the product overwrites C.
  explicit ErrorSample(const Problem<T>& problem);
  static std::uint64_t bytes(const Problem<T>& problem);
  /// Compares C with the exact result. Must be called after the product. Throws InterruptedError after a stop request.
  MatmulError measure(const Problem<T>& problem, int threads, const std::stop_token& stop) const;

 private:
  struct Place {
    std::int64_t batch, row, column;
  };
  static std::int64_t elements_of(const Problem<T>& problem);
  Place place_of(std::int64_t index, const Problem<T>& problem) const;

  std::int64_t elements_ = 0;
  std::vector<T> before_;  ///< elements of C before the product, if beta is not 0
};

}  // namespace gradus::matmul_detail
