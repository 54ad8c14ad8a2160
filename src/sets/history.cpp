#include "sets/history.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <span>
#include <utility>

namespace gradus::sets_detail {

namespace {

/// Returns true if the call changed the set.
bool changes(const Event& event) { return event.call != Call::contains && event.answer; }

/// Returns true if the call's answer requires that the key was in the set, and false if it requires that the key was
/// absent.
bool wants_key(const Event& event) { return event.call == Call::insert ? !event.answer : event.answer; }

/// Searches for an order of the calls on one key that explains all answers. The caller must pass the beginnings and the
/// ends of calls in the order of their times. Successful changes insert and erase the key alternately. So the initial
/// state and the number of changes that have taken effect determine the present state.
///
/// A change takes effect as late as possible: when it ends, or when another call ends whose answer the present state
/// does not explain. This greedy choice finds an order if one exists, so no alternatives need to be tried. Proof:
/// 1. When a change takes effect. Suppose that a change takes effect earlier in another order. Because changes
///    alternate, the other order goes through the same states, only sooner. If a call finds the state that it requires
///    in the other order, it also finds this state here before the call ends.
/// 2. Which change takes effect. If several changes could come next, they are all insertions or all erasures, and the
///    change that ends first is chosen. Suppose that another order has a different change in this place. In that order,
///    the two changes can be exchanged, because both have begun and the chosen change has not ended.
class OneKey {
 public:
  explicit OneKey(bool is_there) : is_there_(is_there) {}

  void begin(const Event& event) {
    if (changes(event)) left(wants_key(event)).insert(&event);
    else if (wants_key(event) != is_there_) unexplained(wants_key(event)).insert(&event);
  }

  /// Processes the end of a call. Returns false if no order explains the call.
  bool end(const Event& event) {
    if (!changes(event)) return !unexplained(wants_key(event)).contains(&event) || take_next();
    if (!left(wants_key(event)).contains(&event)) return true;  // the change has already taken effect
    if (wants_key(event) != is_there_ && !take_next()) return false;
    take(event);
    return true;
  }

  bool is_there() const { return is_there_; }

 private:
  struct EndsSooner {
    bool operator()(const Event* one, const Event* other) const {
      return one->end != other->end ? one->end < other->end : std::less<>()(one, other);
    }
  };
  using Calls = std::set<const Event*, EndsSooner>;

  Calls& left(bool wants) { return left_[static_cast<std::size_t>(wants)]; }
  Calls& unexplained(bool wants) { return unexplained_[static_cast<std::size_t>(wants)]; }

  /// Applies the change that ends first among the changes that the state allows. Returns false if there is no such
  /// change.
  bool take_next() {
    if (left(is_there_).empty()) return false;
    take(**left(is_there_).begin());
    return true;
  }
  void take(const Event& change) {
    left(is_there_).erase(&change);
    is_there_ = !is_there_;
    unexplained(is_there_).clear();
  }

  bool is_there_;
  // Calls in progress, grouped by the state that they require. left_: changes that have not taken effect. unexplained_:
  // calls that change nothing and have not seen the required state since they began.
  std::array<Calls, 2> left_;
  std::array<Calls, 2> unexplained_;
};

/// Checks the calls on one key. The calls are sorted by their beginnings.
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
  if (set.is_there() == after) return "";
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
    if (!has(touched, key)) return "key " + std::to_string(key) + " was inserted or erased by no call";
  return "";
}

}  // namespace gradus::sets_detail
