// Tests that every public call of k-means rejects malformed views.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gradus/kmeans_choose.hpp"
#include "gradus/kmeans_projection.hpp"
#include "kmeans/options.hpp"
#include "kmeans/tests/job.hpp"
#include "tests/lies.hpp"
#include "tests/options.hpp"

namespace gradus {
namespace {

using tests::expect_usage;
using tests::impossible_executions;
using tests::lies;
using tests::most;
using tests::no_such;
using tests::vector_lies;

template <class T>
using Views = tests::Views<T>;
TYPED_TEST_SUITE(Views, tests::ViewTypes);

TYPED_TEST(Views, RefusesLies) {
  using T = TypeParam;
  KMeansJob<T> fine;
  fine.clusters = 3;
  const KMeansStandardization by{std::vector<double>(static_cast<std::size_t>(this->points().columns()), 0.0),
                                 std::vector<double>(static_cast<std::size_t>(this->points().columns()), 1.0)};
  for (const auto& [view, says] : lies<const T>(this->elements_)) {
    expect_usage([&, view = view] { kmeans(view, fine); }, "points: ");
    expect_usage([&, view = view] { kmeans(view, fine); }, says);
    expect_usage([&, view = view] { kmeans_initial_centroids(view, fine, fine); }, says);
    KMeansJob<T> given = fine;
    given.init = KMeansInit::given;
    given.initial_centroids = view;
    expect_usage([&] { kmeans(this->points(), given); }, says);
    expect_usage([&] { kmeans_initial_centroids(this->points(), given, given); }, says);
    expect_usage([&, view = view] { kmeans_predict(view, this->points()); }, says);
    expect_usage([&, view = view] { kmeans_predict(this->centroids(), view); }, says);
    expect_usage([&, view = view] { kmeans_transform(view, this->points()); }, says);
    expect_usage([&, view = view] { kmeans_transform(this->centroids(), view); }, says);
    given.init = KMeansInit::first;
    expect_usage([&] { kmeans(this->points(), given); }, says);
    KMeansJob<T> standardized = fine;
    standardized.standardize = true;
    expect_usage([&, view = view] { kmeans(view, standardized); }, says);
    expect_usage([&, view = view] { kmeans_initial_centroids(view, standardized, standardized); }, says);
    expect_usage([&, view = view] { kmeans_choose(view, fine, {.clusters = {2}}, fine); }, says);
    expect_usage([&, view = view] { kmeans_standardization(view); }, says);
    expect_usage([&, view = view] { kmeans_standardize(view, by); }, says);
    expect_usage([&, view = view] { kmeans_restore(view, by); }, says);
    expect_usage([&, view = view] { kmeans_projection(view); }, says);
    const KMeansModel<T> model{this->centroids(), KMeansMetric::euclidean, by};
    expect_usage([&, view = view] { kmeans_predict(model, view); }, says);
    expect_usage([&, view = view] { kmeans_transform(model, view); }, says);
    const KMeansModel<T> lying{view, KMeansMetric::euclidean, by};
    expect_usage([&] { kmeans_predict(lying, this->points()); }, says);
    expect_usage([&] { kmeans_transform(lying, this->points()); }, says);
  }
  for (const auto& [view, says] : lies<T>(this->others_))
    expect_usage([&, view = view] { kmeans_transform(this->centroids(), this->points(), view); }, says);
  for (const auto& [view, says] : vector_lies<const T>(this->elements_)) {
    KMeansJob<T> weighted = fine;
    weighted.weights = view;
    expect_usage([&] { kmeans(this->points(), weighted); }, "weights: ");
    expect_usage([&] { kmeans(this->points(), weighted); }, says);
    expect_usage([&] { kmeans_initial_centroids(this->points(), weighted, weighted); }, says);
    expect_usage([&] { kmeans_predict(this->centroids(), this->points(), weighted); }, says);
  }
  for (const auto& [view, says] : vector_lies<std::int32_t>(this->labels_)) {
    KMeansJob<T> labelled = fine;
    labelled.labels = view;
    expect_usage([&] { kmeans(this->points(), labelled); }, says);
    expect_usage([&, view = view] { kmeans_predict(this->centroids(), this->points(), view); }, says);
    expect_usage([&] { kmeans_predict(this->centroids(), this->points(), labelled); }, says);
  }
}

TYPED_TEST(Views, RefusesValuesThatThereAreNot) {
  using T = TypeParam;
  const auto refused = [&](const std::function<void(KMeansJob<T>&)>& change, const std::string& says) {
    KMeansJob<T> options;
    options.clusters = 3;
    change(options);
    expect_usage([&] { kmeans(this->points(), options); }, says);
    expect_usage([&] { kmeans_initial_centroids(this->points(), options, options); }, says);
    expect_usage([&] { kmeans_memory({10, 2, sizeof(T)}, options); }, says);
  };
  int values = 0;
  const auto refused_by = [&](const auto& rows, auto member) {
    for (const core::Option& row : rows)
      for (const core::Value& value : tests::refused_values(row)) {
        refused([&](KMeansJob<T>& job) { row.set(member(job), value); }, std::string(row.name));
        ++values;
      }
  };
  refused_by(core::option_rows<KMeansOptions>, [](KMeansOptions& options) { return &options; });
  refused_by(core::option_rows<KMeansCheckpoint>, [](KMeansOptions& options) { return &options.checkpoint; });
  EXPECT_GT(values, 15);
  const auto metric = no_such<KMeansMetric>(255);
  expect_usage([&] { kmeans_predict(this->centroids(), this->points(), metric); }, "metric: 255 ");
  const VectorView<std::int32_t> labels(this->labels_, 10);
  expect_usage([&] { kmeans_predict(this->centroids(), this->points(), labels, metric); }, "metric: 255 ");
  expect_usage([&] { kmeans_transform(this->centroids(), this->points(), metric); }, "metric: 255 ");
  for (const Execution& impossible : impossible_executions()) {
    KMeansJob<T> options;
    options.clusters = 3;
    expect_usage([&] { kmeans(this->points(), options, impossible); }, "");
    expect_usage([&] { kmeans_initial_centroids(this->points(), options, impossible); }, "");
    expect_usage([&] { kmeans_memory({10, 2, sizeof(T)}, options, impossible); }, "");
    expect_usage([&] { kmeans_predict(this->centroids(), this->points(), KMeansMetric::euclidean, impossible); }, "");
    expect_usage([&] { kmeans_transform(this->centroids(), this->points(), KMeansMetric::euclidean, impossible); }, "");
    expect_usage([&] { kmeans_choose(this->points(), {}, {.clusters = {2}}, {}, impossible); }, "");
    expect_usage([&] { kmeans_choose_memory({10, 2, sizeof(T)}, {}, {.clusters = {2}}, impossible); }, "");
    expect_usage([&] { kmeans_standardization(this->points(), impossible); }, "");
    expect_usage([&] { kmeans_projection(this->points(), {}, impossible); }, "");
  }
}

TYPED_TEST(Views, MemoryRefusesImpossibleSizes) {
  using T = TypeParam;
  const KMeansJob<T> options;
  for (const auto& [points, dimensions] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{-1, 0},
                                                          {0, 0},
                                                          {0, 3},
                                                          {10, 0},
                                                          {10, -1},
                                                          {-10, 3},
                                                          {most, 1},
                                                          {1000, most},
                                                          {(std::int64_t{1} << 36) + 1, 1}})
    expect_usage([&, n = points, d = dimensions] { kmeans_memory({n, d, sizeof(T)}, options); }, "");
  KMeansJob<T> many;
  many.clusters = std::numeric_limits<std::int32_t>::max();
  Execution threads;
  threads.threads = 4096;
  // The number of sums would not fit in 64 bits.
  expect_usage([&] { kmeans_memory({many.clusters, std::int64_t{1} << 25, sizeof(T)}, many, threads); }, "overflow");
  EXPECT_GT(kmeans_memory({1000, 3, sizeof(T)}, options).host, 4000u);
  EXPECT_EQ(kmeans_memory({1000, 3, sizeof(T)}, options, {.device = Device::cpu}).device, 0u);
  expect_usage([&] { kmeans_memory({10, 2, 5}, options); }, "4 bytes (float) or 8 (double), not 5");
}

TYPED_TEST(Views, MemoryRefusesMoreClustersThanPoints) {
  KMeansOptions options;
  options.clusters = 4;
  expect_usage([&] { kmeans_memory({3, 2, sizeof(TypeParam)}, options); }, "4 clusters cannot be made of 3 points");
  EXPECT_NO_THROW(kmeans_memory({4, 2, sizeof(TypeParam)}, options));
}

TYPED_TEST(Views, GivenCentroidsAreForInitGiven) {
  using T = TypeParam;
  KMeansJob<T> job;
  job.clusters = 3;
  job.initial_centroids = this->centroids();
  expect_usage([&] { kmeans(this->points(), job); }, "initial centroids: there are some");
  job.init = KMeansInit::given;
  EXPECT_NO_THROW(kmeans(this->points(), job));
}

TYPED_TEST(Views, ResultsOverlapNoInput) {
  using T = TypeParam;
  constexpr std::int64_t n = 12;
  Matrix<T> wide(n, 8);  // columns 0 to 2 are the points, columns 3 to 5 are a result, and columns 6 and 7 are unused
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t column = 0; column < 8; ++column) wide(row, column) = static_cast<T>((row * 7 + column * 3) % 11);
  const auto columns = [&](std::int64_t first, std::int64_t count) {
    return MatrixView<T>(wide.data() + first, n, count, 8);
  };
  const MatrixView<const T> points = columns(0, 3);
  const Matrix<T> centroids = Matrix<T>::copy_of(points.slice(0, 3));
  const auto distances_to = [&](MatrixView<T> distances) { kmeans_transform(centroids, points, distances); };
  expect_usage([&] { distances_to(columns(0, 3)); }, "distances: their memory overlaps the memory of the points");
  expect_usage([&] { distances_to(columns(2, 3)); }, "distances: their memory overlaps the memory of the points");
  EXPECT_NO_THROW(distances_to(columns(3, 3)));
  Matrix<T> both(n, 3);
  expect_usage([&] { kmeans_transform(both.view().slice(4, 3), points, both.view()); },
               "overlaps the memory of the centroids");

