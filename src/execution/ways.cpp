#include "execution/ways.hpp"

namespace gradus::execution {

std::vector<Way> ways_to_run(const core::VariantInfo& variant, const std::vector<int>& threads) {
  std::vector<Way> ways;
  if (variant.backend == core::Backend::cuda) {
    for (const int block_size : {0, 32, 96, 1024}) {
      Way way;
      way.execution.threads = 1;
      way.execution.block_size = block_size;
      way.text = block_size == 0 ? "the variant's own block size" : "blocks of " + std::to_string(block_size);
      ways.push_back(std::move(way));
    }
    return ways;
  }
  for (const int count : threads) {
    Way way;
    way.execution.threads = count;
    way.text = std::to_string(count) + (count == 1 ? " thread" : " threads");
    ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace gradus::execution
