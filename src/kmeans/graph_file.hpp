// The variant option with which a user requests a picture of the task graph. The option's value is the name of the
// file. All variants with a task graph have this option.
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
