// Any bytes as a DIMACS file.
#include "fuzz_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gradus::fuzz::parse(data, size, gradus::io::GraphFormat::dimacs);
  return 0;
}
