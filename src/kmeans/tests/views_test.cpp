// Every public call of k-means refuses what cannot be true.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gradus/kmeans.hpp"
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
  KMeansOptions<T> fine;
  fine.clusters = 3;
  for (const auto& [view, says] : lies<const T>(this->elements_)) {
    expect_usage([&, view = view] { kmeans<T>(view, fine); }, "points: ");
    expect_usage([&, view = view] { kmeans<T>(view, fine); }, says);
    KMeansOptions<T> given = fine;
    given.init = KMeansInit::given;
    given.initial_centroids = view;
    expect_usage([&] { kmeans<T>(this->points(), given); }, says);
    expect_usage([&, view = view] { kmeans_predict<T>(view, this->points()); }, says);
    expect_usage([&, view = view] { kmeans_predict<T>(this->centroids(), view); }, says);
    expect_usage([&, view = view] { kmeans_transform<T>(view, this->points()); }, says);
    expect_usage([&, view = view] { kmeans_transform<T>(this->centroids(), view); }, says);
    // Not read, not looked at.
    given.init = KMeansInit::first;
    EXPECT_NO_THROW(kmeans<T>(this->points(), given));
  }
  for (const auto& [view, says] : lies<T>(this->others_))
    expect_usage([&, view = view] { kmeans_transform<T>(this->centroids(), this->points(), view); }, says);
  for (const auto& [view, says] : vector_lies<const T>(this->elements_)) {
    KMeansOptions<T> weighted = fine;
    weighted.weights = view;
    expect_usage([&] { kmeans<T>(this->points(), weighted); }, "weights: ");
    expect_usage([&] { kmeans<T>(this->points(), weighted); }, says);
    expect_usage([&] { kmeans_memory<T>(10, 2, weighted); }, says);
  }
  for (const auto& [view, says] : vector_lies<std::int32_t>(this->labels_)) {
    KMeansOptions<T> labelled = fine;
    labelled.labels = view;
    expect_usage([&] { kmeans<T>(this->points(), labelled); }, says);
    expect_usage([&] { kmeans_memory<T>(10, 2, labelled); }, says);
    expect_usage([&, view = view] { kmeans_predict<T>(this->centroids(), this->points(), view); }, says);
  }
}

TYPED_TEST(Views, RefusesValuesThatThereAreNot) {
  using T = TypeParam;
  const auto refused = [&](const std::function<void(KMeansOptions<T>&)>& change, const std::string& says) {
    KMeansOptions<T> options;
    options.clusters = 3;
    change(options);
    expect_usage([&] { kmeans<T>(this->points(), options); }, says);
    expect_usage([&] { kmeans_memory<T>(10, 2, options); }, says);
  };
  refused([](auto& options) { options.init = no_such<KMeansInit>(5); }, "init: 5 ");
  refused([](auto& options) { options.empty = no_such<EmptyCluster>(3); }, "empty: 3 ");
  refused([](auto& options) { options.metric = no_such<Metric>(2); }, "metric: 2 ");
  refused([](auto& options) { options.clusters = 0; }, "clusters");
  const auto metric = no_such<Metric>(255);
  expect_usage([&] { kmeans_predict<T>(this->centroids(), this->points(), metric); }, "metric: 255 ");
  const VectorView<std::int32_t> labels(this->labels_, 10);
  expect_usage([&] { kmeans_predict<T>(this->centroids(), this->points(), labels, metric); }, "metric: 255 ");
  expect_usage([&] { kmeans_transform<T>(this->centroids(), this->points(), metric); }, "metric: 255 ");
  for (const Execution& impossible : impossible_executions()) {
    KMeansOptions<T> options;
    options.clusters = 3;
    expect_usage([&] { kmeans<T>(this->points(), options, impossible); }, "");
    expect_usage([&] { kmeans_memory<T>(10, 2, options, impossible); }, "");
    expect_usage([&] { kmeans_predict<T>(this->centroids(), this->points(), Metric::euclidean, impossible); }, "");
    expect_usage([&] { kmeans_transform<T>(this->centroids(), this->points(), Metric::euclidean, impossible); }, "");
  }
}

TYPED_TEST(Views, MemoryRefusesImpossibleSizes) {
  using T = TypeParam;
  const KMeansOptions<T> options;
  for (const auto& [points, dimensions] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {-1, 0}, {0, 0}, {0, 3}, {10, 0}, {10, -1}, {-10, 3}, {most, 1}, {1000, most}, {std::int64_t{1} << 31, 1}})
    expect_usage([&, n = points, d = dimensions] { kmeans_memory<T>(n, d, options); }, "");
  KMeansOptions<T> many;
  many.clusters = std::numeric_limits<std::int32_t>::max();
  Execution threads;
  threads.threads = 4096;
  // So many sums wrapped around 64 bits.
  expect_usage([&] { kmeans_memory<T>(many.clusters, std::int64_t{1} << 25, many, threads); }, "overflow");
  EXPECT_GT(kmeans_memory<T>(1000, 3, options), 4000u);
}

TYPED_TEST(Views, EmptyOnesAreNoPoints) {
  EXPECT_THROW(kmeans<TypeParam>(MatrixView<const TypeParam>(nullptr, 0, 3), {}), InputError);
}

}  // namespace
}  // namespace gradus
