// Compares predictions in blocks with a single call for all rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kmeans/api/blocks.hpp"
#include "kmeans/problem.hpp"
#include "tests/helpers.hpp"

namespace gradus {
namespace {

using kmeans_detail::BlockPrediction;
using kmeans_detail::transform_block;
using tests::contains;
using tests::error_of;
using tests::same_bits;

struct Case {
  const char* name;
  std::int64_t n, d, k;
  double offset, spread;  ///< the values are offset + spread^x * normal random numbers, with x from -1 to 1
  bool weighted;
  KMeansMetric metric;
  bool standardized;
};
constexpr Case cases[] = {
    {"one_point", 1, 1, 1, 0, 1, false, KMeansMetric::euclidean, false},
    {"plain", 499, 5, 7, 0, 1, false, KMeansMetric::euclidean, false},
    {"plain_weighted", 499, 5, 7, 0, 1, true, KMeansMetric::euclidean, false},
    {"offset", 300, 3, 40, 1e15, 1e4, false, KMeansMetric::euclidean, false},
    {"wide", 300, 4, 6, 0, 1e15, false, KMeansMetric::euclidean, false},
    {"wide_weighted", 300, 4, 6, 0, 1e15, true, KMeansMetric::euclidean, false},
    {"long_rows", 130, 300, 11, 0, 1, false, KMeansMetric::euclidean, false},
    {"many_clusters", 260, 40, 130, 0, 1, false, KMeansMetric::euclidean, false},
    {"cosine", 400, 6, 8, 0, 1, false, KMeansMetric::cosine, false},
    {"cosine_weighted", 400, 6, 8, 0, 1, true, KMeansMetric::cosine, false},
    {"standardized", 400, 6, 8, 3, 100, false, KMeansMetric::euclidean, true},
    {"standardized_weighted", 400, 6, 8, 3, 100, true, KMeansMetric::euclidean, true},
};
constexpr std::int64_t sizes[] = {1, 7, 31, 127, 1 << 20};  // odd and prime sizes, and all rows at once

template <class T>
struct Data {
  Matrix<T> points;
  std::vector<T> weights;
  Matrix<T> centroids;
  KMeansModel<T> model;

  VectorView<const T> weights_view() const {
    return weights.empty() ? VectorView<const T>() : VectorView<const T>(weights.data(), points.rows());
  }
};

template <class T>
Data<T> data_of(const Case& one) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  Data<T> data{Matrix<T>(one.n, one.d), {}, Matrix<T>(one.k, one.d), {}};
  for (std::int64_t row = 0; row < one.n; ++row) {
    const double scale = std::pow(one.spread, 2 * static_cast<double>(random() % 1000) / 999 - 1);
    for (std::int64_t column = 0; column < one.d; ++column)
      data.points(row, column) = static_cast<T>(one.offset + scale * normal(random));
    // Every third row and some consecutive rows have the weight zero.
    const bool none = row % 3 == 0 || (row > 100 && row < 240);
    if (one.weighted) data.weights.push_back(none ? T{0} : static_cast<T>(std::exp(3 * normal(random))));
  }
  for (std::int64_t row = 0; row < one.k; ++row)
    std::copy_n(data.points.row(row * one.n / one.k), one.d, data.centroids.row(row));
  data.model.centroids = std::as_const(data.centroids).view();
  data.model.metric = one.metric;
  for (std::int64_t column = 0; one.standardized && column < one.d; ++column) {
    data.model.standardization.mean.push_back(one.offset + static_cast<double>(column));
    data.model.standardization.scale.push_back(0.3 + static_cast<double>(column));
  }
  return data;
}

Execution on_cpu(int threads, std::string_view variant = {}) {
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  execution.variant = variant;
  return execution;
}

struct Predicted {
  std::vector<std::int32_t> labels;
  double inertia = 0;
};

template <class T>
Predicted predict_in_blocks(const Data<T>& data, MatrixView<const T> points, std::int64_t size,
                            const Execution& execution) {
  BlockPrediction<T> prediction(data.model, data.weights_view(), points.rows());
  Predicted result;
  while (prediction.rows() < points.rows()) {
    const std::int64_t rows = std::min(size, points.rows() - prediction.rows());
    const Buffer<std::int32_t> labels = prediction.add(points.slice(prediction.rows(), rows), execution);
    result.labels.insert(result.labels.end(), labels.begin(), labels.end());
  }
  result.inertia = prediction.inertia();
  return result;
}

template <class T>
class Blocks : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Blocks, Elements);

TYPED_TEST(Blocks, PredictTheBitsOfOneCall) {
  using T = TypeParam;
  for (const Case& one : cases) {
    const Data<T> data = data_of<T>(one);
    const KMeansPrediction expected =
        kmeans_predict(data.model, data.points, {.weights = data.weights_view()}, on_cpu(1));
    for (const std::int64_t size : sizes) {
      SCOPED_TRACE(std::string(one.name) + " in blocks of " + std::to_string(size));
      const Predicted found = predict_in_blocks<T>(data, data.points.view(), size, on_cpu(size % 4 == 3 ? 2 : 1));
      EXPECT_TRUE(same_bits(found.labels.data(), expected.labels.data(), one.n));
      EXPECT_EQ(found.inertia, expected.inertia);
    }
  }
}

