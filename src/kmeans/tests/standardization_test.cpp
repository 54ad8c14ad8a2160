// Compares mean and scale with results in exact integers. Compares calls that standardize with calls on a standardized
// copy.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gradus/kmeans.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

using tests::contains;
using tests::error_of;
using tests::same_bits;

template <class T>
class Standardized : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Standardized, Elements);

/// Returns columns of very different magnitudes. In one column, all values are equal.
template <class T>
Matrix<T> some_points(std::int64_t n, std::int64_t d) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  Matrix<T> points(n, d);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t column = 0; column < d; ++column)
      points(row, column) = column % 4 == 3 ? T{7}
                                            : static_cast<T>(std::pow(10.0, static_cast<double>(column % 5 - 2)) *
                                                             (normal(random) + static_cast<double>(row % 3) * 4 + 9));
  return points;
}

struct Shape {
  std::int64_t n, d;
};
constexpr Shape shapes[] = {{1, 1}, {2, 3}, {31, 5}, {700, 4}, {90, 1100}};

template <class T>
Matrix<T> plainly_standardized(const Matrix<T>& points, const KMeansStandardization& by) {
  Matrix<T> result(points.rows(), points.columns());
  for (std::int64_t row = 0; row < points.rows(); ++row)
    for (std::int64_t column = 0; column < points.columns(); ++column) {
      const auto index = static_cast<std::size_t>(column);
      const double from_mean = static_cast<double>(points(row, column)) - by.mean[index];
      result(row, column) = static_cast<T>(from_mean / by.scale[index]);
    }
  return result;
}

template <class T>
void expect_same(const KMeansResult<T>& one, const KMeansResult<T>& other) {
  EXPECT_TRUE(same_bits(one.labels.data(), other.labels.data(), other.labels.size()));
  EXPECT_EQ(one.labels.size(), other.labels.size());
  EXPECT_EQ(one.counts, other.counts);
  EXPECT_EQ(one.inertia, other.inertia);
  EXPECT_EQ(one.iterations, other.iterations);
}

TYPED_TEST(Standardized, ColumnsOfIntegersHaveTheExactMeanAndScale) {
  // With 2^p rows of integers, the mean and the differences from the mean are multiples of 2^-p.
  std::mt19937 random(3);
  for (const int power : {0, 1, 4, 9}) {
    const std::int64_t n = std::int64_t{1} << power;
    const std::int64_t d = 600;  // there are more columns than the code sums at a time
    Matrix<TypeParam> points(n, d);
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t column = 0; column < d; ++column)
        points(row, column) = static_cast<TypeParam>(static_cast<int>(random() % 2001) - 1000);
    const KMeansStandardization by = kmeans_standardization(points);
    ASSERT_EQ(by.mean.size(), 600U);
    for (std::int64_t column = 0; column < d; ++column) {
      std::int64_t sum = 0;
      for (std::int64_t row = 0; row < n; ++row) sum += static_cast<std::int64_t>(points(row, column));
      std::int64_t squares = 0;  // sum of the squared differences from the mean, in units of 2^-2p
      for (std::int64_t row = 0; row < n; ++row) {
        const std::int64_t difference = static_cast<std::int64_t>(points(row, column)) * n - sum;
        squares += difference * difference;
      }
      const double variance = std::ldexp(static_cast<double>(squares), -3 * power);
      EXPECT_EQ(by.mean[static_cast<std::size_t>(column)], std::ldexp(static_cast<double>(sum), -power));
      EXPECT_EQ(by.scale[static_cast<std::size_t>(column)], variance > 0 ? std::sqrt(variance) : 1);
    }
  }
}

