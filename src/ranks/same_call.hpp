// What ranks compare before they do a job together: different calls would wait for each other, or make a mixture of two
// results.
#pragma once

#include <string>

#include "ranks/ranks.hpp"

namespace gradus::core {

/// UsageError on all ranks, with the first of them that differs, unless all have the `call` of the first one: a name of
/// less than 48 bytes. It comes before whatever else they meet for, and is one meeting that has the same form whatever
/// the calls are: from there on they may meet in different ways. `way_out`: what would be right.
void require_same_call(Ranks& ranks, const std::string& call,
                       const std::string& way_out = "all ranks must make the same call");

/// `own`: what this rank was called with, in lines. UsageError on all ranks, with the first line that differs, unless
/// all of them have those of the first rank.
void require_same_options(Ranks& ranks, const std::string& own);

}  // namespace gradus::core
