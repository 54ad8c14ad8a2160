// Compares batches, in many orders and sizes, with fits of all points at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/npz.hpp"
#include "gradus/kmeans_batches.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

using tests::contains;
using tests::error_of;
using tests::same_bits;

/// The kinds of values from which a case draws its points.
enum class Values { normal, offset, few, wide, tiny };

struct Case {
  const char* name;
  std::int64_t n, d, k;
  Values values;
  bool weighted;
  KMeansMetric metric;
};
constexpr Case cases[] = {
    {"one_point", 1, 1, 1, Values::normal, false, KMeansMetric::euclidean},
    {"plain", 997, 5, 7, Values::normal, false, KMeansMetric::euclidean},
    {"plain_weighted", 997, 5, 7, Values::normal, true, KMeansMetric::euclidean},
    {"offset", 600, 3, 5, Values::offset, false, KMeansMetric::euclidean},
    {"offset_weighted", 600, 3, 5, Values::offset, true, KMeansMetric::euclidean},
    {"ties", 800, 2, 9, Values::few, false, KMeansMetric::euclidean},
    {"wide", 500, 4, 6, Values::wide, false, KMeansMetric::euclidean},
    {"wide_weighted", 500, 4, 6, Values::wide, true, KMeansMetric::euclidean},
    {"tiny", 300, 3, 4, Values::tiny, false, KMeansMetric::euclidean},
    {"long_rows", 130, 300, 11, Values::normal, false, KMeansMetric::euclidean},
    {"cosine", 900, 6, 8, Values::normal, false, KMeansMetric::cosine},
    {"cosine_weighted", 900, 6, 8, Values::normal, true, KMeansMetric::cosine},
};

template <class T>
struct Data {
  Matrix<T> points;
  std::vector<T> weights;
  Matrix<T> first;
};

template <class T>
Data<T> data_of(const Case& one) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  const double range = std::is_same_v<T, float> ? 30 : 120;
  const auto value = [&]() -> double {
    switch (one.values) {
      case Values::normal: return normal(random);
      case Values::offset: return 1e15 + 1e9 * normal(random);
      case Values::few: return static_cast<double>(random() % 3) - 1;
      case Values::wide:
        return normal(random) * std::pow(10.0, range * (2 * static_cast<double>(random() % 1000) / 1000 - 1) / 2);
      case Values::tiny: return (std::is_same_v<T, float> ? 0x1p-149 : 0x1p-530) * static_cast<double>(random() % 9);
    }
    return 0;
  };
  Data<T> data{Matrix<T>(one.n, one.d), {}, Matrix<T>(one.k, one.d)};
  for (std::int64_t row = 0; row < one.n; ++row) {
    for (std::int64_t column = 0; column < one.d; ++column) data.points(row, column) = static_cast<T>(value());
    if (one.weighted) data.weights.push_back(random() % 5 == 0 ? T{0} : static_cast<T>(std::exp(3 * normal(random))));
  }
  for (std::int64_t row = 0; row < one.k; ++row)
    std::copy_n(data.points.row(row * one.n / one.k), one.d, data.first.row(row));
  return data;
}

/// Adds the points in batches of at most `size` rows, in an order that depends on `seed`. Returns the labels.
template <class T>
std::vector<std::int32_t> add_all(KMeansBatches<T>& batches, const Data<T>& data, std::int64_t size, unsigned seed,
                                  int threads = 1) {
  std::vector<std::int64_t> starts;
  for (std::int64_t row = 0; row < data.points.rows(); row += size) starts.push_back(row);
  std::shuffle(starts.begin(), starts.end(), std::mt19937(seed));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(data.points.rows()));
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  for (const std::int64_t first : starts) {
    const std::int64_t rows = std::min(size, data.points.rows() - first);
    KMeansMemory<T> memory;
    if (!data.weights.empty()) memory.weights = {data.weights.data() + first, rows};
    const KMeansPrediction part = batches.add(data.points.view().slice(first, rows), memory, execution);
    std::copy_n(part.labels.data(), rows, labels.data() + first);
  }
  return labels;
}

template <class T>
KMeansMemory<T> memory_of(const Data<T>& data) {
  KMeansMemory<T> memory{.initial_centroids = data.first.view()};
  if (!data.weights.empty()) memory.weights = {data.weights.data(), data.points.rows()};
  return memory;
}