TYPED_TEST(Blocks, PredictByEveryVariant) {
  using T = TypeParam;
  for (const auto* const variant : tests::rows_that(kmeans_detail::variants(), tests::runs_on_cpu))
    for (const Case& one : cases) {
      SCOPED_TRACE(std::string(variant->name) + ", " + one.name);
      const Data<T> data = data_of<T>(one);
      const Execution execution = on_cpu(2, variant->name);
      KMeansPrediction expected;
      try {
        expected = kmeans_predict(data.model, data.points, {.weights = data.weights_view()}, execution);
      } catch (const UnsupportedError&) {
        continue;
      }
      for (const std::int64_t size : {31, 1 << 20}) {
        const Predicted found = predict_in_blocks<T>(data, data.points.view(), size, execution);
        EXPECT_TRUE(same_bits(found.labels.data(), expected.labels.data(), one.n));
        if (variant->contract == core::Contract::same_bits) EXPECT_EQ(found.inertia, expected.inertia);
        else EXPECT_NEAR(found.inertia, expected.inertia, 1e-12 * expected.inertia);
      }
    }
}

TYPED_TEST(Blocks, TransformToTheBitsOfOneCall) {
  using T = TypeParam;
  for (const Case& one : cases) {
    const Data<T> data = data_of<T>(one);
    const Matrix<T> expected = kmeans_transform(data.model, data.points, on_cpu(1));
    for (const std::int64_t size : sizes) {
      SCOPED_TRACE(std::string(one.name) + " in blocks of " + std::to_string(size));
      for (std::int64_t first = 0; first < one.n; first += size) {
        const std::int64_t rows = std::min(size, one.n - first);
        const Matrix<T> found = transform_block<T>(data.model, data.points.view().slice(first, rows), first, on_cpu(1));
        ASSERT_TRUE(same_bits(found.data(), expected.row(first), rows * one.k));
      }
    }
  }
}

TYPED_TEST(Blocks, CountTheRowsOfTheTableInErrors) {
  using T = TypeParam;
  const Case one = cases[1];
  const Data<T> plain = data_of<T>(one);
  Matrix<T> bad = Matrix<T>::copy_of(plain.points.view());
  bad(403, 2) = std::numeric_limits<T>::quiet_NaN();
  for (const std::int64_t size : sizes)
    for (const bool standardized : {false, true})
      for (const Device device : {Device::cpu, Device::automatic}) {
        SCOPED_TRACE(size);
        Data<T> data = data_of<T>(one);
        if (standardized) data.model.standardization = {std::vector<double>(5, 1.0), std::vector<double>(5, 2.0)};
        Execution execution = on_cpu(1);
        execution.device = device;
        const auto whole = error_of<InputError>([&] { kmeans_predict(data.model, bad, {}, execution); });
        EXPECT_TRUE(contains(whole, "row 403, column 2")) << whole;
        EXPECT_EQ(error_of<InputError>([&] { predict_in_blocks<T>(data, bad.view(), size, execution); }), whole);
        const auto transform = [&] {
          for (std::int64_t first = 0; first < one.n; first += size)
            transform_block<T>(data.model, bad.view().slice(first, std::min(size, one.n - first)), first, execution);
        };
        EXPECT_EQ(error_of<InputError>(transform), whole);
      }
  Data<T> data = data_of<T>(cases[2]);
  data.weights[403] = -1;
  EXPECT_TRUE(contains(error_of<InputError>([&] { predict_in_blocks<T>(data, plain.points.view(), 7, on_cpu(1)); }),
                       "the weight in row 403"));
  Data<T> cosine = data_of<T>(one);
  cosine.model.metric = KMeansMetric::cosine;
  std::fill_n(bad.row(403), one.d, T{0});
  EXPECT_TRUE(contains(error_of<InputError>([&] { predict_in_blocks<T>(cosine, bad.view(), 7, on_cpu(1)); }),
                       "row 403 (counted from 0) is all zeros"));
}

TYPED_TEST(Blocks, RefuseWeightsAsAWhole) {
  using T = TypeParam;
  Data<T> data = data_of<T>(cases[2]);
  const std::int64_t n = data.points.rows();
  EXPECT_TRUE(contains(error_of<InputError>([&] { BlockPrediction<T>(data.model, data.weights_view(), n + 1); }),
                       "there are 499 weights for 500 points"));
  std::ranges::fill(data.weights, T{0});
  EXPECT_TRUE(contains(error_of<InputError>([&] { predict_in_blocks<T>(data, data.points.view(), 7, on_cpu(1)); }),
                       "all weights are zero"));
}

TEST(BlocksOfDouble, RefuseAnInertiaBeyondTheRange) {
  // Each block has a finite inertia, but the inertia of all blocks exceeds the range of double.
  Matrix<double> points(40, 1);
  for (std::int64_t row = 0; row < 40; ++row) points(row, 0) = row % 2 == 0 ? 0x1p500 : -0x1p500;
  Data<double> data{Matrix<double>::copy_of(points.view()), std::vector<double>(40, 0x1p21), Matrix<double>(1, 1), {}};
  data.centroids(0, 0) = 0;
  data.model.centroids = std::as_const(data.centroids).view();
  for (const std::int64_t size : {7, 40})
    EXPECT_TRUE(contains(error_of<InputError>([&] { predict_in_blocks<double>(data, points.view(), size, on_cpu(1)); }),
                         "the inertia is beyond the range of double"));
}

}  // namespace
}  // namespace gradus
