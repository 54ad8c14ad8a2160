#include "cuda/pinned.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

#include "cuda/sizes.hpp"

namespace gradus::cuda {

namespace {

// Blocks consist of whole pages, because a page cannot be pinned twice. Their sizes are powers of two, so that a later
// job can often reuse the blocks of an earlier job.
constexpr std::uint64_t least_bytes = 65536;

/// Pinned memory that no job currently uses.
struct Store {
  static constexpr std::size_t most = 64;
  static constexpr std::uint64_t most_bytes = staging_bytes + staging_bytes / 16;

  std::mutex mutex;
  std::vector<Buffer<unsigned char>> idle;
  std::uint64_t idle_bytes = 0;

  Store() { idle.reserve(most); }

  Buffer<unsigned char> take(std::int64_t bytes) {
    const std::lock_guard lock(mutex);
    const auto found = std::ranges::find(idle, bytes, &Buffer<unsigned char>::size);
    if (found == idle.end()) return {};
    std::swap(*found, idle.back());
    Buffer<unsigned char> memory = std::move(idle.back());
    idle.pop_back();
    idle_bytes -= static_cast<std::uint64_t>(bytes);
    return memory;
  }

  /// Keeps the memory for later jobs if there is room. Returns true if the memory was kept.
  bool keep(Buffer<unsigned char>& memory) {
    const std::lock_guard lock(mutex);
    const auto bytes = static_cast<std::uint64_t>(memory.size());
    if (idle.size() == most || bytes > most_bytes - idle_bytes) return false;
    idle.push_back(std::move(memory));
    idle_bytes += bytes;
    return true;
  }
};

Store& store() {
  // Never destroyed, because the driver may already be unloaded when static objects are destroyed.
  static Store* const the_store = new Store;
  return *the_store;
}

}  // namespace

BorrowedMemory::BorrowedMemory(std::size_t bytes) {
  if (bytes == 0) return;
  const auto size = static_cast<std::int64_t>(std::bit_ceil(std::max<std::uint64_t>(least_bytes, bytes)));
  memory_ = store().take(size);
  if (memory_.data()) return;
  memory_ = Buffer<unsigned char>(size);
  constexpr unsigned int flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
  if (cudaHostRegister(memory_.data(), static_cast<std::size_t>(size), flags) != cudaSuccess) cudaGetLastError();
}

void* BorrowedMemory::on_gpu() {
  void* address = nullptr;
  if (cudaHostGetDevicePointer(&address, memory_.data(), 0) == cudaSuccess) return address;
  cudaGetLastError();
  return nullptr;
}

BorrowedMemory::~BorrowedMemory() {
  if (!memory_.data() || store().keep(memory_)) return;
  if (cudaHostUnregister(memory_.data()) != cudaSuccess) cudaGetLastError();
}

}  // namespace gradus::cuda
