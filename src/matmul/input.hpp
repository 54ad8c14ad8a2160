// Provides A and B in the element type and in the memory from which products read them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <type_traits>

#include "core/stop.hpp"
#include "execution/request.hpp"
#include "matmul/views.hpp"

namespace gradus::matmul_detail {

/// Calls visit(index) for every index from 0 to count - 1. Throws InterruptedError after a stop request.
template <class Visit>
void for_stretches(std::int64_t count, const std::stop_token& stop, std::string_view message, const Visit& visit) {
  for (std::int64_t first = 0; first < count; first += core::operations_between_polls) {
    core::honour_stop(stop, message);
    const std::int64_t end = std::min(first + core::operations_between_polls, count);
    for (std::int64_t index = first; index < end; ++index) visit(index);
  }
}

/// The matrix that a product reads as A or B: the caller's matrix or, if the caller's floats must be converted, a copy
/// in double.
template <class T, class From>
class Input {
  static constexpr bool is_copied = !std::is_same_v<T, From>;

 public:
  Input(MatmulView<const From> given, const char* what) : given_(given) {
    check_input(given, what);
    if constexpr (is_copied) {
      execution::check_reachable(given.place(), what, false, 0);
      execution::check_size({matrices(), given.rows(), given.columns(), static_cast<std::int64_t>(sizeof(T))}, what);
    }
  }

  MatmulView<const From> given() const { return given_; }
  /// Returns the view. If a copy is needed, the view's address is null until copy() has been called.
  MatmulView<const T> view() const {
    if constexpr (is_copied)
      return MatmulView<const T>(copy_.data(), given_.rows(), given_.columns(), given_.columns(), 1)
          .batch(given_.batches(), matrices() == 1 ? 0 : given_.rows() * given_.columns());
    else return given_;
  }
  std::uint64_t bytes() const {
    return is_copied ? static_cast<std::uint64_t>(matrices() * given_.rows() * given_.columns()) * sizeof(T) : 0;
  }
  void copy(const Execution& execution) {
    if constexpr (is_copied) {
      copy_ = Matrix<T>(matrices() * given_.rows(), given_.columns());
      for (std::int64_t matrix = 0; matrix < matrices(); ++matrix)
        for (std::int64_t row = 0; row < given_.rows(); ++row)
          for_stretches(given_.columns(), execution.stop, "stopped while widening the input", [&](std::int64_t column) {
            copy_(matrix * given_.rows() + row, column) = given_(row, column, matrix);
          });
    }
  }

 private:
  std::int64_t matrices() const {
    return given_.batch_stride() == 0 ? std::min<std::int64_t>(given_.batches(), 1) : given_.batches();
  }

  MatmulView<const From> given_;
  Matrix<T> copy_;
};

}  // namespace gradus::matmul_detail
