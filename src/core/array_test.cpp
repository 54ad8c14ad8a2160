// Tests of views and matrices, and of the version of the headers.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/version.hpp"
#include "tests/lies.hpp"

namespace gradus {
namespace {

using tests::expect_usage;
using tests::lies;

// True if From converts to To.
template <class From, class To>
constexpr bool becomes = std::is_convertible_v<From, To>;

static_assert(becomes<Matrix<float>&, MatrixView<float>> && becomes<const Matrix<float>&, MatrixView<const float>>);
static_assert(!becomes<const Matrix<float>&, MatrixView<float>> && !becomes<Matrix<double>&, MatrixView<const float>>);
static_assert(!becomes<MatrixView<const float>, MatrixView<float>>);
// not allowed, because the view would outlive the elements
static_assert(!becomes<Matrix<float>, MatrixView<const float>>);
static_assert(becomes<std::vector<std::array<float, 3>>&, MatrixView<const float>>);
static_assert(!becomes<std::vector<std::array<float, 3>>, MatrixView<const float>>);
static_assert(becomes<std::vector<float>&, VectorView<float>> && becomes<std::span<float>, VectorView<const float>>);
static_assert(becomes<const std::array<float, 3>&, VectorView<const float>> &&
              becomes<float (&)[3], VectorView<float>>);
static_assert(becomes<Buffer<float>&, VectorView<float>> && becomes<const Buffer<float>&, VectorView<const float>>);
static_assert(!becomes<const std::vector<float>&, VectorView<float>> &&
              !becomes<std::span<const float>, VectorView<float>>);
static_assert(!becomes<std::vector<float>, VectorView<const float>> &&
              !becomes<Buffer<float>, VectorView<const float>>);
static_assert(!becomes<std::vector<double>&, VectorView<const float>> &&
              !becomes<std::vector<bool>&, VectorView<bool>>);
static_assert(!becomes<VectorView<const float>, VectorView<float>>);

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

TEST(Version, IsThatOfTheHeaders) {
  EXPECT_EQ(version(), GRADUS_VERSION_STRING);
  EXPECT_EQ(version(), std::to_string(GRADUS_VERSION_MAJOR) + "." + std::to_string(GRADUS_VERSION_MINOR) + "." +
                           std::to_string(GRADUS_VERSION_PATCH));
}

}  // namespace
}  // namespace gradus
