// A job's part on a GPU: what matmul() does around a variant that works there.
#pragma once

#include <vector>

#include "matmul/gpu/operands.hpp"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

/// As variant.run() for a variant that works on a GPU: brings the matrices there, and C back.
template <class T>
void run_on_gpu(const Problem<T>& given, const There& there, const Variant& variant, const Execution& execution,
                std::vector<Phase>& phases);

/// beta C, for a C on a GPU, where there is nothing to be added to it.
template <class T>
void scale_on_gpu(const Problem<T>& given, const Execution& execution);

}  // namespace gradus::matmul_detail
