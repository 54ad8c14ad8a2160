// How a job honours a stop request within half a second, whatever its size.
//
// A loop over much data looks at the job's stop token after about a millisecond's work. The look is one atomic
// load, and a request is never withdrawn: code that has seen it once will see it again. Therefore:
//
// * Code of one thread calls honour_stop(), which throws.
// * A loop that OpenMP shares, which no exception may leave, goes by stretches, and skips those that are left:
//
//     const std::int64_t stretch = core::stretch_length(count, operations of an element, threads);
//     #pragma omp parallel for ...
//     for (std::int64_t first = 0; first < count; first += stretch) {
//       if (stop.stop_requested()) continue;
//       for (std::int64_t index = first; index < std::min(first + stretch, count); ++index) ...
//     }
//     core::honour_stop(stop, "stopped while ...");
//
//   No thread need tell the others. What was skipped is garbage, so the calling thread must call honour_stop() before
//   anything reads it.
// * Code for other instruction sets must not instantiate inline functions, and gets a StopLook.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "gradus/error.hpp"

namespace gradus::core {

/// Multiply-adds, or what takes as long, between two looks: a millisecond of the slowest loops, less of the others.
inline constexpr std::int64_t operations_between_looks = std::int64_t{1} << 19;

/// Elements of a stretch: as many as take `operations_between_looks`, but at least one, and no more than leave each of
/// `threads` its share.
constexpr std::int64_t stretch_length(std::int64_t count, std::int64_t operations_of_an_element, int threads = 1) {
  const std::int64_t most = operations_between_looks / std::max<std::int64_t>(operations_of_an_element, 1);
  return std::max<std::int64_t>(std::min(most, (count + threads - 1) / threads), 1);
}

/// Throws InterruptedError with `message` if a stop was asked for.
inline void honour_stop(const std::stop_token& stop, std::string_view message) {
  if (stop.stop_requested()) throw InterruptedError(std::string(message));
}

/// Fills [first, last), of which after a stop request a part may be left out.
template <class T>
void fill_until_stopped(const std::stop_token& stop, T* first, T* last, T value) {
  for (; first != last && !stop.stop_requested();
       first += std::min<std::ptrdiff_t>(operations_between_looks, last - first))
    std::fill_n(first, std::min<std::ptrdiff_t>(operations_between_looks, last - first), value);
}

/// honour_stop() for the functions of one thread that know no stretches, such as comparisons within a sort: looks
/// once in some ten thousand calls.
class RareLook {
 public:
  RareLook(const std::stop_token& stop, std::string_view message) : stop_(&stop), message_(message) {}
  void honour_stop() {
    if (++calls_ % 16384 == 0) core::honour_stop(*stop_, message_);
  }

 private:
  const std::stop_token* stop_;
  std::string_view message_;
  std::uint32_t calls_ = 0;
};

/// A stop token as plain data: `look(token)` tells whether a stop was asked for. The token must live as long.
struct StopLook {
  const std::stop_token* token;
  bool (*look)(const std::stop_token*);
};

inline StopLook stop_look(const std::stop_token& stop) {
  return {&stop, [](const std::stop_token* token) { return token->stop_requested(); }};
}

}  // namespace gradus::core