TYPED_TEST(Standardized, RowsAreTheSameBitsOnAnyNumberOfThreads) {
  for (const auto& [n, d] : shapes) {
    const Matrix<TypeParam> points = some_points<TypeParam>(n, d);
    const KMeansStandardization by = kmeans_standardization(points, {.threads = 1});
    const Matrix<TypeParam> expected = plainly_standardized(points, by);
    for (const int threads : {1, 2, 3, 7, 16}) {
      SCOPED_TRACE(testing::Message() << n << " x " << d << ", threads " << threads);
      const KMeansStandardization again = kmeans_standardization(points, {.threads = threads});
      EXPECT_EQ(again.mean, by.mean);
      EXPECT_EQ(again.scale, by.scale);
      EXPECT_TRUE(same_bits(kmeans_standardize(points, by, {.threads = threads}), expected));
    }
    for (std::int64_t column = 3; column < d; column += 4) {
      EXPECT_EQ(by.mean[static_cast<std::size_t>(column)], 7);
      EXPECT_EQ(by.scale[static_cast<std::size_t>(column)], 1);
    }
  }
}

TYPED_TEST(Standardized, FitsAreFitsOfAStandardizedCopy) {
  const Matrix<TypeParam> points = some_points<TypeParam>(700, 4);
  const KMeansStandardization by = kmeans_standardization(points);
  const Matrix<TypeParam> copy = kmeans_standardize(points, by);
  std::vector<TypeParam> weights;
  for (int row = 0; row < 700; ++row) weights.push_back(static_cast<TypeParam>(row % 5));
  const Matrix<TypeParam> given = Matrix<TypeParam>::copy_of(points.view().slice(20, 5));
  const Matrix<TypeParam> given_copy = kmeans_standardize(given, by);
  for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
    for (const bool weighted : {false, true})
      for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::first, KMeansInit::given})
        for (const int threads : {1, 3}) {
          SCOPED_TRACE(testing::Message() << static_cast<int>(metric) << weighted << static_cast<int>(init) << threads);
          KMeansOptions options{.clusters = 5, .init = init, .metric = metric, .seed = 11};
          KMeansMemory<TypeParam> memory;
          if (weighted) memory.weights = weights;
          if (init == KMeansInit::given) memory.initial_centroids = given_copy.view();
          const KMeansResult<TypeParam> expected = kmeans(copy, options, memory, {.threads = threads});
          EXPECT_TRUE(expected.standardization.empty());
          EXPECT_EQ(expected.standardized_centroids.rows(), 0);

          options.standardize = true;
          if (init == KMeansInit::given) memory.initial_centroids = given.view();
          const KMeansResult<TypeParam> fit = kmeans(points, options, memory, {.threads = threads});
          expect_same(fit, expected);
          EXPECT_EQ(fit.metric, metric);
          EXPECT_EQ(fit.standardization.mean, by.mean);
          EXPECT_EQ(fit.standardization.scale, by.scale);
          EXPECT_TRUE(same_bits(fit.standardized_centroids, expected.centroids));
          EXPECT_TRUE(same_bits(fit.centroids, kmeans_restore(expected.centroids, by)));
          EXPECT_EQ(fit.report.phases.front().name, "standardize");
          EXPECT_EQ(fit.report.phases.back().name, "total");
          EXPECT_GE(fit.report.phases.back().seconds, fit.report.phases.front().seconds);
        }
}

TYPED_TEST(Standardized, CheckpointsAreThoseOfTheCopy) {
  const Matrix<TypeParam> points = some_points<TypeParam>(300, 4);
  KMeansOptions options{.clusters = 6, .standardize = true};
  options.checkpoint.file = testing::TempDir() + "standardized.npz";
  std::remove(options.checkpoint.file.c_str());
  const KMeansResult<TypeParam> fit = kmeans(points, options);
  options.checkpoint.resume = true;
  const KMeansResult<TypeParam> again = kmeans(points, options);
  EXPECT_TRUE(again.resumed);
  expect_same(again, fit);
  options.standardize = false;
  EXPECT_THROW(kmeans(points, options), InputError);
  std::remove(options.checkpoint.file.c_str());
}

