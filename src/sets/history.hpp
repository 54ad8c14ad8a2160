// What threads asked of a set and what it answered, and whether that is linearizable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::sets_detail {

enum class Call : std::uint8_t { contains, insert, erase };

/// A call and its answer. Times are numbers of a clock that all threads share and that never shows a number twice.
struct Event {
  std::int64_t key = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  int thread = 0;
  Call call = Call::contains;
  bool answer = false;
};

/// The keys of a set before or after a history, each once.
using Keys = std::vector<std::int64_t>;

/// Whether there is an order of the calls that keeps the order of any two of which one ended before the other began, in
/// which a sequential set that begins with `before` gives all the answers and ends with `after`. "" or, of one key,
/// what is wrong.
///
/// A set is as many independent sets of one key, and a history is linearizable if that of each key is (M. Herlihy and
/// J. Wing, "Linearizability", 1990). Of one key all orders need not be tried: see history.cpp. O(n log n) steps for n
/// calls, however many of them overlap.
std::string find_fault(std::vector<Event> history, const Keys& before, const Keys& after);

/// "insert(3) = true".
std::string text(const Event& event);

}  // namespace gradus::sets_detail