template <class T>
KMeansResult<T> fit_of(const Data<T>& data, const Case& one, int iterations) {
  KMeansOptions options;
  options.clusters = one.k;
  options.init = KMeansInit::given;
  options.max_iterations = iterations;
  options.tolerance = 0;
  options.empty = KMeansEmptyCluster::keep;
  options.metric = one.metric;
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = 1;
  return kmeans(data.points, options, memory_of(data), execution);
}

template <class T>
class Batches : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Batches, Elements);

TYPED_TEST(Batches, GiveAnIterationOfAFitInAnyOrderAndSize) {
  using T = TypeParam;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const Data<T> data = data_of<T>(one);
    const KMeansResult<T> expected = fit_of(data, one, 1);
    for (unsigned order = 0; order < 20; ++order) {
      // The sizes are odd or prime, except the last, which is greater than the number of points.
      constexpr std::int64_t sizes[] = {1, 3, 7, 17, 31, 61, 97, 127, 251, 499, 1 << 20};
      const std::int64_t size = sizes[order % std::size(sizes)];
      KMeansBatches<T> batches(data.first.view(), one.metric);
      add_all(batches, data, size, order, 1 + static_cast<int>(order % 3));
      const Matrix<T> means = batches.means(1 + static_cast<int>(order % 3));
      ASSERT_TRUE(same_bits(means.data(), expected.centroids.data(), one.k * one.d)) << "batches of " << size;
    }
  }
}

TYPED_TEST(Batches, GiveTheSameCentroidsInTwentyOrdersOfTwentySizes) {
  using T = TypeParam;
  const Case one{"twenty", 211, 5, 7, Values::wide, true, KMeansMetric::euclidean};
  const Data<T> data = data_of<T>(one);
  const KMeansResult<T> expected = fit_of(data, one, 1);
  for (const std::int64_t size : {1, 2, 3, 5, 7, 11, 13, 16, 19, 23, 29, 31, 41, 53, 64, 79, 97, 127, 199, 211})
    for (unsigned order = 0; order < 20; ++order) {
      KMeansBatches<T> batches(data.first.view(), one.metric);
      add_all(batches, data, size, order);
      ASSERT_TRUE(same_bits(batches.means().data(), expected.centroids.data(), one.k * one.d))
          << "batches of " << size << ", order " << order;
    }
}

TYPED_TEST(Batches, GiveAWholeFit) {
  using T = TypeParam;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const Data<T> data = data_of<T>(one);
    const KMeansResult<T> expected = fit_of(data, one, 4);
    KMeansBatches<T> batches(data.first.view(), one.metric);
    for (int iteration = 0; iteration < 4; ++iteration) {
      batches.forget();
      add_all(batches, data, 101, static_cast<unsigned>(iteration));
      batches.move();
    }
    batches.forget();
    const std::vector<std::int32_t> labels = add_all(batches, data, 13, 5);
    EXPECT_TRUE(same_bits(batches.centroids().data(), expected.centroids.data(), one.k * one.d));
    EXPECT_TRUE(same_bits(labels.data(), expected.labels.data(), one.n));
    EXPECT_EQ(batches.counts(), expected.counts);
    EXPECT_EQ(batches.inertia(), expected.inertia);
  }
}

TYPED_TEST(Batches, MergedSumsEqualTheSumsOfOneObject) {
  using T = TypeParam;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const Data<T> data = data_of<T>(one);
    KMeansBatches<T> whole(data.first.view(), one.metric);
    add_all(whole, data, 64, 1);
    KMeansBatches<T> sum(data.first.view(), one.metric);
    // If the points are sorted, each part has other magnitudes than the next. Therefore, each part needs another range
    // of words.
    for (std::int64_t first = 0; first < one.n; first += 211) {
      const std::int64_t rows = std::min<std::int64_t>(211, one.n - first);
      Data<T> part{
          Matrix<T>::copy_of(data.points.view().slice(first, rows)), {}, Matrix<T>::copy_of(data.first.view())};
      if (one.weighted) part.weights.assign(data.weights.begin() + first, data.weights.begin() + first + rows);
      KMeansBatches<T> other(data.first.view(), one.metric);
      add_all(other, part, 50, 3);
      sum.merge(other);
    }
    EXPECT_TRUE(same_bits(sum.means().data(), whole.means().data(), one.k * one.d));
    EXPECT_EQ(sum.counts(), whole.counts());
    EXPECT_EQ(sum.inertia(), whole.inertia());
    EXPECT_EQ(sum.weights(), whole.weights());
  }
}