TYPED_TEST(Standardized, FirstCentroidsAreRowsInTheUnitsOfTheData) {
  const Matrix<TypeParam> points = some_points<TypeParam>(200, 4);
  const Matrix<TypeParam> copy = kmeans_standardize(points, kmeans_standardization(points));
  KMeansOptions options{.clusters = 7, .seed = 2};
  const std::vector<std::int64_t> rows = kmeans_initial_centroids(copy, options).rows;
  options.standardize = true;
  const KMeansInitialCentroids<TypeParam> first = kmeans_initial_centroids(points, options);
  EXPECT_EQ(first.rows, rows);
  for (std::size_t cluster = 0; cluster < rows.size(); ++cluster)
    EXPECT_TRUE(same_bits(first.centroids.row(static_cast<std::int64_t>(cluster)), points.row(rows[cluster]), 4));
  const KMeansResult<TypeParam> fit = kmeans(points, options);
  options.init = KMeansInit::given;
  expect_same(kmeans(points, options, {.initial_centroids = first.centroids.view()}), fit);
  EXPECT_TRUE(
      same_bits(kmeans_initial_centroids(points, options, {.initial_centroids = first.centroids.view()}).centroids,
                first.centroids));
}

TYPED_TEST(Standardized, ModelsLabelPointsAsTheFitDid) {
  const Matrix<TypeParam> points = some_points<TypeParam>(400, 5);
  const std::vector<TypeParam> weights(400, TypeParam{2});
  for (const bool standardize : {false, true})
    for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine}) {
      SCOPED_TRACE(testing::Message() << standardize << static_cast<int>(metric));
      const KMeansResult<TypeParam> fit = kmeans(
          points, {.clusters = 4, .metric = metric, .standardize = standardize, .seed = 1}, {.weights = weights});
      const KMeansModel<TypeParam> model = kmeans_model(fit);
      std::vector<std::int32_t> labels(400);
      const KMeansPrediction prediction = kmeans_predict(model, points, {.weights = weights, .labels = labels});
      EXPECT_EQ(prediction.labels.size(), 0);
      EXPECT_TRUE(same_bits(labels.data(), fit.labels.data(), 400));
      EXPECT_EQ(prediction.inertia, fit.inertia);
      EXPECT_EQ(prediction.report.phases.back().name, "total");

      const Matrix<TypeParam> seen =
          standardize ? plainly_standardized(points, fit.standardization) : Matrix<TypeParam>::copy_of(points.view());
      const Matrix<TypeParam> expected = kmeans_transform(model.centroids, seen, metric);
      EXPECT_TRUE(same_bits(kmeans_transform(model, points), expected));
      Matrix<TypeParam> distances(400, 4);
      EXPECT_EQ(kmeans_transform(model, points, distances.view()).phases.back().name, "total");
      EXPECT_TRUE(same_bits(distances, expected));
    }
}

TYPED_TEST(Standardized, RefusesWhatCannotBe) {
  using T = TypeParam;
  Matrix<T> points = some_points<T>(20, 3);
  const KMeansOptions options{.clusters = 2, .standardize = true};
  const KMeansResult<T> fit = kmeans(points, options);
  const KMeansModel<T> model = kmeans_model(fit);
  struct Wrong {
    std::string says;
    KMeansStandardization by;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [says, by] :
       std::vector<Wrong>{{"2 means and 3 scales for 3 columns", {{1, 2}, {1, 1, 1}}},
                          {"3 means and 0 scales", {{1, 2, 3}, {}}},
                          {"column 1 (counted from 0) has mean 0.000000 and scale 0.000000", {{0, 0, 0}, {1, 0, 1}}},
                          {"column 2", {{0, 0, 0}, {1, 1, -1}}},
                          {"column 0", {{infinity, 0, 0}, {1, 1, 1}}},
                          {"column 0", {{0, 0, 0}, {std::nan(""), 1, 1}}}}) {
    const auto refused = [&, says = says](const std::function<void()>& call) {
      const std::string message = error_of<UsageError>(call);
      EXPECT_TRUE(contains(message, says)) << message;
    };
    KMeansModel<T> wrong = model;
    wrong.standardization = by;
    refused([&, by = by] { kmeans_standardize(points, by); });
    refused([&, by = by] { kmeans_restore(points, by); });
    refused([&] { kmeans_predict(wrong, points); });
    refused([&] { kmeans_transform(wrong, points); });
  }
  EXPECT_THROW(kmeans_predict(model, points.view().slice(0, 0)), InputError);
  EXPECT_THROW(kmeans_predict(model, some_points<T>(20, 4)), InputError);
  // The memory for the result overlaps the input.
  EXPECT_THROW(kmeans_transform(model, points, MatrixView<T>(points.data(), 20, 2)), UsageError);
  EXPECT_THROW(kmeans(points, {.clusters = 21, .standardize = true}), InputError);
  EXPECT_THROW(kmeans(points, {.clusters = 0, .standardize = true}), UsageError);
  EXPECT_THROW(kmeans_standardization(MatrixView<const T>(nullptr, 3, 3)), UsageError);

  points(17, 1) = std::numeric_limits<T>::quiet_NaN();
  for (const std::function<void()>& call :
       std::vector<std::function<void()>>{[&] { kmeans(points, options); }, [&] { kmeans_standardization(points); }})
    EXPECT_TRUE(contains(error_of<InputError>(call), "points: row 17, column 1 (counted from 0) is NaN"));
  EXPECT_TRUE(contains(error_of<InputError>([&] { kmeans_predict(model, points); }), "row 17, column 1"));
}

