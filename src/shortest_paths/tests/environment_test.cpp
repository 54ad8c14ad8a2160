// Tests that the caller's floating-point environment does not affect answers, and that calls do not change it.
#include "tests/float_environments.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gradus/shortest_paths.hpp"

namespace gradus {
namespace {

/// Returns a ring with chords. All edges have lengths from 1 to 97 times `unit`.
template <class T>
Matrix<T> ring(std::int64_t n, T unit) {
  Matrix<T> weights(n, n);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t column = 0; column < n; ++column) {
      const std::int64_t step = (column - row + n) % n;
      const bool is_edge = step == 1 || step == 7;
      weights(row, column) = is_edge     ? static_cast<T>(1 + (row * 7919 + step) % 97) * unit
                             : step == 0 ? T{0}
                                         : std::numeric_limits<T>::infinity();
    }
  return weights;
}

template <class T>
std::string bytes_of_paths(const Matrix<T>& weights, const Execution& execution) {
  const ShortestPathsResult<T> found = shortest_paths(weights, {.predecessors = true}, execution);
  return tests::bytes_of(found.distances.data(), weights.rows() * weights.rows()) +
         tests::bytes_of(found.predecessors.data(), weights.rows() * weights.rows());
}

TEST(Environment, ChangesNoPath) {
  const Matrix<float> denormal = ring<float>(150, 1e-40F);
  const Matrix<float> usual = ring<float>(150, 0.1F);
  const Matrix<double> twice = ring<double>(70, 1e-310);
  tests::expect_same_in_all_environments("shortest_paths", [&](const Execution& execution) {
    return bytes_of_paths(denormal, execution) + bytes_of_paths(usual, execution) + bytes_of_paths(twice, execution);
  });
}

TEST(Environment, ShortensNoPathOfDenormalLengths) {
  constexpr float none = std::numeric_limits<float>::infinity();
  constexpr float length = 1e-40F;
  const float weights[] = {0, length, none, none, 0, length, none, none, 0};
  for (const tests::EnvironmentRow& row : tests::float_environments) {
    const tests::InEnvironment environment(row, 1);
    const auto found = shortest_paths(MatrixView<const float>(weights, 3, 3), {}, {.device = Device::cpu});
    tests::set_default_environment();
    EXPECT_EQ(found.distances(0, 2), 2 * length) << row.name;
  }
}

TEST(Environment, IsKeptByACallThatThrows) {
  const float weights[] = {0, -1, -1, 0};  // a negative cycle
  tests::expect_environment_kept_on_error(
      [&] { shortest_paths(MatrixView<const float>(weights, 2, 2), {}, {.device = Device::cpu, .threads = 2}); });
}

}  // namespace
}  // namespace gradus
