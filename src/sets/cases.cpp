#include "sets/cases.hpp"

#include <algorithm>
#include <numeric>

namespace gradus::sets_detail {

namespace {

// With the five numbers of threads of `gradus verify`, all cases together make more than a million calls.
#ifdef GRADUS_SANITIZED
constexpr std::int64_t many = 4000;
#else
constexpr std::int64_t many = 30000;
#endif

Case make_case(std::string name, std::int64_t range, Mix mix, std::int64_t operations = many) {
  return {std::move(name), [=](std::uint64_t seed) {
            return Problem{
                .range = range, .operations = operations, .mix = mix, .seed = seed, .records = true, .stop = {}};
          }};
}

std::int64_t sum_of(const Keys& keys) { return std::accumulate(keys.begin(), keys.end(), std::int64_t{0}); }

std::string numbers(std::string_view what, std::int64_t is, std::int64_t should_be) {
  return std::string(what) + std::to_string(is) + ", not " + std::to_string(should_be);
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      make_case("no_calls", 100, {100, 0, 0}, 0),
      make_case("no_keys", 1, {100, 0, 0}, 10),  // the range has a single key, so the initial half of it is empty
      make_case("one_key", 1, {20, 40, 40}),
      make_case("two_keys", 2, {0, 50, 50}),
      make_case("eight_keys", 8, {20, 40, 40}),
      make_case("thirty_keys", 30, {80, 10, 10}),
      make_case("three_hundred_keys", 300, {0, 50, 50}),
      make_case("look_ups", 100, {100, 0, 0}),
      make_case("filling", 1000, {0, 100, 0}, many / 2),
      make_case("emptying", 1000, {0, 0, 100}, many / 2),
  };
  return all;
}

std::string find_fault(const Problem& problem, const Outcome& outcome) {
  if (problem.most_seconds > 0 ? outcome.operations > problem.operations : outcome.operations != problem.operations)
    return numbers("calls: ", outcome.operations, problem.operations);
  if (problem.records) {
    if (std::ssize(outcome.history) != outcome.operations)
      return numbers("calls in the history: ", std::ssize(outcome.history), outcome.operations);
    if (std::string fault = find_fault(outcome.history, outcome.before, outcome.after); !fault.empty()) return fault;
  }
  const std::int64_t keys = std::ssize(outcome.before) + outcome.added;
  if (std::ssize(outcome.after) != keys) return numbers("keys at the end: ", std::ssize(outcome.after), keys);
  const std::int64_t sum = sum_of(outcome.before) + outcome.added_sum;
  if (sum_of(outcome.after) != sum) return numbers("the sum of the keys is ", sum_of(outcome.after), sum);
  if (static_cast<std::int64_t>(outcome.size) != keys)
    return numbers("size() is ", static_cast<std::int64_t>(outcome.size), keys);
  Keys sorted = outcome.after;
  std::ranges::sort(sorted);
  if (outcome.is_ordered && sorted != outcome.after) return "a loop over the set does not show its keys in order";
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return "a loop over the set shows a key twice";
  if (outcome.leaked_bytes != 0) return numbers("bytes that were not given back: ", outcome.leaked_bytes, 0);
  return "";
}

}  // namespace gradus::sets_detail
