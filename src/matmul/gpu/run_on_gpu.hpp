// Runs a GPU variant: the steps of matmul() around the variant.
#pragma once

#include <vector>

#include "matmul/gpu/operands.hpp"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

/// Uploads the matrices, runs a GPU variant, and copies C back. Has the signature of variant.run() plus the variant.
template <class T>
void run_on_gpu(const Problem<T>& given, const OnGpu& there, const Variant& variant, const Execution& execution,
                std::vector<Phase>& phases);

/// Computes beta C for a C on a GPU, the result when there are no products to add.
template <class T>
void scale_on_gpu(const Problem<T>& given, const Execution& execution);

}  // namespace gradus::matmul_detail
