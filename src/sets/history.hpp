// Histories of calls to a set and their answers, and a check of linearizability.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::sets_detail {

enum class Call : std::uint8_t { contains, insert, erase };

/// A call and its answer. Times are values of a shared clock that never returns the same value twice.
struct Event {
  std::int64_t key = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  int thread = 0;
  Call call = Call::contains;
  bool answer = false;
};

/// The keys of a set before or after a history, without repetition.
using Keys = std::vector<std::int64_t>;

/// Checks linearizability. There must be an order of the calls in which a call that ended before another one began
/// comes first, and in which a sequential set that starts as `before` gives all answers and ends as `after`. Returns
/// "", or a description of the defect for one key.
///
/// A set is a collection of independent one-key sets, and a history is linearizable if the history of each key is (M.
/// Herlihy and J. Wing, "Linearizability", 1990). For one key not all orders need to be tried: see history.cpp. Takes
/// O(n log n) steps for n calls with any number of overlaps.
std::string find_fault(std::vector<Event> history, const Keys& before, const Keys& after);

/// Returns text such as "insert(3) = true".
std::string text(const Event& event);

}  // namespace gradus::sets_detail
