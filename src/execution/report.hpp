// The report of a public call. deliver() completes the report at the end of the call.
#pragma once

#include <vector>

#include "core/ladder.hpp"
#include "core/phases.hpp"
#include "gradus/execution.hpp"
#include "gradus/run_report.hpp"

namespace gradus::execution {

/// The start of a call, and the durations of its phases.
struct Timing {
  core::Clock::time_point start = core::Clock::now();
  std::vector<Phase> phases = {};
};

/// Returns 1 for a sequential variant, otherwise `threads`.
inline int threads_of(const core::VariantInfo& variant, int threads) {
  return variant.backend == core::Backend::sequential ? 1 : threads;
}

/// Completes the report except RunReport::rechecked. Records the duration of the call as the last phase, "total".
void deliver(RunReport& report, const core::VariantInfo& variant, const Execution& execution, int threads,
             Timing timing);

}  // namespace gradus::execution
