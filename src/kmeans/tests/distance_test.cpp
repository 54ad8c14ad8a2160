// Tests that the distances of many points have the same bits as the plain chain, on every instruction set of this
// machine.
#include "kmeans/assign/distance.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "cpu/forced_target.hpp"

namespace gradus::kmeans_detail {
namespace {

template <class T>
class Rows {
 public:
  Rows(std::int64_t rows, std::int64_t columns, std::int64_t padding, double offset, unsigned seed)
      : storage_(static_cast<std::size_t>(rows * (columns + padding)), std::numeric_limits<T>::quiet_NaN()),
        view_(storage_.data(), rows, columns, columns + padding) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        storage_[static_cast<std::size_t>(row * (columns + padding) + column)] =
            static_cast<T>(offset + normal(random) * std::exp(3 * normal(random)));
  }
  MatrixView<const T> view() const { return view_; }

 private:
  std::vector<T> storage_;
  MatrixView<const T> view_;
};

struct Shape4 {
  std::int64_t points, centroids, dimensions, padding;
};

template <class T>
void expect_same_bits(const Shape4& shape, double offset) {
  const Rows<T> points(shape.points, shape.dimensions, shape.padding, offset, 1);
  const Rows<T> centroids(shape.centroids, shape.dimensions, shape.padding / 2, offset, 2);
  std::vector<double> out(static_cast<std::size_t>(shape.points * shape.centroids + 1), -1.0);
  squared_distances(points.view(), centroids.view(), out.data());
  for (std::int64_t cluster = 0; cluster < shape.centroids; ++cluster)
    for (std::int64_t point = 0; point < shape.points; ++point) {
      const double truth = squared_distance(points.view().row(point), centroids.view().row(cluster), shape.dimensions);
      const double found = out[static_cast<std::size_t>(cluster * shape.points + point)];
      ASSERT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(truth))
          << shape.points << " points, " << shape.centroids << " centroids, " << shape.dimensions
          << " dimensions: point " << point << ", centroid " << cluster << ": " << found << ", not " << truth;
    }
  ASSERT_EQ(out.back(), -1.0) << "wrote past the end";

  std::vector<std::int32_t> labels(static_cast<std::size_t>(shape.points));
  for (std::size_t point = 0; point < labels.size(); ++point)
    labels[point] = static_cast<std::int32_t>((point * 7 + 3) % static_cast<std::size_t>(shape.centroids));
  std::vector<double> own(labels.size() + 1, -1.0);
  own_squared_distances(points.view(), centroids.view(), labels.data(), own.data(), 2);
  for (std::int64_t point = 0; point < shape.points; ++point)
    ASSERT_EQ(own[static_cast<std::size_t>(point)],
              out[static_cast<std::size_t>(labels[static_cast<std::size_t>(point)] * shape.points + point)])
        << "own distance of point " << point << ", " << shape.dimensions << " dimensions";
  ASSERT_EQ(own.back(), -1.0) << "wrote past the end";
}

class Distance : public testing::TestWithParam<std::int64_t> {};

TEST_P(Distance, HasTheBitsOfTheChain) {
  const cpu::ForcedTarget forced(GetParam());
  for (const std::int64_t dimensions : {1, 2, 3, 4, 5, 7, 16, 63, 64, 65, 130})
    for (const std::int64_t points : {1, 3, 4, 9, 16, 17, 33, 70})
      for (const std::int64_t centroids : {1, 2, 3, 8, 17}) {
        expect_same_bits<float>({points, centroids, dimensions, points % 3}, 0);
        expect_same_bits<double>({points, centroids, dimensions, points % 3}, 1e8);
      }
}

TEST_P(Distance, ManyDimensionsManyCentroids) {
  const cpu::ForcedTarget forced(GetParam());
  for (const std::int64_t dimensions : {1023, 1024, 1025, 3001}) {
    expect_same_bits<float>({37, 19, dimensions, 1}, 100);
    expect_same_bits<double>({37, 19, dimensions, 0}, 0);
  }
  expect_same_bits<float>({33, 600, 5, 0}, 0);
}

TEST_P(Distance, NothingIsDone) {
  const cpu::ForcedTarget forced(GetParam());
  double untouched = -1;
  squared_distances<float>(MatrixView<const float>{nullptr, 0, 3}, MatrixView<const float>{nullptr, 0, 3}, &untouched);
  EXPECT_EQ(untouched, -1);
}

INSTANTIATE_TEST_SUITE_P(Targets, Distance, testing::ValuesIn(cpu::compiled_targets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

}  // namespace
}  // namespace gradus::kmeans_detail
