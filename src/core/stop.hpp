// Stop requests: every job ends within half a second of a request, whatever its size.
//
// A loop over much data polls the job's stop token about once per millisecond. Polling is one atomic load. A request is
// never withdrawn, so code that has seen it once will see it again. Therefore:
//
// * Single-threaded code calls honour_stop(), which throws.
// * An OpenMP loop, which no exception may leave, works in chunks and skips the remaining chunks after a request:
//
//     const std::int64_t chunk = core::chunk_length(count, operations per element, threads);
//     #pragma omp parallel for ...
//     for (std::int64_t first = 0; first < count; first += chunk) {
//       if (stop.stop_requested()) continue;
//       for (std::int64_t index = first; index < std::min(first + chunk, count); ++index) ...
//     }
//     core::honour_stop(stop, "stopped while ...");
//
//   Threads need not notify each other. The skipped output is undefined, so the calling thread must call honour_stop()
//   before anything reads it.
// * Code for other instruction sets must not instantiate inline functions. It polls through a StopPoll.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "gradus/error.hpp"

namespace gradus::core {

/// Number of multiply-adds, or of operations of the same cost, between two polls. This number of operations takes a
/// millisecond in the slowest loops and less in other loops.
inline constexpr std::int64_t operations_between_polls = std::int64_t{1} << 19;

/// Returns the number of elements per chunk, for about `operations_between_polls` operations per chunk. A chunk has at
/// least one element and at most count / threads elements, rounded up.
constexpr std::int64_t chunk_length(std::int64_t count, std::int64_t operations_of_an_element, int threads = 1) {
  const std::int64_t most = operations_between_polls / std::max<std::int64_t>(operations_of_an_element, 1);
  return std::max<std::int64_t>(std::min(most, (count + threads - 1) / threads), 1);
}

/// Throws InterruptedError with `message` if a stop was requested.
inline void honour_stop(const std::stop_token& stop, std::string_view message) {
  if (stop.stop_requested()) throw InterruptedError(std::string(message));
}

/// Fills [first, last) with `value`. After a stop request, some elements may remain unset.
template <class T>
void fill_until_stopped(const std::stop_token& stop, T* first, T* last, T value) {
  for (; first != last && !stop.stop_requested();
       first += std::min<std::ptrdiff_t>(operations_between_polls, last - first))
    std::fill_n(first, std::min<std::ptrdiff_t>(operations_between_polls, last - first), value);
}

/// A cheap honour_stop() for callbacks that run on one thread and have no chunks, such as comparisons in a sort. It
/// polls once in 16,384 calls.
class RarePoll {
 public:
  RarePoll(const std::stop_token& stop, std::string_view message) : stop_(&stop), message_(message) {}
  void honour_stop() {
    if (++calls_ % 16384 == 0) core::honour_stop(*stop_, message_);
  }

 private:
  const std::stop_token* stop_;
  std::string_view message_;
  std::uint32_t calls_ = 0;
};

/// A stop token as plain data. look(token) returns true if a stop was requested. The token must outlive the StopPoll.
struct StopPoll {
  const std::stop_token* token;
  bool (*look)(const std::stop_token*);
};

inline StopPoll stop_poll(const std::stop_token& stop) {
  return {&stop, [](const std::stop_token* token) { return token->stop_requested(); }};
}

}  // namespace gradus::core
