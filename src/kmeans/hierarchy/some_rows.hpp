// Copies of some of the rows, and of their weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stop_token>

#include "core/stop.hpp"
#include "gradus/array.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct SomeRows {
  Matrix<T> rows;
  Buffer<T> weights;  ///< empty if there are no weights
};

/// Copies the rows with these numbers, on several threads. Throws InterruptedError after a stop request.
template <class T>
SomeRows<T> some_rows(const PointRows<T>& from, VectorView<const T> weights, std::span<const std::int64_t> numbers,
                      int threads, const std::stop_token& stop) {
  constexpr std::int64_t block = 256;
  const std::int64_t count = std::ssize(numbers);
  SomeRows<T> some{Matrix<T>(count, from.columns()), Buffer<T>(weights.empty() ? 0 : count)};
#pragma omp parallel for num_threads(threads) schedule(static) if (count > block)
  for (std::int64_t first = 0; first < count; first += block) {
    if (stop.stop_requested()) continue;
    for (std::int64_t index = first; index < std::min(first + block, count); ++index) {
      const std::int64_t row = numbers[static_cast<std::size_t>(index)];
      from.copy(row, 1, some.rows.row(index));
      if (!weights.empty()) some.weights[index] = weights[row];
    }
  }
  core::honour_stop(stop, "stopped while copying rows");
  return some;
}

}  // namespace gradus::kmeans_detail
