// Any bytes as a Matrix Market file.
#include "fuzz_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gradus::fuzz::parse(data, size, gradus::io::GraphFormat::matrix_market);
  return 0;
}
