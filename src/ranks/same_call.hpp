// Compares the calls of all ranks before they start a job. Different calls would deadlock or mix two results.
#pragma once

#include <string>

#include "ranks/ranks.hpp"

namespace gradus::core {

/// Compares the `call` of each rank with the `call` of rank 0. If they differ, throws UsageError on all ranks and names
/// the first rank that differs. `call` has fewer than 48 bytes. `way_out` is the remedy that the message states. This
/// function must be the first collective operation of every call: it communicates in the same way for all calls,
/// whereas later operations may differ between calls.
void require_same_call(Ranks& ranks, const std::string& call,
                       const std::string& way_out = "all ranks must make the same call");

/// Compares the lines of each rank with the lines of rank 0. If they differ, throws UsageError on all ranks with the
/// first line that differs. `own` contains the options of this rank, one per line.
void require_same_options(Ranks& ranks, const std::string& own);

}  // namespace gradus::core
