// Tests that every public function of matrix multiplication rejects malformed views.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/matmul.hpp"
#include "tests/deduction.hpp"
#include "tests/lies.hpp"

namespace gradus {
namespace {

using tests::expect_usage;
using tests::impossible_executions;
using tests::lies;
using tests::most;

template <class A>
concept Multiplies = requires(const A& a) {
  matmul(a, a);
};
template <class A>
struct TakenByMatmul {
  static constexpr bool value = Multiplies<A>;
};
static_assert(tests::takes_matrices<TakenByMatmul>());

template <class T>
class MatmulViews : public tests::Views<T> {
 protected:
  MatrixView<const T> a() const { return {this->elements_, 2, 3}; }
  MatrixView<const T> b() const { return {this->elements_, 3, 2}; }
};
TYPED_TEST_SUITE(MatmulViews, tests::ViewTypes);

TYPED_TEST(MatmulViews, RefusesLies) {
  using T = TypeParam;
  EXPECT_NO_THROW(matmul(this->a(), this->b()));
  for (const auto& [view, says] : lies<const T>(this->elements_)) {
    // Overlapping rows are valid here, because an input may have any strides.
    if (says.find("cannot start") != std::string::npos) continue;
    expect_usage([&, view = view] { matmul(view, this->b()); }, says);
    expect_usage([&, view = view] { matmul(this->a(), view); }, says);
  }
}

// An empty batch needs no address. For example, data() of an empty std::vector is null.
TYPED_TEST(MatmulViews, ABatchOfNoMatricesNeedsNoAddress) {
  using T = TypeParam;
  const auto none = [](std::int64_t rows, std::int64_t columns) {
    return MatmulView<T>(nullptr, rows, columns, columns, 1).batch(0, rows * columns);
  };
  const auto result = matmul(none(2, 3), this->b());
  EXPECT_EQ(result.product.rows(), 0);
  EXPECT_EQ(result.product.columns(), 2);
  EXPECT_NO_THROW(matmul(this->a(), none(3, 2), {}, MatmulMemory<T>{none(2, 2)}));
  expect_usage([&] { matmul(none(2, -3), this->b()); }, "A: ");
  expect_usage([&] { matmul(none(-2, 3), this->b()); }, "A: ");
}

TYPED_TEST(MatmulViews, RefusesStridesThatLeaveAllMemory) {
  using T = TypeParam;
  const T* const data = this->elements_;
  expect_usage([&] { matmul(MatmulView<const T>(data, 2, 3, most, most), this->b()); }, "overflow");
  expect_usage([&] { matmul(MatmulView<const T>(data, 2, 3, -most / 8, 1), this->b()); }, "A: ");
  expect_usage([&] { matmul(MatmulView<const T>(data, 2, 3, 3, 1).batch(-1, 6), this->b()); }, "batch");
  expect_usage([&] { matmul(MatmulView<const T>(data, 2, 3, 3, 1).batch(most, most), this->b()); }, "overflow");
}

TYPED_TEST(MatmulViews, RefusesResultsThatAreNotEachInAPlaceOfTheirOwn) {
  using T = TypeParam;
  T* const data = this->others_;
  const auto to = [&](MatmulView<T> c) { return [=, this] { matmul(this->a(), this->b(), {}, MatmulMemory<T>{c}); }; };
  EXPECT_NO_THROW(to(MatmulView<T>(data, 2, 2, 2, 1))());
  EXPECT_NO_THROW(to(MatmulView<T>(data, 2, 2, 1, 2))());
  EXPECT_NO_THROW(to(MatmulView<T>(data, 2, 2, 10, 3))());
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, 1}, {1, 0}, {2, 2}})
    expect_usage(to(MatmulView<T>(data, 2, 2, rows, columns)), "apart overlap");
  expect_usage(to(MatmulView<T>(data + 10, 2, 2, -2, 1)), "apart overlap");
  expect_usage(to(MatmulView<T>(data, 2, 3, 3, 1)), "C: memory of");
  expect_usage(to(MatmulView<T>(data, 2, 2, 2, 1).batch(2, 4)), "C: memory of");
  expect_usage(to(MatmulView<T>(nullptr, 2, 2, 2, 1)), "null");
}

TYPED_TEST(MatmulViews, RefusesValuesThatThereAreNot) {
  for (const Execution& impossible : impossible_executions()) {
    expect_usage([&] { matmul(this->a(), this->b(), {}, impossible); }, "");
    expect_usage([&] { matmul_memory({.rows = 5, .columns = 5, .depth = 5}, {}, impossible); }, "");
  }
  MatmulOptions options;
  options.accuracy = tests::no_such<MatmulAccuracy>(4);
  expect_usage([&] { matmul(this->a(), this->b(), options); }, "accuracy");
  for (const MatmulShape& shape : std::vector<MatmulShape>{{.rows = -1},
                                                           {.rows = most, .columns = 2},
                                                           {.columns = 5, .depth = -1},
                                                           {.rows = 5, .depth = most},
                                                           {.rows = 1, .columns = 1, .depth = 1, .batches = -1},
                                                           {.rows = 5, .element_bytes = 2}})
    expect_usage([&] { matmul_memory(shape, {}); }, "");
}

}  // namespace
}  // namespace gradus
