// What may be given where a matrix or a vector is asked for, and what may not: the conversions, and every call that
// deduces its element type. What must not compile is checked by concepts.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gradus/kmeans.hpp"
#include "gradus/pair_histogram.hpp"
#include "gradus/version.hpp"

namespace gradus {
namespace {

// ---------------------------------------------------------------------------------------------------------------------
// What does not compile

template <class Points>
concept Clusters = requires(const Points& points) {
  kmeans(points, KMeansOptions{});
};
template <class Points, class T>
concept ClustersWith = requires(const Points& points, const KMeansMemory<T>& memory) {
  kmeans(points, KMeansOptions{}, memory, Execution{});
};
template <class Centroids, class Points>
concept Predicts = requires(const Centroids& centroids, const Points& points, VectorView<std::int32_t> labels) {
  kmeans_predict(centroids, points);
  kmeans_predict(centroids, points, KMeansMetric::cosine);
  kmeans_predict(centroids, points, labels);
};
template <class Centroids, class Points, class Distances>
concept Transforms = requires(const Centroids& centroids, const Points& points, Distances distances) {
  kmeans_transform(centroids, points);
  kmeans_transform(centroids, points, distances, KMeansMetric::cosine);
};
template <class Points>
concept Counts = requires(const Points& points) {
  pair_histogram(points, PairHistogramOptions{});
};

template <class Points>
constexpr bool deduces = Clusters<Points>&& Counts<Points>&& Predicts<Points, Points>;
template <class Points>
constexpr bool refused = !Clusters<Points> && !Counts<Points> && !Predicts<Points, Points>;

static_assert(deduces<Matrix<float>> && deduces<Matrix<double>>);
static_assert(deduces<MatrixView<float>> && deduces<MatrixView<const double>>);
static_assert(deduces<std::vector<std::array<float, 3>>> && deduces<std::array<std::array<double, 2>, 9>>);
static_assert(deduces<std::span<const std::array<float, 3>>> && deduces<std::span<std::array<double, 3>>>);
static_assert(deduces<float[9][2]>);
static_assert(refused<Matrix<int>> && refused<MatrixView<const std::int64_t>> && refused<MatrixView<long double>>);
static_assert(refused<std::vector<std::array<int, 3>>> && refused<int[9][2]>);
static_assert(refused<std::vector<float>> && refused<std::span<const double>> && refused<float[9]>);  // no columns
static_assert(refused<std::vector<std::vector<float>>>);    // rows here and there
static_assert(refused<std::vector<std::array<float, 0>>>);  // no columns
static_assert(refused<VectorView<const float>> && refused<Buffer<float>> && refused<const float*> && refused<int>);

static_assert(ClustersWith<Matrix<float>, float> && !ClustersWith<Matrix<float>, double>);
static_assert(Predicts<Matrix<float>, MatrixView<const float>> && Predicts<float[9][2], Matrix<float>>);
static_assert(!Predicts<Matrix<double>, Matrix<float>> && !Predicts<Matrix<float>, Matrix<double>>);
static_assert(Transforms<Matrix<float>, Matrix<float>, MatrixView<float>>);
static_assert(Transforms<Matrix<float>, Matrix<float>, Matrix<float>&>);
static_assert(!Transforms<Matrix<float>, Matrix<float>, MatrixView<const float>>);  // nothing can be written there
static_assert(!Transforms<Matrix<float>, Matrix<float>, const Matrix<float>&>);
static_assert(!Transforms<Matrix<float>, Matrix<float>, MatrixView<double>>);

template <class From, class To>
constexpr bool becomes = std::is_convertible_v<From, To>;

static_assert(becomes<Matrix<float>&, MatrixView<float>> && becomes<const Matrix<float>&, MatrixView<const float>>);
static_assert(!becomes<const Matrix<float>&, MatrixView<float>> && !becomes<Matrix<double>&, MatrixView<const float>>);
static_assert(!becomes<MatrixView<const float>, MatrixView<float>>);
static_assert(!becomes<Matrix<float>, MatrixView<const float>>);  // it would outlive its elements
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

// ---------------------------------------------------------------------------------------------------------------------
// What compiles gives the same

constexpr std::int64_t n = 9;
constexpr std::int64_t d = 2;
using Rows = std::vector<std::array<float, 2>>;

Rows some_rows() {
  Rows rows;
  for (std::int64_t row = 0; row < n; ++row)
    rows.push_back({static_cast<float>(row * 7 % 11), static_cast<float>(row * row % 13)});
  return rows;
}

KMeansOptions three_clusters() {
  KMeansOptions options;
  options.clusters = 3;
  return options;
}

PairHistogramOptions some_bins() {
  PairHistogramOptions options;
  options.bins = {.bin_width = 1.5, .bins = 6};
  return options;
}

class Deduction : public testing::Test {
 protected:
  /// That each call gives what it gives for a view.
  template <class Points>
  void expect_same(const Points& points, const char* what) const {
    SCOPED_TRACE(what);
    const KMeansResult<float> fit = kmeans(points, three_clusters());
    EXPECT_TRUE(std::equal(fit.labels.begin(), fit.labels.end(), fit_.labels.begin(), fit_.labels.end()));
    EXPECT_EQ(fit.inertia, fit_.inertia);
    EXPECT_EQ(kmeans_predict(fit_.centroids, points).inertia, kmeans_predict(fit_.centroids, view_).inertia);
    const Matrix<float> distances = kmeans_transform(points, points);
    const Matrix<float> expected = kmeans_transform(view_, view_);
    ASSERT_EQ(distances.rows(), n);
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t column = 0; column < n; ++column) EXPECT_EQ(distances(row, column), expected(row, column));
    const PairHistogramResult pairs = pair_histogram(points, some_bins());
    EXPECT_EQ(pairs.counts, counts_.counts);
    EXPECT_EQ(pairs.pairs, counts_.pairs);
  }

