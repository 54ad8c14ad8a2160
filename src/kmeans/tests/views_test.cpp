// Every public call of k-means refuses what cannot be true.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kmeans/tests/job.hpp"
#include "tests/lies.hpp"

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
  for (const auto& [view, says] : lies<const T>(this->elements_)) {
    expect_usage([&, view = view] { kmeans(view, fine); }, "points: ");
    expect_usage([&, view = view] { kmeans(view, fine); }, says);
    KMeansJob<T> given = fine;
    given.init = KMeansInit::given;
    given.initial_centroids = view;
    expect_usage([&] { kmeans(this->points(), given); }, says);
    expect_usage([&, view = view] { kmeans_predict(view, this->points()); }, says);
    expect_usage([&, view = view] { kmeans_predict(this->centroids(), view); }, says);
    expect_usage([&, view = view] { kmeans_transform(view, this->points()); }, says);
    expect_usage([&, view = view] { kmeans_transform(this->centroids(), view); }, says);
    // Not read, not looked at.
    given.init = KMeansInit::first;
    EXPECT_NO_THROW(kmeans(this->points(), given));
  }
  for (const auto& [view, says] : lies<T>(this->others_))
    expect_usage([&, view = view] { kmeans_transform(this->centroids(), this->points(), view); }, says);
  for (const auto& [view, says] : vector_lies<const T>(this->elements_)) {
    KMeansJob<T> weighted = fine;
    weighted.weights = view;
    expect_usage([&] { kmeans(this->points(), weighted); }, "weights: ");
    expect_usage([&] { kmeans(this->points(), weighted); }, says);
  }
  for (const auto& [view, says] : vector_lies<std::int32_t>(this->labels_)) {
    KMeansJob<T> labelled = fine;
    labelled.labels = view;
    expect_usage([&] { kmeans(this->points(), labelled); }, says);
    expect_usage([&, view = view] { kmeans_predict(this->centroids(), this->points(), view); }, says);
  }
}

TYPED_TEST(Views, RefusesValuesThatThereAreNot) {
  using T = TypeParam;
  const auto refused = [&](const std::function<void(KMeansJob<T>&)>& change, const std::string& says) {
    KMeansJob<T> options;
    options.clusters = 3;
    change(options);
    expect_usage([&] { kmeans(this->points(), options); }, says);
    expect_usage([&] { kmeans_memory({10, 2, sizeof(T)}, options); }, says);
  };
  refused([](auto& options) { options.init = no_such<KMeansInit>(5); }, "init: 5 ");
  refused([](auto& options) { options.empty = no_such<KMeansEmptyCluster>(3); }, "empty: 3 ");
  refused([](auto& options) { options.metric = no_such<KMeansMetric>(2); }, "metric: 2 ");
  refused([](auto& options) { options.clusters = 0; }, "clusters");
  const auto metric = no_such<KMeansMetric>(255);
  expect_usage([&] { kmeans_predict(this->centroids(), this->points(), metric); }, "metric: 255 ");
  const VectorView<std::int32_t> labels(this->labels_, 10);
  expect_usage([&] { kmeans_predict(this->centroids(), this->points(), labels, metric); }, "metric: 255 ");
  expect_usage([&] { kmeans_transform(this->centroids(), this->points(), metric); }, "metric: 255 ");
  for (const Execution& impossible : impossible_executions()) {
    KMeansJob<T> options;
    options.clusters = 3;
    expect_usage([&] { kmeans(this->points(), options, impossible); }, "");
    expect_usage([&] { kmeans_memory({10, 2, sizeof(T)}, options, impossible); }, "");
    expect_usage([&] { kmeans_predict(this->centroids(), this->points(), KMeansMetric::euclidean, impossible); }, "");
    expect_usage([&] { kmeans_transform(this->centroids(), this->points(), KMeansMetric::euclidean, impossible); }, "");
  }
}

TYPED_TEST(Views, MemoryRefusesImpossibleSizes) {
  using T = TypeParam;
  const KMeansJob<T> options;
  for (const auto& [points, dimensions] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {-1, 0}, {0, 0}, {0, 3}, {10, 0}, {10, -1}, {-10, 3}, {most, 1}, {1000, most}, {std::int64_t{1} << 31, 1}})
    expect_usage([&, n = points, d = dimensions] { kmeans_memory({n, d, sizeof(T)}, options); }, "");
  KMeansJob<T> many;
  many.clusters = std::numeric_limits<std::int32_t>::max();
  Execution threads;
  threads.threads = 4096;
  // So many sums wrapped around 64 bits.
  expect_usage([&] { kmeans_memory({many.clusters, std::int64_t{1} << 25, sizeof(T)}, many, threads); }, "overflow");
  EXPECT_GT(kmeans_memory({1000, 3, sizeof(T)}, options).host, 4000u);
  EXPECT_EQ(kmeans_memory({1000, 3, sizeof(T)}, options, {.device = Device::cpu}).device, 0u);
  expect_usage([&] { kmeans_memory({10, 2, 5}, options); }, "4 bytes (float) or 8 (double), not 5");
}

TYPED_TEST(Views, EmptyOnesAreNoPoints) {
  EXPECT_THROW(kmeans(MatrixView<const TypeParam>(nullptr, 0, 3), KMeansOptions{}), InputError);
}

}  // namespace
}  // namespace gradus
