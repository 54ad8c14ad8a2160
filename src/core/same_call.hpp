// What ranks compare before they do a job together: different calls would wait for each other, or make a mixture of two
// results.
#pragma once

#include <concepts>
#include <string>

#include "core/ranks.hpp"

namespace gradus::core {

/// All of its bits.
std::string text_of(double number);

/// A line "name=value".
std::string call_line(const char* name, const std::string& value);
inline std::string call_line(const char* name, double value) { return call_line(name, text_of(value)); }
std::string call_line(const char* name, std::integral auto value) { return call_line(name, std::to_string(value)); }

/// `own`: what this rank was called with, in lines. UsageError on all ranks, with the first line that differs, unless
/// all of them have those of the first rank.
void require_same_call(Ranks& ranks, const std::string& own);

}  // namespace gradus::core