TYPED_TEST(Batches, CancelExactly) {
  using T = TypeParam;
  // The large values cancel, so the mean is determined by the small values.
  const T large = std::ldexp(T{1}, 100);
  const T small = std::ldexp(T{1}, -100);
  Matrix<T> centroid(1, 1);
  centroid(0, 0) = 0;
  KMeansBatches<T> batches(centroid.view());
  for (const T value : {large, small, -large, small, 3 * large, small, -3 * large, small}) {
    Matrix<T> point(1, 1);
    point(0, 0) = value;
    batches.add(point.view());
  }
  EXPECT_EQ(batches.means()(0, 0), small / 2);
  EXPECT_EQ(batches.counts()[0], 8);
}

TYPED_TEST(Batches, MixPointsWithAndWithoutWeights) {
  using T = TypeParam;
  Matrix<T> centroid(1, 1);
  centroid(0, 0) = 0;
  for (const bool weighted_first : {false, true}) {
    KMeansBatches<T> batches(centroid.view());
    Matrix<T> plain(2, 1);
    plain(0, 0) = 1;
    plain(1, 0) = 2;
    Matrix<T> weighted(1, 1);
    weighted(0, 0) = 9;
    const std::vector<T> weight{T{0.5}};
    const auto add_weighted = [&] { batches.add(weighted.view(), {.weights = {weight.data(), 1}}); };
    if (weighted_first) add_weighted();
    batches.add(plain.view());
    if (!weighted_first) add_weighted();
    EXPECT_EQ(batches.means()(0, 0), static_cast<T>(7.5 / 2.5));
    EXPECT_EQ(batches.weights()[0], 2.5);
    EXPECT_EQ(batches.counts()[0], 3);
  }
}

TYPED_TEST(Batches, KeepTheSumsOfEarlierCentroids) {
  using T = TypeParam;
  Matrix<T> centroids(2, 1);
  centroids(0, 0) = 0;
  centroids(1, 0) = 10;
  KMeansBatches<T> batches(centroids.view());
  Matrix<T> points(2, 1);
  points(0, 0) = 4;
  points(1, 0) = 100;
  batches.add(points.view());
  EXPECT_EQ(batches.move(), 16 + 8100);
  points(0, 0) = 40;  // the point is now nearer to 4 than to 100
  batches.add(points.view().slice(0, 1));
  batches.move();
  EXPECT_EQ(batches.centroids()(0, 0), 22);
  EXPECT_EQ(batches.centroids()(1, 0), 100);
  const T again = 7;
  batches.replace(0, {&again, 1});
  EXPECT_EQ(batches.counts(), (std::vector<std::int64_t>{0, 1}));
  batches.move();
  EXPECT_EQ(batches.centroids()(0, 0), 7);
  EXPECT_EQ(batches.centroids()(1, 0), 100);
}

template <class T>
void expect_equal(const KMeansBatches<T>& a, const KMeansBatches<T>& b) {
  const std::int64_t size = a.centroids().rows() * a.centroids().columns();
  ASSERT_EQ(b.centroids().rows() * b.centroids().columns(), size);
  EXPECT_EQ(a.metric(), b.metric());
  EXPECT_TRUE(same_bits(a.centroids().data(), b.centroids().data(), size));
  EXPECT_TRUE(same_bits(a.means().data(), b.means().data(), size));
  EXPECT_EQ(a.counts(), b.counts());
  EXPECT_EQ(a.weights(), b.weights());
  EXPECT_EQ(a.inertia(), b.inertia());
}

