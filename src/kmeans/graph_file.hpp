// The option of variants that run as a graph of tasks: the file to which they write it.
#pragma once

#include <string>

#include "gradus/execution.hpp"

namespace gradus::core {
struct OptionTable;
}

namespace gradus::kmeans_detail {

extern const core::OptionTable graph_options;

/// Returns the file in which the graph is wanted; empty: none.
std::string graph_file(const Execution& execution);

}  // namespace gradus::kmeans_detail
