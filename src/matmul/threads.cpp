#include "matmul/threads.hpp"

#include <algorithm>

#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"

namespace gradus::matmul_detail {

namespace {

double area(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

int threads_for(double work, int threads) {
  return cpu::threads_for(static_cast<std::int64_t>(std::min(work, 1e18)), threads);
}

/// A vector instruction computes many elements, so memory traffic also limits the speed of vector code.
double vector_work(const Shape& shape) {
  const double vector = 64.0 / shape.element_bytes;
  return shape.operations() / vector + static_cast<double>(shape.batches) *
                                           (area(shape.m, shape.k) + area(shape.k, shape.n) + area(shape.m, shape.n)) /
                                           4;
}

}  // namespace

bool is_worth_one_thread(const Shape& shape) { return threads_for(vector_work(shape), 2) == 1; }

int worth_threads(const Shape& shape, const Variant& variant, const Execution& execution) {
  const int threads = cpu::thread_count(execution);
  const auto ready = [&](int woken, double work) {
    constexpr double nanoseconds_an_operation = 0.4;
    return execution.threads == 0 ? cpu::ready_threads(woken, nanoseconds_an_operation * work) : woken;
  };
  if (variant.backend == core::Backend::sequential) return 1;
  if (variant.backend != core::Backend::simd)
    return ready(threads_for(shape.operations(), threads), shape.operations());
  const double work = vector_work(shape);
  const int several = threads_for(work, threads);
  if (several <= 1) return 1;
  // Waking twice as many threads takes hardly longer than waking `several` threads.
  return ready(std::min(2 * several, threads), work);
}

}  // namespace gradus::matmul_detail
