// The number of threads for a product.
#pragma once

#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// Returns the largest number of threads for which the work still takes longer than waking the threads.
int worth_threads(const Shape& shape, const Variant& variant, const Execution& execution);

/// Returns true if worth_threads() is 1 for simd_packed, however many threads there are.
bool is_worth_one_thread(const Shape& shape);

}  // namespace gradus::matmul_detail
