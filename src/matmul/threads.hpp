// Number of threads of a product.
#pragma once

#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// Returns the number of threads whose work takes longer than waking them.
int worth_threads(const Shape& shape, const Variant& variant, const Execution& execution);

}  // namespace gradus::matmul_detail
