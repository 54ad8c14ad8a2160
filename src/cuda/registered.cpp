#include "cuda/registered.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace gradus::cuda {

namespace {

/// Pins whole pages. Without a reading access of the GPU only, the driver refuses memory that the CPU maps as
/// read-only.
bool pin(std::uintptr_t begin, std::uintptr_t end) {
  int gpu = 0;
  int reads_only = 0;
  cudaGetDevice(&gpu);
  cudaDeviceGetAttribute(&reads_only, cudaDevAttrHostRegisterReadOnlySupported, gpu);
  constexpr unsigned int flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
  auto* const address = reinterpret_cast<void*>(begin);
  bool is_pinned =
      reads_only != 0 && cudaHostRegister(address, end - begin, flags | cudaHostRegisterReadOnly) == cudaSuccess;
  if (!is_pinned) is_pinned = cudaHostRegister(address, end - begin, flags) == cudaSuccess;
  cudaGetLastError();  // forgets a refusal
  return is_pinned;
}

/// The pages that objects of this process have pinned. A page cannot be pinned twice, so objects share pages. Lock the
/// mutex during all calls.
class PinnedPages {
 public:
  std::mutex mutex;

  /// Pins the pages, and returns the first addresses of their parts. Returns nothing if the driver refuses a part.
  std::vector<std::uintptr_t> take(std::uintptr_t begin, std::uintptr_t end) {
    std::vector<std::uintptr_t> taken;
    for (std::uintptr_t at = begin; at < end;) {
      const auto later = parts_.upper_bound(at);
      if (later != parts_.begin() && std::prev(later)->second.end > at) {
        auto& [first, part] = *std::prev(later);
        ++part.users;
        taken.push_back(first);
        at = part.end;
        continue;
      }
      const std::uintptr_t stop = later == parts_.end() ? end : std::min(end, later->first);
      if (!pin(at, stop)) {
        release(taken);
        return {};
      }
      parts_[at] = {stop, 1};
      taken.push_back(at);
      at = stop;
    }
    return taken;
  }

  void release(std::span<const std::uintptr_t> taken) {
    for (const std::uintptr_t first : taken) {
      const auto found = parts_.find(first);
      if (--found->second.users > 0) continue;
      if (cudaHostUnregister(reinterpret_cast<void*>(first)) != cudaSuccess) cudaGetLastError();
      parts_.erase(found);
    }
  }

  bool has_any_of(std::uintptr_t begin, std::uintptr_t end) const {
    const auto later = parts_.lower_bound(end);
    return later != parts_.begin() && std::prev(later)->second.end > begin;
  }

 private:
  struct Part {
    std::uintptr_t end;
    int users;
  };

  std::map<std::uintptr_t, Part> parts_;  ///< by first address
};

PinnedPages& pinned_pages() {
  // Never destroyed, because the driver may already be unloaded when static objects are destroyed.
  static PinnedPages* const pages = new PinnedPages;
  return *pages;
}

/// Returns the GPU's address of pinned memory, or null for other memory.
const unsigned char* address_on_gpu(const unsigned char* address) {
  cudaPointerAttributes found{};
  if (cudaPointerGetAttributes(&found, address) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  if (found.type != cudaMemoryTypeHost && found.type != cudaMemoryTypeManaged) return nullptr;
  return static_cast<const unsigned char*>(found.devicePointer);
}

}  // namespace

RegisteredMemory::RegisteredMemory(const void* data, std::size_t bytes)
    : data_(static_cast<const unsigned char*>(data)) {
  if (bytes == 0) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = address / page * page;
  const std::uintptr_t end = (address + bytes + page - 1) / page * page;
  const std::lock_guard lock(pinned_pages().mutex);
  if (!pinned_pages().has_any_of(begin, end) && use_pinned_memory(bytes)) return;
  parts_ = pinned_pages().take(begin, end);
  if (parts_.empty() || find_address()) return;
  pinned_pages().release(parts_);
  parts_.clear();
}

/// Uses memory that the caller has pinned. Returns false if the memory is not pinned.
bool RegisteredMemory::use_pinned_memory(std::size_t bytes) {
  const unsigned char* const first = address_on_gpu(data_);
  const unsigned char* const last = address_on_gpu(data_ + (bytes - 1));
  if (first == nullptr || last == nullptr || static_cast<std::size_t>(last - first) != bytes - 1) return false;
  on_gpu_ = first;
  return true;
}

/// Finds the address for kernels. Returns false if the parts have no common address.
bool RegisteredMemory::find_address() {
  std::optional<std::ptrdiff_t> distance;
  for (const std::uintptr_t part : parts_) {
    void* there = nullptr;
    if (cudaHostGetDevicePointer(&there, reinterpret_cast<void*>(part), 0) != cudaSuccess) {
      cudaGetLastError();
      return false;
    }
    const auto own = static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(there) - part);
    if (distance && *distance != own) return false;
    distance = own;
  }
  on_gpu_ = data_ + *distance;
  return true;
}

RegisteredMemory::~RegisteredMemory() {
  if (parts_.empty()) return;
  const std::lock_guard lock(pinned_pages().mutex);
  pinned_pages().release(parts_);
}

void RegisteredMemory::copy_to_gpu(void* to, std::size_t offset, std::size_t bytes, const Stream& stream) const {
  auto* target = static_cast<unsigned char*>(to);
  while (bytes > 0) {
    // One copy must not cross the border of two parts.
    const unsigned char* const from = data_ + offset;
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const auto later = std::ranges::upper_bound(parts_, address);
    const std::size_t count = later == parts_.end() ? bytes : std::min<std::size_t>(bytes, *later - address);
    check(cudaMemcpyAsync(target, from, count, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    target += count;
    offset += count;
    bytes -= count;
  }
}

}  // namespace gradus::cuda