  Rows rows_ = some_rows();
  MatrixView<const float> view_{rows_.front().data(), n, d};
  KMeansResult<float> fit_ = kmeans(view_, three_clusters());
  PairHistogramResult counts_ = pair_histogram(view_, some_bins());
};

TEST_F(Deduction, OfEachKindOfMatrix) {
  Matrix<float> matrix = Matrix<float>::copy_of(view_);
  Buffer<float> padded(n * 5, -1.0F);
  std::array<std::array<float, 2>, n> fixed{};
  float plain[n][d];
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t column = 0; column < d; ++column) {
      const float value = view_(row, column);
      padded[row * 5 + column] = value;
      fixed[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = value;
      plain[row][column] = value;
    }
  expect_same(matrix, "Matrix");
  expect_same(matrix.view(), "mutable view");
  expect_same(MatrixView<float>(padded.data(), n, d, 5), "rows apart");
  expect_same(rows_, "vector of arrays");
  expect_same(std::span<const std::array<float, 2>>(rows_), "span of arrays");
  expect_same(std::span(rows_), "span of mutable arrays");
  expect_same(fixed, "array of arrays");
  expect_same(plain, "plain array");
  expect_same(some_rows(), "a temporary, which lives until the call returns");
}

TEST_F(Deduction, OfMemory) {
  const std::vector<float> weights(n, 2.0F);
  std::vector<std::int32_t> labels(n, -1);
  const KMeansResult<float> fit = kmeans(rows_, three_clusters(), {.weights = weights, .labels = labels});
  EXPECT_EQ(fit.labels.size(), 0);
  EXPECT_TRUE(std::equal(labels.begin(), labels.end(), fit_.labels.begin(), fit_.labels.end()));
  KMeansOptions given = three_clusters();
  given.init = KMeansInit::given;
  const Rows first(rows_.begin(), rows_.begin() + 3);
  EXPECT_EQ(kmeans(rows_, given, {.initial_centroids = first}).counts.size(), 3U);

  std::fill(labels.begin(), labels.end(), -1);
  const KMeansPrediction prediction = kmeans_predict(fit_.centroids, rows_, labels);
  EXPECT_TRUE(std::equal(labels.begin(), labels.end(), fit_.labels.begin(), fit_.labels.end()));
  EXPECT_FALSE(prediction.report.variant.empty());
  EXPECT_FALSE(prediction.report.device.empty());
  EXPECT_EQ(prediction.report.phases.back().name, "total");

  Matrix<float> distances(n, 3);
  const RunReport report = kmeans_transform(fit_.centroids, rows_, distances);
  EXPECT_EQ(distances(n - 1, 2), kmeans_transform(fit_.centroids, rows_)(n - 1, 2));
  EXPECT_EQ(report.variant, "");
  EXPECT_EQ(report.device, prediction.report.device);
  EXPECT_EQ(report.phases.back().name, "total");

  const PairHistogramResult crossed = pair_histogram(
      rows_, some_bins(), {.others = first, .weights = weights, .other_weights = std::span(weights).first(3)});
  EXPECT_EQ(crossed.pairs, static_cast<std::uint64_t>(n * 3));
  ASSERT_EQ(crossed.weighted.size(), crossed.counts.size());
  for (std::size_t bin = 0; bin < crossed.counts.size(); ++bin)
    EXPECT_EQ(crossed.weighted[bin], 4.0 * static_cast<double>(crossed.counts[bin]));
}

TEST_F(Deduction, OptionsOfTheRun) {
  const KMeansResult<float> fit = kmeans(rows_, three_clusters(), {.variant = "sequential"});
  EXPECT_EQ(fit.report.variant, "sequential");
  EXPECT_EQ(pair_histogram(rows_, some_bins(), {.variant = "sequential"}).report.variant, "sequential");
  EXPECT_EQ(kmeans(rows_, {.clusters = 3}, {}, {.threads = 1}).inertia, fit_.inertia);
}

// ---------------------------------------------------------------------------------------------------------------------
// What is refused when it runs, and never read

template <class Points>
void expect_refused(const Points& points, const std::string& says) {
  const auto expect = [&](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown; expected: " << says;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what() << "\nexpected: " << says;
    }
  };
  const Matrix<float> centroids = Matrix<float>::copy_of(MatrixView<const float>(some_rows().front().data(), 1, d));
  expect([&] { kmeans(points, three_clusters()); });
  expect([&] { kmeans_predict(centroids, points); });
  expect([&] { kmeans_predict(points, centroids); });
  expect([&] { kmeans_transform(centroids, points); });
  expect([&] { pair_histogram(points, some_bins()); });
}

