// The shape of a launch.
#pragma once

#include <cstdint>
#include <string>

#include "gradus/error.hpp"
#include "gradus/execution.hpp"

namespace gradus::cuda {

/// Threads of a block: Execution::block_size, or the variant's own choice. UsageError where it is no multiple of 32
/// from 32 to 1024.
inline int block_threads(const Execution& execution, int preferred) {
  const int threads = execution.block_size > 0 ? execution.block_size : preferred;
  if (threads < 32 || threads > 1024 || threads % 32 != 0)
    throw UsageError("the block size must be a multiple of 32 from 32 to 1024, not " + std::to_string(threads));
  return threads;
}

/// Blocks of `threads` for `count` elements, one thread each.
inline unsigned int blocks_for(std::int64_t count, int threads) {
  return static_cast<unsigned int>((count + threads - 1) / threads);
}

}  // namespace gradus::cuda
