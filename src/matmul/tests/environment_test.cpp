// Tests that the caller's floating-point environment does not affect results, and that calls do not change this
// environment.
#include <gtest/gtest.h>

#include "gradus/matmul.hpp"
#include "tests/float_environments.hpp"

namespace gradus {
namespace {

template <class T>
Matrix<T> matrix_of(std::int64_t rows, std::int64_t columns, T unit) {
  Matrix<T> matrix(rows, columns);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      matrix(row, column) = static_cast<T>((row * 7919 + column * 104729) % 997 - 498) * T(0.1) * unit;
  return matrix;
}

template <class T>
std::string bytes_of_product(const Matrix<T>& a, const Matrix<T>& b, const Execution& execution) {
  MatmulOptions options;
  options.measure_error = true;
  const MatmulResult<T> result = matmul(a, b, options, execution);
  return tests::bytes_of(result.product.data(), a.rows() * b.columns()) + tests::bytes_of(&result.error.greatest, 1);
}

TEST(Environment, ChangesNoProduct) {
  const Matrix<float> a = matrix_of<float>(150, 400, 1);
  const Matrix<float> tiny = matrix_of<float>(400, 150, 1e-41F);
  const Matrix<double> twice = matrix_of<double>(90, 90, 1);
  tests::expect_same_in_all_environments("matmul", [&](const Execution& execution) {
    return bytes_of_product(a, tiny, execution) + bytes_of_product(twice, twice, execution);
  });
}

TEST(Environment, IsKeptByACallThatThrows) {
  const Matrix<float> a(2, 3);
  tests::expect_environment_kept_on_error([&] { matmul(a, a, {}, {.device = Device::cpu, .threads = 2}); });
}

}  // namespace
}  // namespace gradus