// Rows of a large batch with few sums are added in their order, rows of a small batch cluster by cluster.
TYPED_TEST(Batches, AddLargeAndSmallBatchesAlike) {
  using T = TypeParam;
  const Case one{"large", 1500, 3, 4, Values::wide, true, KMeansMetric::euclidean};
  const Data<T> data = data_of<T>(one);
  for (const bool mixed : {false, true})
    for (const int threads : {1, 2}) {
      KMeansBatches<T> large(data.first.view());
      KMeansBatches<T> small(data.first.view());
      for (KMeansBatches<T>* const each : {&large, &small})
        if (mixed) each->add(data.points.view(), {.weights = {data.weights.data(), one.n}});
      const Data<T> plain{Matrix<T>::copy_of(data.points.view()), {}, {}};
      add_all(large, plain, one.n, 1, threads);
      add_all(small, plain, 200, 1, threads);
      expect_equal(large, small);
      EXPECT_EQ(large.save(), small.save());
    }
}

TYPED_TEST(Batches, ContinueAfterTheyWereSaved) {
  using T = TypeParam;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const Data<T> data = data_of<T>(one);
    KMeansBatches<T> batches(data.first.view(), one.metric);
    expect_equal(batches, KMeansBatches<T>::restore(batches.save()));
    for (unsigned pass = 0; pass < 3; ++pass) {
      add_all(batches, data, 57, pass);
      KMeansBatches<T> restored = KMeansBatches<T>::restore(batches.save());
      expect_equal(batches, restored);
      add_all(restored, data, 100, pass + 9);
      add_all(batches, data, 100, pass + 9);
      batches.move();
      restored.move();
      expect_equal(batches, restored);
    }
  }
}

TYPED_TEST(Batches, KeepTheBitsOfFittedCentroids) {
  using T = TypeParam;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const Data<T> data = data_of<T>(one);
    const KMeansResult<T> fit = fit_of(data, one, 3);
    const KMeansBatches<T> batches(fit.centroids.view(), one.metric);
    EXPECT_TRUE(same_bits(batches.centroids().data(), fit.centroids.data(), one.k * one.d));
  }
}

TYPED_TEST(Batches, RefuseDamagedBytes) {
  using T = TypeParam;
  const Data<T> data = data_of<T>(cases[2]);
  KMeansBatches<T> batches(data.first.view());
  add_all(batches, data, 100, 1);
  const std::vector<std::byte> saved = batches.save();
  const auto refuses = [](std::span<const std::byte> bytes) {
    error_of<InputError>([&] { KMeansBatches<T>::restore(bytes); });
  };
  for (std::size_t size = 0; size < saved.size(); size += 1 + saved.size() / 97) refuses(std::span(saved).first(size));
  for (std::size_t at = 0; at < saved.size(); at += 1 + saved.size() / 997) {
    std::vector<std::byte> damaged = saved;
    damaged[at] ^= std::byte{4};
    refuses(damaged);
  }
  using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
  EXPECT_TRUE(contains(error_of<InputError>([&] { KMeansBatches<Other>::restore(saved); }), "another type"));

  // The archives below are undamaged, but only the first of them contains valid sums.
  struct Arrays {
    std::vector<std::int64_t> shape{2, 1, 0}, range{0, 2}, words{1, 2, 3, 4}, counts{5, 6}, weights{},
        inertia = std::vector<std::int64_t>(136);
    std::vector<T> centroids{T{1}, T{2}};
  };
  const auto archive = [](const Arrays& arrays) {
    core::NpzContent content;
    content.add<std::int64_t>("shape", arrays.shape);
    content.add("centroids", std::array<std::int64_t, 2>{std::ssize(arrays.centroids), 1}, arrays.centroids.data());
    content.add<std::int64_t>("inertia", arrays.inertia);
    content.add<std::int64_t>("range", arrays.range);
    content.add<std::int64_t>("words", arrays.words);
    content.add<std::int64_t>("counts", arrays.counts);
    content.add<std::int64_t>("weights", arrays.weights);
    return content.bytes();
  };
  EXPECT_EQ(KMeansBatches<T>::restore(archive({})).counts(), (std::vector<std::int64_t>{5, 6}));
  for (const Arrays& arrays :
       {Arrays{.shape = {2, 1}}, Arrays{.shape = {3, 1, 0}}, Arrays{.shape = {2, 0, 0}}, Arrays{.shape = {2, 1, 2}},
        Arrays{.range = {0, 3}}, Arrays{.range = {-1, 2}}, Arrays{.range = {135, 2}}, Arrays{.range = {2, -1}},
        Arrays{.words = {1, 2, 3}}, Arrays{.words = {std::int64_t{1} << 40, 2, 3, 4}}, Arrays{.counts = {5}},
        Arrays{.counts = {5, -6}}, Arrays{.weights = {1, 2}}, Arrays{.inertia = {0}},
        Arrays{.weights = std::vector<std::int64_t>(272, std::int64_t{1} << 40)}, Arrays{.centroids = {T{1}}},
        Arrays{.centroids = {T{1}, std::numeric_limits<T>::infinity()}}})
    refuses(archive(arrays));
}

