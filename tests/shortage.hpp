// Runs a job repeatedly. Each time, one more allocation succeeds before an allocation fails. Include this file in only
// one source file of a program, because the file replaces the program's operator new.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "gradus/error.hpp"

namespace gradus::tests {

/// The number of allocations that succeed before one fails, counted over all threads. If negative, all allocations
/// succeed.
inline std::atomic<std::int64_t> granted{-1};

inline void* allocate(std::size_t bytes, std::size_t alignment) {
  if (granted.load(std::memory_order_relaxed) >= 0 && granted.fetch_sub(1, std::memory_order_relaxed) == 0)
    throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = alignment <= alignof(std::max_align_t) ? std::malloc(bytes > 0 ? bytes : 1)
                                                              : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

/// Expects that job() throws OutOfMemoryError no matter which of its allocations fails, and that it succeeds if none
/// fails.
template <class Job>
void fails_orderly(const Job& job, std::string_view what) {
  job();  // fills caches that need memory only once
  bool done = false;
  for (std::int64_t grants = 0; !done; ++grants) {
    granted.store(grants);
    std::string said;
    try {
      job();
      done = granted.load() >= 0;  // no allocation failed
    } catch (const OutOfMemoryError&) {
      said.clear();
    } catch (const std::exception& error) {
      said = std::string("ended with ") + error.what();
    }
    granted.store(-1);
    if (done) EXPECT_GT(grants, 10) << what;  // if there are fewer, the program does not use this operator new
    else ASSERT_EQ(said, "") << what << ", allocation " << grants;
  }
}

}  // namespace gradus::tests

// NOLINTBEGIN(misc-definitions-in-headers,cppcoreguidelines-no-malloc)
void* operator new(std::size_t bytes) { return gradus::tests::allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return gradus::tests::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
// NOLINTEND(misc-definitions-in-headers,cppcoreguidelines-no-malloc)
