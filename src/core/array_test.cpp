// Views and matrices.
#include <gtest/gtest.h>

#include "gradus/array.hpp"
#include "tests/lies.hpp"

namespace gradus {
namespace {

using tests::expect_usage;
using tests::lies;

template <class T>
using Views = tests::Views<T>;
TYPED_TEST_SUITE(Views, tests::ViewTypes);

TYPED_TEST(Views, CopiesAreOfHostMemoryThatIsThere) {
  using T = TypeParam;
  for (const auto& [view, says] : lies<const T>(this->elements_))
    expect_usage([view = view] { (void)Matrix<T>::copy_of(view); }, says);
  expect_usage([&] { (void)Matrix<T>::copy_of({this->elements_, 10, 2, MemoryPlace::on_gpu(0)}); }, "host memory");
  EXPECT_EQ(Matrix<T>::copy_of({}).rows(), 0);
}

}  // namespace
}  // namespace gradus
