/// A counter that many threads change, but that few threads read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gradus/sets/detail/thread_number.hpp"

namespace gradus::sets_detail {

/// A counter that consists of several parts. Threads add to different parts. The sum of the parts is exact while no
/// thread adds. The size is 1 KiB.
template <class Policy>
class shared_count {
 public:
  // relaxed: a counter orders nothing, and sum() may add values that the parts had at different times.
  void add(std::int64_t change) noexcept {
    parts_[thread_number() % parts].value.fetch_add(change, std::memory_order_relaxed);
  }
  std::int64_t sum() const noexcept {
    std::int64_t total = 0;
    for (const part& one : parts_) total += one.value.load(std::memory_order_relaxed);
    return total;
  }

 private:
  static constexpr std::size_t parts = 16;
  struct alignas(64) part {  // each part has a separate cache line
    typename Policy::template atomic<std::int64_t> value{0};
  };
  part parts_[parts];
};

}  // namespace gradus::sets_detail
