// Runs a GPU variant, with the transfers before and after it.
#pragma once

#include <vector>

#include "matmul/gpu/operands.hpp"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

/// Uploads the matrices, runs a GPU variant, and copies C back. Takes the variant and the parameters of Variant::run().
template <class T>
void run_on_gpu(const Problem<T>& given, const OnGpu& there, const Variant& variant, const Execution& execution,
                std::vector<Phase>& phases);

/// Computes beta C for a matrix C on a GPU. This is the result if there are no products to add.
template <class T>
void scale_on_gpu(const Problem<T>& given, const Execution& execution);

}  // namespace gradus::matmul_detail
