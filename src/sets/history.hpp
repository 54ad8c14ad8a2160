// Histories of calls to a set, with their answers. The function find_fault() checks that a history is linearizable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::sets_detail {

enum class Call : std::uint8_t { contains, insert, erase };

/// A call and its answer. Times are readings of a shared clock that never returns the same value twice.
struct Event {
  std::int64_t key = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  int thread = 0;
  Call call = Call::contains;
  bool answer = false;
};

/// The keys of a set before or after a history. No key occurs twice.
using Keys = std::vector<std::int64_t>;

/// Checks linearizability: there must be a sequential order of the calls with two properties. First, if a call ended
/// before another call began, the ended call comes first. Second, if the calls are made in this order on a sequential
/// set with the keys `before`, the answers are the same and the set ends with the keys `after`. Returns "", or a
/// description of a defect for one key.
///
/// A set consists of independent sets of one key each, and a history is linearizable if the history of each key is (M.
/// Herlihy and J. Wing, "Linearizability", 1990). For one key, not all orders need to be tried: see history.cpp.
/// Complexity: O(n log n) for n calls, however many overlap.
std::string find_fault(std::vector<Event> history, const Keys& before, const Keys& after);

/// Returns text such as "insert(3) = true".
std::string text(const Event& event);

}  // namespace gradus::sets_detail
