// Tests jobs in forked children. This file has a single test, because a test depends on what the process did before the
// fork.
#include <gtest/gtest.h>

#include <string>

#include "matmul/variants.hpp"
#include "tests/helpers.hpp"
#include "tests/in_child.hpp"

namespace gradus::matmul_detail {
namespace {

TEST(Fork, AChildSaysThatItCannotRunAJobOfSeveralThreads) {
  Matrix<float> a(300, 300);
  for (std::int64_t row = 0; row < 300; ++row)
    for (std::int64_t column = 0; column < 300; ++column)
      a(row, column) = static_cast<float>((row * 7919 + column * 13) % 997);
  const auto product = [&](int threads, const std::string& variant) {
    const Execution by{.device = Device::cpu, .variant = variant, .threads = threads};
    return matmul(a, a, {}, by).product;
  };
  // Sums are rounded, and their order depends on the variant, so each variant is compared only with itself.
  const auto ours = [](const Variant& variant) { return !variant.baseline && tests::runs_on_threads(variant); };
  tests::expect_children_without_threads(
      [&](int threads, const std::string& variant) {
        return tests::same_bits(product(threads, variant), product(1, variant));
      },
      tests::names_of(variants(), ours));
}

}  // namespace
}  // namespace gradus::matmul_detail
