// The option of the task-graph variants that names a file for a picture of the graph.
#pragma once

#include <string>

#include "gradus/execution.hpp"

namespace gradus::core {
struct OptionTable;
}

namespace gradus::kmeans_detail {

extern const core::OptionTable graph_options;

/// Returns the name of the requested file, or an empty string.
std::string graph_file(const Execution& execution);

}  // namespace gradus::kmeans_detail
