// Any bytes as a pattern of Life in the format plaintext, see fuzz_life.hpp.
#include "fuzz_life.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gradus::fuzz::parse(data, size, gradus::files::LifeFormat::plaintext);
  return 0;
}
