#include "kmeans/graph_file.hpp"

#include "core/variant_options.hpp"

namespace gradus {

namespace {

struct GraphOptions {
  std::string file = {};
};

}  // namespace

template <>
inline constexpr auto core::option_rows<GraphOptions> = std::to_array<core::Option>({
    core::option<&GraphOptions::file>({.name = "dump_graph",
                                       .help = "write the graph of tasks (Graphviz)",
                                       .placeholder = "FILE.dot",
                                       .is_file = true}),
});

namespace kmeans_detail {

constinit const core::OptionTable graph_options = core::option_table<GraphOptions>;

std::string graph_file(const Execution& execution) { return core::variant_options<GraphOptions>(execution).file; }

}  // namespace kmeans_detail
}  // namespace gradus
