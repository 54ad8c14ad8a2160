// The option table of LifeOptions; see core/options.hpp.
#pragma once

#include <string>

#include "core/options.hpp"
#include "gradus/life.hpp"

namespace gradus::core {

template <>
struct TextOf<LifeRule> {
  static std::string text(const LifeRule& rule) { return to_string(rule); }
  static LifeRule value(const std::string& text) { return life_rule(text); }
};

template <>
inline constexpr auto option_rows<LifeOptions> = std::to_array<Option>({
    option<&LifeOptions::rule>(
        {.name = "rule",
         .help = "rule, also as b3s23 or 23/3, as a name (HighLife), or with a topology (B3/S23:T64,48)",
         .placeholder = "B3/S23",
         .initial = "the file's rule, or B3/S23",
         .from_input = true}),
    option<&LifeOptions::boundary>({.name = "boundary",
                                    .help = "plane: unbounded; dead: cells beyond the grid stay dead",
                                    .initial = "the file's boundary, or plane; torus with a size",
                                    .from_input = true}),
    option<&LifeOptions::generations>({.name = "generations",
                                       .help = "number of generations, also as 2^30 or 1e6; the limit of a search for "
                                               "a stable pattern; a live view pauses there",
                                       .initial = "1; in a search 1000000",
                                       .letter = 'g',
                                       .least = 0}),
    option<&LifeOptions::left>({.name = "left", .help = "column of the first cell"}),
    option<&LifeOptions::top>({.name = "top", .help = "row of the first cell"}),
    option<&LifeOptions::hashes>({.name = "hashes", .help = "also compute a hash of each generation"}),
    option<&LifeOptions::until_stable>(
        {.name = "until_stable", .help = "stop at the first generation that repeats an earlier one, and report both"}),
});

}  // namespace gradus::core
