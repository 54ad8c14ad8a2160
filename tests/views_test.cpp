// Every public call refuses impossible views, values that are no enumerators, and sizes that overflow, before
// it reads anything: each of these would otherwise be a crash or worse.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kmeans/tests/job.hpp"
#include "pair_histogram/tests/job.hpp"

namespace gradus {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

void expect_usage(const std::function<void()>& call, const std::string& says) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << says;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what() << "\nexpected: " << says;
  } catch (const Error& error) {
    ADD_FAILURE() << "not a UsageError: " << error.what();
  }
}

template <class Enum>
Enum no_such(int number) {
  std::underlying_type_t<Enum> value{};
  value = static_cast<std::underlying_type_t<Enum>>(number);
  Enum result{};
  std::memcpy(&result, &value, sizeof result);
  return result;
}

MemoryPlace nowhere() {
  MemoryPlace place;
  place.kind = no_such<MemoryPlace::Kind>(7);
  return place;
}

std::uintptr_t address_of(const void* data) { return std::bit_cast<std::uintptr_t>(data); }

/// A pointer that is never followed.
template <class T>
T* pointer_at(std::uintptr_t address) {
  return std::bit_cast<T*>(address);
}

template <class T>
struct Lie {
  MatrixView<T> view;
  std::string says;
};

/// Views of 10 x 2 that cannot be true; `data` holds that many elements.
template <class T>
std::vector<Lie<T>> lies(T* data) {
  const auto odd = pointer_at<T>(address_of(data) + 1);
  const auto last = pointer_at<T>(~std::uintptr_t{0} - sizeof(T) + 1);
  return {{{nullptr, 10, 2}, "null"},
          {{data, 10, 2, 1}, "cannot start 1 elements apart"},
          {{data, 10, 2, 0}, "cannot start 0 elements apart"},
          {{data, 10, 2, -2}, "cannot start -2 elements apart"},
          {{data, -10, 2}, "not negative"},
          {{data, 10, -2, 2}, "not negative"},
          {{data, most, 2}, "overflow"},
          {{data, 10, 2, most / 10}, "overflow"},
          {{data, 10, most / 2}, "overflow"},
          {{odd, 10, 2}, "alignment"},
          {{last, 10, 2}, "past the end"},
          {{data, 10, 2, nowhere()}, "kind of memory"}};
}

template <class T>
struct VectorLie {
  VectorView<T> view;
  std::string says;
};

template <class T>
std::vector<VectorLie<T>> vector_lies(T* data) {
  return {{{nullptr, 10}, "null"},
          {{data, -10}, "not negative"},
          {{data, most}, "overflow"},
          {{pointer_at<T>(address_of(data) + 1), 10}, "alignment"},
          {{data, 10, nowhere()}, "kind of memory"}};
}

/// Requests that no machine can fulfil.
std::vector<Execution> impossible_executions() {
  std::vector<Execution> all(4);
  all[0].device = no_such<Device>(3);
  all[1].pinning = no_such<Pinning>(200);
  all[2].threads = -1;
  all[3].threads = 4097;
  return all;
}

template <class T>
class Views : public testing::Test {
 protected:
  Views() {
    for (int row = 0; row < 10; ++row)
      for (int column = 0; column < 2; ++column)
        elements_[2 * row + column] = static_cast<T>((row * 7 + column * 3) % 11);
  }
  MatrixView<const T> points() const { return {elements_, 10, 2}; }
  MatrixView<const T> centroids() const { return {elements_, 3, 2}; }

  alignas(16) T elements_[20];
  alignas(16) T others_[40];
  alignas(16) std::int32_t labels_[10];
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Views, Types);

