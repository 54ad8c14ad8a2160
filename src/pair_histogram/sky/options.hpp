// The option table of pair counts, one row per option. See core/options.hpp.
#pragma once

#include "core/options.hpp"
#include "gradus/pair_histogram_counts.hpp"

namespace gradus::core {

template <>
inline constexpr auto option_rows<PairCountsOptions> = std::to_array<Option>({
    option<&PairCountsOptions::kind>({.name = "kind",
                                      .help = "bins: rp_pi across and along the line of sight, s_mu by separation and "
                                              "cosine to the line of sight, theta by angle on the sky"}),
    option<&PairCountsOptions::edges>({.name = "edges",
                                       .help = "the increasing edges of the bins of r_p, s or theta (in degrees)",
                                       .placeholder = "FILE",
                                       .is_file = true,
                                       .optional = true}),
    option<&PairCountsOptions::second_edges>({.name = "second_edges",
                                              .help = "the increasing edges of the bins of pi or mu",
                                              .placeholder = "FILE",
                                              .is_file = true,
                                              .optional = true}),
    option<&PairCountsOptions::line_of_sight>({.name = "line_of_sight",
                                               .help = "axis along which all pairs are seen, or midpoint: each pair is "
                                                       "seen from the origin, through its midpoint",
                                               .initial = "z in a box, otherwise midpoint",
                                               .from_input = true}),
    option<&PairCountsOptions::box>(
        {.name = "box", .help = "lengths of a periodic box", .placeholder = "X,Y,Z", .optional = true}),
});

}  // namespace gradus::core
