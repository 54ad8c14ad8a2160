// Tests jobs in forked children. This file has a single test, because the test depends on what the process did before
// the fork.
#include <gtest/gtest.h>

#include <string>

#include "shortest_paths/problem.hpp"
#include "tests/helpers.hpp"
#include "tests/in_child.hpp"

namespace gradus::shortest_paths_detail {
namespace {

TEST(Fork, AChildSaysThatItCannotRunAJobOfSeveralThreads) {
  Matrix<std::int32_t> weights(200, 200);
  for (std::int64_t from = 0; from < 200; ++from)
    for (std::int64_t to = 0; to < 200; ++to)
      weights(from, to) = static_cast<std::int32_t>((from * 7919 + to * 13) % 997);
  const auto paths = [&](int threads, const std::string& variant) {
    const Execution by{.device = Device::cpu, .variant = variant, .threads = threads};
    return shortest_paths(weights, {}, by).distances;
  };
  const Matrix<std::int32_t> distances = paths(1, "");
  tests::expect_children_without_threads(
      [&](int threads, const std::string& variant) { return tests::same_bits(paths(threads, variant), distances); },
      tests::names_of(variants(), tests::runs_on_threads));
}

}  // namespace
}  // namespace gradus::shortest_paths_detail