TYPED_TEST(Views, KMeansRefusesLies) {
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

TYPED_TEST(Views, KMeansRefusesValuesThatThereAreNot) {
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

TYPED_TEST(Views, KMeansMemoryRefusesImpossibleSizes) {
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

TYPED_TEST(Views, PairHistogramRefusesLies) {
  using T = TypeParam;
  PairHistogramJob<T> fine;
  fine.bins.bin_width = 1;
  fine.bins.bins = 5;
  const auto refused = [&](MatrixView<const T> points, const PairHistogramJob<T>& options, const std::string& says) {
    expect_usage([&] { pair_histogram(points, options); }, says);
  };
  for (const auto& [view, says] : lies<const T>(this->elements_)) {
    refused(view, fine, says);
    PairHistogramJob<T> cross = fine;
    cross.others = view;
    refused(this->points(), cross, says);
  }
  for (const auto& [view, says] : vector_lies<const T>(this->elements_)) {
    PairHistogramJob<T> weighted = fine;
    weighted.weights = view;
    refused(this->points(), weighted, says);
    weighted.others = this->points();
    weighted.weights = {this->elements_, 10};
    weighted.other_weights = view;
    refused(this->points(), weighted, says);
  }
  for (const std::vector<double>& box : std::vector<std::vector<double>>{
           {20}, {20, 20, 20}, {20, -1}, {20, 0}, {20, std::numeric_limits<double>::quiet_NaN()}}) {
    PairHistogramJob<T> boxed = fine;
    boxed.box = box;
    expect_usage([&] { pair_histogram_memory({10, 0, 2, sizeof(T)}, boxed); }, "box");
    refused(this->points(), boxed, "box");
  }
  for (const Execution& impossible : impossible_executions()) {
    expect_usage([&] { pair_histogram(this->points(), fine, impossible); }, "");
    expect_usage([&] { pair_histogram_memory({10, 0, 2, sizeof(T)}, fine, impossible); }, "");
  }
  PairHistogramJob<T> bins = fine;
  bins.bins.bins = most;
  refused(this->points(), bins, "bins");
  bins.bins.bins = -1;
  refused(this->points(), bins, "bins");
  expect_usage([&] { pair_histogram_memory({10, 0, 2, sizeof(T)}, bins); }, "bins");
  for (const PairHistogramShape& shape : std::vector<PairHistogramShape>{
           {-1, 0, 2}, {10, -1, 2}, {std::int64_t{1} << 31, 0, 2}, {10, 0, 0}, {10, 0, 4}, {10, 0, 2, 2}})
    expect_usage([&] { pair_histogram_memory(shape, fine); }, "");
  EXPECT_GT(pair_histogram_memory({10, 0, 2, sizeof(T)}, fine).host, 0u);
  EXPECT_EQ(pair_histogram_memory({10, 0, 2, sizeof(T)}, fine, {.device = Device::cpu}).device, 0u);
}

TYPED_TEST(Views, EmptyOnesNeedNoMemory) {
  using T = TypeParam;
  PairHistogramJob<T> options;
  options.bins.bin_width = 1;
  options.bins.bins = 5;
  EXPECT_EQ(pair_histogram(MatrixView<const T>(nullptr, 0, 3), options).pairs, 0u);
  options.others = MatrixView<const T>(nullptr, 0, 2);
  options.weights = VectorView<const T>(nullptr, 0);
  EXPECT_EQ(pair_histogram(this->points(), options).pairs, 0u);
  EXPECT_THROW(kmeans(MatrixView<const T>(nullptr, 0, 3), KMeansOptions{}), InputError);
}

TYPED_TEST(Views, CopiesAreOfHostMemoryThatIsThere) {
  using T = TypeParam;
  for (const auto& [view, says] : lies<const T>(this->elements_))
    expect_usage([view = view] { (void)Matrix<T>::copy_of(view); }, says);
  expect_usage([&] { (void)Matrix<T>::copy_of({this->elements_, 10, 2, MemoryPlace::on_gpu(0)}); }, "host memory");
  EXPECT_EQ(Matrix<T>::copy_of({}).rows(), 0);
}

TEST(Histograms, OfSizesThatDoNotAgreeAreRefused) {
  PairHistogramResult good;
  good.edges = {0, 1, 2};
  good.counts = {3, 4};
  good.weighted = {0.5, 0.25};
  PairHistogramResult sum = good;
  pair_histogram_accumulate(sum, good);
  EXPECT_EQ(sum.counts, (std::vector<std::uint64_t>{6, 8}));
  for (const auto& spoil : std::vector<std::function<void(PairHistogramResult&)>>{
           [](auto& result) { result.counts = {3}; }, [](auto& result) { result.counts = {}; },
           [](auto& result) {
             result.counts = {3, 4, 5};
           },
           [](auto& result) { result.weighted = {1}; },
           [](auto& result) {
             result.weighted = {1, 2, 3};
           },
           [](auto& result) { result.edges = {}; }}) {
    PairHistogramResult bad = good;
    spoil(bad);
    PairHistogramResult same = bad;
    expect_usage([&] { pair_histogram_accumulate(bad, good); }, "");
    expect_usage([&] { pair_histogram_accumulate(sum, bad); }, "");
    expect_usage([&] { pair_histogram_accumulate(bad, same); }, "");
    if (bad.edges.size() != bad.counts.size() + 1)
      expect_usage([&] { pair_histogram_radial_distribution(bad, 3, 10, 0, 1.0); }, "edge");
  }
  EXPECT_EQ(sum.counts, (std::vector<std::uint64_t>{6, 8}));
  expect_usage([&] { pair_histogram_radial_distribution(good, 4, 10, 0, 1.0); }, "dimensions");
  expect_usage([&] { pair_histogram_radial_distribution(good, 3, -1, 0, 1.0); }, "negative");
  expect_usage([&] { pair_histogram_radial_distribution(good, 3, 10, 0, 0.0); }, "volume");
  expect_usage([&] { pair_histogram_radial_distribution(good, 3, 10, 0, 1.0, 0); }, "frames");
}

}  // namespace
}  // namespace gradus
