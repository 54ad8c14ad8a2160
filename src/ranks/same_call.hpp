// Comparison of the ranks' calls before they start a job. Different calls would deadlock, or mix two results.
#pragma once

#include <string>

#include "ranks/ranks.hpp"

namespace gradus::core {

/// Throws UsageError on all ranks, naming the first rank that differs, unless all ranks have the same `call` as rank 0.
/// `call` has less than 48 bytes. Must be the first collective operation of a call, and is the same single operation
/// for every call; afterwards, calls may use different operations. `way_out` states the remedy.
void require_same_call(Ranks& ranks, const std::string& call,
                       const std::string& way_out = "all ranks must make the same call");

/// Throws UsageError on all ranks, with the first line that differs, unless all ranks have the same lines as rank 0.
/// `own` contains the options of this rank, one per line.
void require_same_options(Ranks& ranks, const std::string& own);

}  // namespace gradus::core
