// Parses any bytes as a graph file of the format GRADUS_GRAPH_FORMAT. parse_graph() must return a graph in which every
// edge connects two of its vertices, or throw InputError. Edge lists are read with and without base, names and header
// line.

#include "fuzz_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "gradus/error.hpp"

namespace gradus::fuzz {

namespace {

void parse(const std::uint8_t* data, std::size_t size, const files::GraphReadOptions& options) {
  const auto format =
      std::ranges::find(files::graph_formats(), std::string_view(GRADUS_GRAPH_FORMAT), &files::GraphFormat::id);
  require(format != files::graph_formats().end());
  try {
    check(files::parse_graph(std::as_bytes(std::span(data, size)), "input", *format, options));
  } catch (const UsageError&) {
    require(!(*format)->is_list);  // only edge lists have this option
  } catch (const InputError&) {
    // expected for invalid input
  }
}

}  // namespace

}  // namespace gradus::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gradus::files::GraphReadOptions;
  using gradus::files::HeaderLine;
  for (const GraphReadOptions& options :
       {GraphReadOptions{}, GraphReadOptions{.base = 0}, GraphReadOptions{.base = 1, .header = HeaderLine::no},
        GraphReadOptions{.names = true, .header = HeaderLine::yes}})
    gradus::fuzz::parse(data, size, options);
  return 0;
}
