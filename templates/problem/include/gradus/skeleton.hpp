// Skeleton: the sum of many numbers. Replace this by a description of the problem in one or two sentences.
//
// Canonical result: the sum of all values modulo 2^64. Replace this by the exact definition of the result, as a formula
// that includes the rounding. The oracle, the variants and the tests follow from the definition.
#pragma once

#include <cstdint>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

struct SkeletonOptions {
  std::uint64_t start = 0;  ///< number that is added to the sum
};

struct SkeletonResult {
  std::uint64_t sum = 0;
  RunReport report;
};

/// Returns the sum of the values. Throws UsageError if the view is malformed, UnsupportedError unless the view is in
/// host memory, OutOfMemoryError if the job does not fit, and InterruptedError after a stop request.
GRADUS_EXPORT SkeletonResult skeleton(VectorView<const std::uint64_t> values, const SkeletonOptions& options = {},
                                      const Execution& execution = {});

struct SkeletonShape {
  std::int64_t values = 0;
};

/// Returns the memory that skeleton() needs in addition to its input.
GRADUS_EXPORT MemoryEstimate skeleton_memory(const SkeletonShape& shape, const SkeletonOptions& options = {},
                                             const Execution& execution = {});

}  // namespace gradus