TEST(StandardizedDoubles, TooLargeAreRefused) {
  const Matrix<double> points =
      Matrix<double>::copy_of(MatrixView<const double>(std::vector<double>{0, -1e308, 1, 1e308}.data(), 2, 2));
  EXPECT_TRUE(contains(error_of<InputError>([&] { kmeans(points, {.clusters = 1, .standardize = true}); }),
                       "column 1 (counted from 0) are too large to be standardized"));
}

TEST(StandardizedMemory, IsEstimatedAndGranted) {
  const Matrix<float> points = some_points<float>(1000, 8);
  constexpr std::uint64_t copy = std::uint64_t{1000} * 8 * sizeof(float);
  KMeansOptions options{.clusters = 3};
  const std::uint64_t plain = kmeans_memory({1000, 8, 4}, options).host;
  options.standardize = true;
  EXPECT_EQ(kmeans_memory({1000, 8, 4}, options).host, plain + copy);
  const std::string message = error_of<OutOfMemoryError>([&] { kmeans(points, options, {.memory_limit = copy}); });
  EXPECT_TRUE(contains(message, "a standardized copy of the points takes 32000 bytes")) << message;
  EXPECT_NO_THROW(kmeans(points, options, {.memory_limit = plain + copy}));
  // The limit that the message names is the smallest one that suffices.
  const std::string needs = "the job needs ";
  ASSERT_TRUE(contains(message, needs)) << message;
  const std::uint64_t named = std::stoull(message.substr(message.find(needs) + needs.size()));
  for (const std::uint64_t limit : {std::uint64_t{1}, copy + 1, named - 1})
    EXPECT_THROW(kmeans(points, options, {.memory_limit = limit}), OutOfMemoryError) << limit;
  EXPECT_NO_THROW(kmeans(points, options, {.memory_limit = named}));
  const std::string of_centroids =
      error_of<OutOfMemoryError>([&] { kmeans_initial_centroids(points, options, {}, {.memory_limit = copy}); });
  EXPECT_TRUE(contains(of_centroids, "a standardized copy of the points takes 32000 bytes")) << of_centroids;
}

TEST(StandardizedCalls, CopyTheRowsOfOneProcess) {
  tests::ThreadRanks ranks(1);
  const auto thrown = ranks.run([](Communicator& communicator) {
    kmeans_standardize(some_points<float>(20, 3), {{0, 0, 0}, {1, 1, 1}}, {.communicator = &communicator});
  });
  EXPECT_TRUE(contains(error_of<UnsupportedError>([&] { std::rethrow_exception(thrown.front()); }),
                       "does not run on several ranks"));
}

TEST(StandardizedCalls, StopWhereTheyAreAskedTo) {
  std::stop_source stop;
  stop.request_stop();
  const Matrix<float> points = some_points<float>(20, 3);
  const Execution execution{.stop = stop.get_token()};
  EXPECT_THROW(kmeans_standardization(points, execution), InterruptedError);
  EXPECT_THROW(kmeans_standardize(points, {{0, 0, 0}, {1, 1, 1}}, execution), InterruptedError);
  EXPECT_THROW(kmeans(points, {.clusters = 2, .standardize = true}, execution), InterruptedError);
}

}  // namespace
}  // namespace gradus
