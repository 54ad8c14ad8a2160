// Any bytes as a list of edges: as it comes, with a base, with names, with a header line and without.
#include "fuzz_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gradus::io::GraphReadOptions;
  using gradus::io::HeaderLine;
  for (const GraphReadOptions& options :
       {GraphReadOptions{}, GraphReadOptions{.base = 0}, GraphReadOptions{.base = 1, .header = HeaderLine::no},
        GraphReadOptions{.names = true, .header = HeaderLine::yes}})
    gradus::fuzz::parse(data, size, gradus::io::GraphFormat::edge_list, options);
  return 0;
}
