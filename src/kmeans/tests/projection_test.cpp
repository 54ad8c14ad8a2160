// Tests kmeans_projection() on points whose principal components are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "gradus/kmeans_projection.hpp"
#include "tests/helpers.hpp"

namespace gradus {
namespace {

using tests::contains;
using tests::error_of;

template <class T>
class Projection : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Projection, Elements);

/// Returns 9 x 3 points of a grid around a mean. The grid extends in two orthogonal directions. A step has the length 1
/// in the first direction, and `width` in the second.
template <class T>
Matrix<T> grid(double scale, double width) {
  const double along[3] = {0.6, 0.8, 0};
  const double across[3] = {0, 0, 1};
  Matrix<T> points(27, 3);
  for (int row = 0; row < 27; ++row) {
    const int layer = row / 9 - 1;
    for (int column = 0; column < 3; ++column)
      points(row, column) =
          static_cast<T>(scale * (5 + (row % 9 - 4) * along[column] + width * layer * across[column]));
  }
  return points;
}

TYPED_TEST(Projection, FindsTheDirectionsInWhichPointsSpreadMost) {
  const double largest = sizeof(TypeParam) == 4 ? 1e30 : 1e150;
  for (const double scale : {1.0, 1e-20, largest})
    for (const double width : {0.5, 0.0}) {
      SCOPED_TRACE(testing::Message() << scale << ", " << width);
      const KMeansProjection found = kmeans_projection(grid<TypeParam>(scale, width));
      ASSERT_EQ(found.rows.size(), 27U);
      const double first = found.places(8, 0) > 0 ? 1 : -1;  // the sign of a direction is arbitrary
      const double second = found.places(26, 1) > 0 ? 1 : -1;
      for (std::int64_t row = 0; row < 27; ++row) {
        EXPECT_EQ(found.rows[static_cast<std::size_t>(row)], row);
        EXPECT_NEAR(first * found.places(row, 0) / scale, static_cast<double>(row % 9 - 4), 1e-4);
        const std::int64_t layer = row / 9 - 1;
        EXPECT_NEAR(second * found.places(row, 1) / scale, width * static_cast<double>(layer), 1e-4);
      }
    }
}

TYPED_TEST(Projection, ProjectsASampleOfManyPoints) {
  Matrix<TypeParam> points(5000, 2);
  for (std::int64_t row = 0; row < 5000; ++row) points(row, 0) = points(row, 1) = static_cast<TypeParam>(row);
  const KMeansProjection found = kmeans_projection(points, {.points = 300, .seed = 4});
  EXPECT_LE(found.rows.size(), 300U);
  EXPECT_GT(found.rows.size(), 250U);
  EXPECT_EQ(std::set(found.rows.begin(), found.rows.end()).size(), found.rows.size());
  EXPECT_TRUE(std::ranges::is_sorted(found.rows));
  EXPECT_EQ(kmeans_projection(points, {.points = 300, .seed = 4}).rows, found.rows);
  EXPECT_NE(kmeans_projection(points, {.points = 300, .seed = 5}).rows, found.rows);
  EXPECT_EQ(kmeans_projection(points, {.points = 5000}).rows.size(), 5000U);
}

TYPED_TEST(Projection, OfEqualPointsIsOnePlace) {
  for (const TypeParam value : {TypeParam{0}, TypeParam{3}}) {
    Matrix<TypeParam> points(4, 3);
    for (std::int64_t index = 0; index < 12; ++index) points.data()[index] = value;
    const KMeansProjection found = kmeans_projection(points);
    for (std::int64_t index = 0; index < 8; ++index) EXPECT_EQ(found.places.data()[index], 0);
  }
}

TYPED_TEST(Projection, RefusesWhatCannotBe) {
  Matrix<TypeParam> points = grid<TypeParam>(1, 1);
  EXPECT_THROW(kmeans_projection(points, {.points = 0}), UsageError);
  EXPECT_THROW(kmeans_projection(points.view().slice(0, 0)), InputError);
  EXPECT_THROW(kmeans_projection(MatrixView<const TypeParam>(nullptr, 2, 2)), UsageError);
  EXPECT_THROW(kmeans_projection(points, {}, {.memory_limit = 100}), OutOfMemoryError);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(kmeans_projection(points, {}, {.stop = stop.get_token()}), InterruptedError);
  points(5, 2) = std::numeric_limits<TypeParam>::infinity();
  const std::string message = error_of<InputError>([&] { kmeans_projection(points); });
  EXPECT_TRUE(contains(message, "row 5, column 2 (counted from 0) is infinite")) << message;
}

}  // namespace
}  // namespace gradus
