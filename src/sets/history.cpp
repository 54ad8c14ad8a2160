#include "sets/history.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "gradus/error.hpp"

namespace gradus::sets_detail {

namespace {

constexpr int most_under_way = 256;

/// Some of the calls under way, each by its place among them.
class Places {
 public:
  bool has(int place) const { return (words_[word(place)] & bit(place)) != 0; }
  void add(int place) { words_[word(place)] |= bit(place); }
  void remove(int place) { words_[word(place)] &= ~bit(place); }
  friend bool operator<(const Places& one, const Places& other) { return one.words_ < other.words_; }

 private:
  static std::size_t word(int place) { return static_cast<std::size_t>(place) / 64; }
  static std::uint64_t bit(int place) { return std::uint64_t{1} << (place % 64); }

  std::array<std::uint64_t, most_under_way / 64> words_{};
};

/// Which of the calls under way have taken effect, and whether the key is there.
struct State {
  Places done;
  bool is_there = false;
  friend bool operator<(const State& one, const State& other) {
    return one.is_there != other.is_there ? other.is_there : one.done < other.done;
  }
};

/// A successful change; any other call leaves the set as it is.
bool changes(const Event& event) { return event.call != Call::contains && event.answer; }

/// Whether the key has to be there for the call to answer so.
bool wants_key(const Event& event) { return event.call == Call::insert ? !event.answer : event.answer; }

/// One key's calls under way, and the states in which the set may be.
class OneKey {
 public:
  explicit OneKey(bool is_there) : states_{{{}, is_there}} {}

  void begin(const Event& event) {
    int place = 0;
    while (place < most_under_way && taken_.has(place)) ++place;
    if (place == most_under_way)
      throw UsageError("more than " + std::to_string(most_under_way) + " calls for one key at a time cannot be judged");
    taken_.add(place);
    under_way_.push_back({&event, place});
    std::set<State> states;
    for (const State& state : states_) states.insert(settled(state));
    states_ = std::move(states);
  }

  /// False if in no state the call can have taken effect.
  bool end(const Event& event) {
    const auto ending = std::ranges::find(under_way_, &event, &UnderWay::event);
    std::set<State> reached = states_;
    std::vector<State> waiting(states_.begin(), states_.end());
    std::set<State> ended;
    while (!waiting.empty()) {
      State state = waiting.back();
      waiting.pop_back();
      if (state.done.has(ending->place)) {
        state.done.remove(ending->place);
        ended.insert(state);
        continue;
      }
      for (const UnderWay& change : under_way_) {
        if (!changes(*change.event) || state.done.has(change.place) || wants_key(*change.event) != state.is_there)
          continue;
        State next{state.done, !state.is_there};
        next.done.add(change.place);
        next = settled(next);
        if (reached.insert(next).second) waiting.push_back(next);
      }
    }
    states_ = std::move(ended);
    taken_.remove(ending->place);
    under_way_.erase(ending);
    return !states_.empty();
  }

  bool may_end_with(bool is_there) const { return states_.contains({{}, is_there}); }

 private:
  struct UnderWay {
    const Event* event;
    int place;
  };

  /// Calls that change nothing have taken effect where their answer fits.
  State settled(State state) const {
    for (const UnderWay& call : under_way_)
      if (!changes(*call.event) && wants_key(*call.event) == state.is_there) state.done.add(call.place);
    return state;
  }

  std::vector<UnderWay> under_way_;
  Places taken_;
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
    std::string fault = find_fault_of_key({first, last}, has(sorted_before, key), has(sorted_after, key));
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
