// The option table of shortest paths, one row per option. See core/options.hpp.
#pragma once

#include "core/options.hpp"
#include "gradus/shortest_paths.hpp"

namespace gradus::core {

template <>
inline constexpr auto option_rows<ShortestPathsOptions> = std::to_array<Option>({
    option<&ShortestPathsOptions::predecessors>({.name = "predecessors",
                                                 .help = "also find the last vertex but one of each shortest route"}),
    option<&ShortestPathsOptions::no_edge>({.name = "no_edge",
                                            .help = "another weight that stands for no edge, for example 0 or -1",
                                            .placeholder = "VALUE",
                                            .finite = false,
                                            .optional = true}),
    option<&ShortestPathsOptions::tile>(
        {.name = "tile",
         .help = "side of the tiles of variants that work in such; 0: the variant's own choice",
         .least = 0,
         .most = 0x1p20}),
    option<&ShortestPathsOptions::sources>({.name = "sources",
                                            .help = "find the routes from these vertices only",
                                            .placeholder = "A,B",
                                            .optional = true}),
    option<&ShortestPathsOptions::undirected>({.name = "undirected", .help = "each edge may be gone both ways"}),
    option<&ShortestPathsOptions::unweighted>({.name = "unweighted",
                                               .help = "each edge is of length 1, whatever its weight"}),
});

}  // namespace gradus::core
