// The error of a result, measured: some of its elements beside the exact ones.
#pragma once

#include <stop_token>
#include <vector>

#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// The elements of C that will be compared: all of them, or so many spread evenly over it.
template <class T>
class ErrorSample {
 public:
  ErrorSample() = default;
  /// Before C is written.
  explicit ErrorSample(const Problem<T>& problem);
  /// Memory that it takes.
  static std::uint64_t bytes(const Problem<T>& problem);
  /// When it is. InterruptedError after a stop request.
  MatmulError measure(const Problem<T>& problem, int threads, const std::stop_token& stop) const;

 private:
  struct Place {
    std::int64_t batch, row, column;
  };
  static std::int64_t elements_of(const Problem<T>& problem);
  Place place_of(std::int64_t index, const Problem<T>& problem) const;

  std::int64_t elements_ = 0;
  std::vector<T> before_;  ///< what stood there, where beta is not 0
};

}  // namespace gradus::matmul_detail