TYPED_TEST(Batches, RefuseWhatAFitRefusesAndStayUnchanged) {
  using T = TypeParam;
  const Case one = cases[1];
  const Data<T> data = data_of<T>(one);
  KMeansBatches<T> batches(data.first.view());
  add_all(batches, data, 100, 1);
  const Matrix<T> before = batches.means();
  const double inertia = batches.inertia();
  Matrix<T> bad = Matrix<T>::copy_of(data.points.view());
  bad(640, 3) = std::numeric_limits<T>::quiet_NaN();
  EXPECT_TRUE(contains(error_of<InputError>([&] { batches.add(bad.view()); }), "row 640, column 3"));
  Matrix<T> narrow(5, 4);
  std::fill_n(narrow.data(), 20, T{1});
  EXPECT_TRUE(contains(error_of<InputError>([&] { batches.add(narrow.view()); }), "columns"));
  std::vector<T> weights(997, T{1});
  weights[5] = -1;
  EXPECT_TRUE(contains(error_of<InputError>([&] {
                         batches.add(data.points.view(), {.weights = {weights.data(), 997}});
                       }),
                       "5"));
  EXPECT_TRUE(contains(error_of<InputError>([&] {
                         batches.add(data.points.view(), {.weights = {weights.data(), 9}});
                       }),
                       "weights"));
  EXPECT_TRUE(contains(error_of<UnsupportedError>([&] {
                         batches.add(MatrixView<const T>(data.points.data(), 10, 5, MemoryPlace::on_gpu(0)));
                       }),
                       "host memory"));
  std::stop_source stop;
  stop.request_stop();
  Execution stopped;
  stopped.stop = stop.get_token();
  error_of<InterruptedError>([&] { batches.add(data.points.view(), {}, stopped); });
  std::stop_source late;
  Execution stopped_late;
  stopped_late.stop = late.get_token();
  stopped_late.progress = [&](const Progress& progress) {
    if (progress.done == progress.total) late.request_stop();
  };
  error_of<InterruptedError>([&] { batches.add(data.points.view(), {}, stopped_late); });
  Execution little;
  little.memory_limit = 100;
  error_of<OutOfMemoryError>([&] { batches.add(data.points.view(), {}, little); });
  tests::ThreadRanks ranks(1);
  ranks.run([&](Communicator& communicator) {
    Execution on_ranks;
    on_ranks.communicator = &communicator;
    EXPECT_TRUE(
        contains(error_of<UnsupportedError>([&] { batches.add(data.points.view(), {}, on_ranks); }), "merge()"));
  });
  KMeansBatches<T> other(data.points.view().slice(0, one.k));
  EXPECT_TRUE(contains(error_of<UsageError>([&] { batches.merge(other); }), "different centroids"));
  EXPECT_TRUE(contains(error_of<UsageError>([&] { batches.replace(7, {bad.row(640), 5}); }), "0 to 6"));
  EXPECT_TRUE(contains(error_of<UsageError>([&] { batches.replace(1, {bad.row(0), 4}); }), "5 are needed"));
  EXPECT_TRUE(contains(error_of<InputError>([&] { batches.replace(1, {bad.row(640), 5}); }), "column 3"));
  EXPECT_EQ(batches.add(data.points.view().slice(0, 0)).labels.size(), 0);
  EXPECT_TRUE(same_bits(batches.means().data(), before.data(), one.k * one.d));
  EXPECT_EQ(batches.inertia(), inertia);
  EXPECT_TRUE(contains(error_of<InputError>([&] { KMeansBatches<T> none(bad.view()); }), "row 640, column 3"));
  EXPECT_TRUE(contains(error_of<InputError>([&] { KMeansBatches<T> none(bad.view().slice(0, 0)); }), "0 x 5"));
}

}  // namespace
}  // namespace gradus
