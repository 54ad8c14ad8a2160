// Declarations that the shortest-path files of the program share.
#pragma once

#include "cli/command.hpp"

namespace gradus::cli {

Generator road_grid_generator();
Generator random_graph_generator();

}  // namespace gradus::cli
