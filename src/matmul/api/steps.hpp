// Steps that the public calls share.
#pragma once

#include "execution/request.hpp"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

/// Throws UsageError or UnsupportedError if products do not support the options for elements of this size.
void check(const MatmulOptions& options, int element_bytes);

/// Returns the accuracy of the variant that `execution` names, or the requested accuracy if it names none. Throws
/// UsageError if the two accuracies contradict each other.
MatmulAccuracy wanted_accuracy(const MatmulOptions& options, const Execution& execution);

/// Returns the variant that `execution` names, or the best one for the shape and this machine.
inline const Variant& choose(const Shape& shape, const Execution& execution) {
  return execution::choose(variants(), choose, shape, execution, Room::name);
}

}  // namespace gradus::matmul_detail
