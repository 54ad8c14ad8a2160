// Tests which types the calls accept as a matrix or a vector. Concepts check the calls that must not compile.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "gradus/shortest_paths.hpp"
#include "tests/deduction.hpp"

namespace gradus {
namespace {

using tests::KindsOfMatrix;
template <class Weights>
concept Finds = requires(const Weights& weights) {
  shortest_paths(weights);
  shortest_route(weights, 0, 0);
};
template <class Weights>
struct TakenByFinds {
  static constexpr bool value = Finds<Weights>;
};
static_assert(tests::takes_matrices<TakenByFinds>());
static_assert(Finds<Matrix<std::int32_t>> && Finds<std::vector<std::array<std::int64_t, 4>>>);

TEST(ShortestPathsCalls, TakeEachKindOfMatrix) {
  Matrix<std::int32_t> matrix(3, 3);
  std::vector<std::array<std::int32_t, 3>> rows{{0, 5, 9}, {7, 0, 2}, {1, 8, 0}};
  std::int32_t plain[3][3];
  for (std::int64_t from = 0; from < 3; ++from)
    for (std::int64_t to = 0; to < 3; ++to)
      plain[from][to] = matrix(from, to) = rows[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  const auto expect = [](const ShortestPathsResult<std::int32_t>& result) {
    const std::int32_t expected[3][3] = {{0, 5, 7}, {3, 0, 2}, {1, 6, 0}};
    for (std::int64_t from = 0; from < 3; ++from)
      for (std::int64_t to = 0; to < 3; ++to) EXPECT_EQ(result.distances(from, to), expected[from][to]);
  };
  expect(shortest_paths(matrix));
  expect(shortest_paths(matrix.view()));
  expect(shortest_paths(rows));
  expect(shortest_paths(plain));
  expect(shortest_paths(rows, {}, {.variant = "sequential"}));
}

TEST(ShortestPathsCalls, RefuseRangesThatCannotBeTrue) {
  KindsOfMatrix::each_lie_is_refused([](const auto& weights) { shortest_paths(weights); });
}

}  // namespace
}  // namespace gradus