TEST(DeductionRefuses, LyingRanges) {
  using Row = std::array<float, 2>;
  Row row{};
  expect_refused(std::span<const Row>(static_cast<const Row*>(nullptr), 10), "null");
  expect_refused(std::span<const Row>(&row, std::numeric_limits<std::size_t>::max()), "not negative");
  expect_refused(std::span<const Row>(&row, std::size_t{1} << 61), "overflow");
  expect_refused(MatrixView<float>(nullptr, 10, 2), "null");
}

#ifdef __cpp_lib_mdspan
static_assert(deduces<std::mdspan<const float, std::dextents<std::size_t, 2>>>);
static_assert(deduces<std::mdspan<float, std::dextents<int, 2>, std::layout_stride>>);
static_assert(refused<std::mdspan<float, std::dextents<int, 1>>> && refused<std::mdspan<float, std::dextents<int, 3>>>);
static_assert(refused<std::mdspan<int, std::dextents<int, 2>>>);

TEST_F(Deduction, OfMdspan) {
  using Extents = std::dextents<std::size_t, 2>;
  expect_same(std::mdspan(view_.data(), static_cast<std::size_t>(n), static_cast<std::size_t>(d)), "mdspan");
  Buffer<float> padded(n * 5, -1.0F);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t column = 0; column < d; ++column) padded[row * 5 + column] = view_(row, column);
  const Extents extents(n, d);
  const auto strided = [&](std::size_t row, std::size_t column) {
    return std::mdspan(padded.data(),
                       std::layout_stride::mapping<Extents>(extents, std::array<std::size_t, 2>{row, column}));
  };
  expect_same(strided(5, 1), "rows apart");
  expect_refused(strided(1, n), "contiguous");
  expect_refused(std::mdspan<float, Extents, std::layout_left>(padded.data(), extents), "contiguous");
  expect_refused(std::mdspan<float, Extents>(nullptr, extents), "null");
}
#endif

TEST(Version, IsThatOfTheHeaders) {
  EXPECT_EQ(version(), GRADUS_VERSION_STRING);
  EXPECT_EQ(version(), std::to_string(GRADUS_VERSION_MAJOR) + "." + std::to_string(GRADUS_VERSION_MINOR) + "." +
                           std::to_string(GRADUS_VERSION_PATCH));
}

}  // namespace
}  // namespace gradus
