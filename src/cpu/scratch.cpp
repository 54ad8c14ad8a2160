#include "cpu/scratch.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "cpu/memory.hpp"
#include "gradus/error.hpp"

namespace gradus::cpu {

namespace {

struct Block {
  void* data;
  std::size_t bytes;
};

/// Blocks that no job currently uses. The most recently used block is the last.
struct Store {
  std::mutex mutex;
  std::vector<Block> idle;
  std::size_t bytes = 0;
};

Store& store() {
  // Never destroyed, because a job may still run while the process exits.
  static Store* const the_store = new Store;
  return *the_store;
}

/// The largest number of idle blocks. Searching the blocks must not take longer than a small job.
constexpr std::size_t most_blocks = 32;
constexpr std::size_t large_page = std::size_t{2} << 20;

Block allocate(std::size_t bytes) {
  // Small blocks are a quarter larger than requested, so that a slightly larger job can reuse them.
  const bool large = bytes >= large_page;
  const std::size_t alignment = large ? large_page : 4096;
  const std::size_t rounded = ((large ? bytes : bytes + bytes / 4) + alignment - 1) / alignment * alignment;
  void* const data = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (data == nullptr) throw OutOfMemoryError("cannot allocate " + std::to_string(bytes) + " bytes: out of memory");
  if (large) prefer_large_pages(data, rounded);
  return {data, rounded};
}

}  // namespace

Scratch::Scratch(std::size_t bytes) {
  if (bytes == 0) return;
  Block block{nullptr, 0};
  // Does not wait for the lock. In a forked child, the lock may be held by a thread that does not exist there.
  if (const std::unique_lock lock(store().mutex, std::try_to_lock); lock) {
    std::vector<Block>& idle = store().idle;
    auto best = idle.end();
    for (auto one = idle.begin(); one != idle.end(); ++one)
      if (one->bytes >= bytes && (best == idle.end() || one->bytes < best->bytes)) best = one;
    if (best != idle.end()) {
      block = *best;
      store().bytes -= block.bytes;
      idle.erase(best);
    }
  }
  if (block.data == nullptr) block = allocate(bytes);
  data_ = block.data;
  bytes_ = block.bytes;
}

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  const std::unique_lock lock(store().mutex, std::try_to_lock);
  if (!lock || bytes_ > kept) {
    std::free(data_);
    return;
  }
  std::vector<Block>& idle = store().idle;
  while (!idle.empty() && (store().bytes + bytes_ > kept || idle.size() >= most_blocks)) {
    store().bytes -= idle.front().bytes;
    std::free(idle.front().data);
    idle.erase(idle.begin());
  }
  try {
    idle.push_back({data_, bytes_});
    store().bytes += bytes_;
  } catch (const std::bad_alloc&) {
    std::free(data_);
  }
}

}  // namespace gradus::cpu