  KMeansJob<T> job;
  job.clusters = 3;
  job.init = KMeansInit::given;
  std::vector<T> weights(n, T{1});
  const auto labels_at = [&](T* at) { return VectorView<std::int32_t>(reinterpret_cast<std::int32_t*>(at), n); };
  const auto refused = [&](T* at, MatrixView<const T> first, const char* says) {
    job.labels = labels_at(at);
    job.weights = {weights.data(), n};
    job.initial_centroids = first;
    expect_usage([&] { kmeans(points, job); }, says);
  };
  refused(wide.data(), centroids.view(), "labels: their memory overlaps the memory of the points");
  refused(weights.data(), centroids.view(), "labels: their memory overlaps the memory of the weights");
  refused(both.data(), both.view().slice(1, 3), "labels: their memory overlaps the memory of the initial centroids");
  expect_usage([&] { kmeans_predict(centroids, points, labels_at(wide.row(n - 1))); },
               "overlaps the memory of the points");
  expect_usage([&] { kmeans_predict(both.view().slice(0, 3), points, labels_at(both.data())); },
               "overlaps the memory of the centroids");
}

TYPED_TEST(Views, EmptyOnesAreNoPoints) {
  EXPECT_THROW(kmeans(MatrixView<const TypeParam>(nullptr, 0, 3), KMeansOptions{}), InputError);
}

}  // namespace
}  // namespace gradus
