#include "sets/history.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace gradus::sets_detail {

namespace {

/// Which of the calls under way have taken effect, a bit for each thread; and whether the key is there.
struct State {
  std::uint64_t done = 0;
  bool is_there = false;
  friend auto operator<=>(const State&, const State&) = default;
};

constexpr std::uint64_t bit_of(const Event& event) { return std::uint64_t{1} << (event.thread % 64); }

/// A successful change; any other call leaves the set as it is.
bool changes(const Event& event) { return event.call != Call::contains && event.answer; }

/// Whether the key has to be there for the call to answer so.
bool wants_key(const Event& event) { return event.call == Call::insert ? !event.answer : event.answer; }

/// One key's calls under way, and the states in which the set may be.
class OneKey {
 public:
  explicit OneKey(bool is_there) : states_{{0, is_there}} {}

  void begin(const Event& event) {
    under_way_.push_back(&event);
    std::set<State> states;
    for (const State& state : states_) states.insert(settled(state));
    states_ = std::move(states);
  }

  /// False if in no state the call can have taken effect.
  bool end(const Event& event) {
    std::set<State> reached = states_;
    std::vector<State> waiting(states_.begin(), states_.end());
    std::set<State> ended;
    while (!waiting.empty()) {
      const State state = waiting.back();
      waiting.pop_back();
      if ((state.done & bit_of(event)) != 0) {
        ended.insert({state.done & ~bit_of(event), state.is_there});
        continue;
      }
      for (const Event* change : under_way_) {
        if (!changes(*change) || (state.done & bit_of(*change)) != 0 || wants_key(*change) != state.is_there) continue;
        const State next = settled({state.done | bit_of(*change), !state.is_there});
        if (reached.insert(next).second) waiting.push_back(next);
      }
    }
    states_ = std::move(ended);
    std::erase(under_way_, &event);
    return !states_.empty();
  }

  bool may_end_with(bool is_there) const { return states_.contains({0, is_there}); }

 private:
  /// Calls that change nothing have taken effect where their answer fits.
  State settled(State state) const {
    for (const Event* event : under_way_)
      if (!changes(*event) && wants_key(*event) == state.is_there) state.done |= bit_of(*event);
    return state;
  }

  std::vector<const Event*> under_way_;
  std::set<State> states_;
};

/// Of one key, sorted by its beginnings.
std::string find_fault_of_key(std::span<const Event> calls, bool before, bool after) {
  std::vector<const Event*> by_end;
  for (const Event& event : calls) by_end.push_back(&event);
  std::ranges::sort(by_end, {}, &Event::end);
  OneKey set(before);
  auto next = calls.begin();
  for (const Event* event : by_end) {
    for (; next != calls.end() && next->begin < event->end; ++next) set.begin(*next);
    if (!set.end(*event))
      return "no order of the calls explains " + text(*event) + " of thread " + std::to_string(event->thread) +
             " between " + std::to_string(event->begin) + " and " + std::to_string(event->end);
  }
  if (set.may_end_with(after)) return "";
  return "key " + std::to_string(calls.front().key) + (after ? " is" : " is not") +
         " in the set at the end, which no order of the calls explains";
}

bool has(const Keys& sorted, std::int64_t key) { return std::ranges::binary_search(sorted, key); }

}  // namespace

std::string text(const Event& event) {
  const char* names[] = {"contains", "insert", "erase"};
  return std::string(names[static_cast<int>(event.call)]) + "(" + std::to_string(event.key) +
         (event.answer ? ") = true" : ") = false");
}

std::string find_fault(std::vector<Event> history, const Keys& before, const Keys& after) {
  Keys sorted_before = before;
  Keys sorted_after = after;
  std::ranges::sort(sorted_before);
  std::ranges::sort(sorted_after);
  if (std::ranges::adjacent_find(sorted_after) != sorted_after.end()) return "a key is in the set twice at the end";
  std::ranges::sort(history, [](const Event& one, const Event& other) {
    return std::pair(one.key, one.begin) < std::pair(other.key, other.begin);
  });
  Keys touched;
  for (auto first = history.begin(); first != history.end();) {
    const std::int64_t key = first->key;
    const auto last = std::find_if(first, history.end(), [&](const Event& event) { return event.key != key; });
    const std::string fault = find_fault_of_key({first, last}, has(sorted_before, key), has(sorted_after, key));
    if (!fault.empty()) return fault;
    touched.push_back(key);
    first = last;
  }
  Keys changed;
  std::ranges::set_symmetric_difference(sorted_before, sorted_after, std::back_inserter(changed));
  for (const std::int64_t key : changed)
    if (!has(touched, key)) return "key " + std::to_string(key) + " came or went although nobody asked for it";
  return "";
}

}  // namespace gradus::sets_detail
