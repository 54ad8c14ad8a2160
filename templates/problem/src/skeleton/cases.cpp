#include "skeleton/cases.hpp"

#include <limits>

namespace gradus::skeleton_detail {

namespace {

std::vector<std::uint64_t> random_values(std::int64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> values;
  std::uint64_t state = seed;
  for (std::int64_t index = 0; index < count; ++index) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    values.push_back(state ^ state >> 29);
  }
  return values;
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"empty", [](std::uint64_t) { return std::vector<std::uint64_t>(); }},
      {"one", [](std::uint64_t seed) { return random_values(1, seed); }},
      {"greatest",
       [](std::uint64_t) { return std::vector<std::uint64_t>(1000, std::numeric_limits<std::uint64_t>::max()); }},
      {"odd_size", [](std::uint64_t seed) { return random_values(12347, seed); }},
      {"large", [](std::uint64_t seed) { return random_values(300000, seed); }},
  };
  return all;
}

std::string compare(std::uint64_t sum, std::uint64_t truth) {
  return sum == truth ? "" : "the sum is " + std::to_string(sum) + ", not " + std::to_string(truth);
}

std::string PreparedCase::check(const Variant& variant, const Execution& execution) const {
  std::vector<Phase> phases;
  const Problem problem{.values = values_, .start = 1, .stop = execution.stop};
  return compare(variant.run(problem, execution, phases), truth_);
}

}  // namespace gradus::skeleton_detail
