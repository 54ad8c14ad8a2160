// Memory for data whose size is not known before it is read.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "gradus/error.hpp"

namespace gradus::files {

/// Numbers in memory pages that contain nothing else. When the block grows, the system remaps these pages and does not
/// copy them. So a table of unknown size never occupies memory twice.
template <class T>
class GrowingBlock {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingBlock() = default;
  GrowingBlock(const GrowingBlock&) = delete;
  GrowingBlock& operator=(const GrowingBlock&) = delete;
  ~GrowingBlock() {
    if (data_) ::munmap(data_, capacity_ * sizeof(T));
  }

  T* room(std::size_t count) {
    if (capacity_ - size_ < count) resize(std::max(size_ + count, capacity_ + capacity_ / 2));
    return data_ + size_;
  }
  void add(std::size_t count) { size_ += count; }
  void trim() { resize(std::max<std::size_t>(size_, 1)); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void resize(std::size_t capacity) {
    constexpr std::size_t page = 4096;
    const std::size_t bytes = (capacity * sizeof(T) + page - 1) / page * page;
    void* const moved = data_ ? ::mremap(data_, capacity_ * sizeof(T), bytes, MREMAP_MAYMOVE)
                              : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (moved == MAP_FAILED)
      throw OutOfMemoryError("cannot allocate " + std::to_string(bytes) + " bytes: out of memory");
#ifdef MADV_HUGEPAGE
    // Huge pages reduce the page faults of a large table. The system may ignore this advice.
    constexpr std::size_t worth_while = std::size_t{4} << 20;
    if (bytes >= worth_while) (void)::madvise(moved, bytes, MADV_HUGEPAGE);
#endif
    data_ = static_cast<T*>(moved);
    capacity_ = bytes / sizeof(T);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace gradus::files
