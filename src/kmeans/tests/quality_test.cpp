// Moves that improve a fit: the inertia never grows, the result fulfils the contract of a fit, and its bits depend
// neither on threads nor on ranks.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/kmeans_check.hpp"
#include "kmeans/quality/transfers.hpp"
#include "kmeans/tests/ranks_job.hpp"
#include "tests/stopping.hpp"

namespace gradus {
namespace {

using tests::Data;
using tests::difference;
using tests::differs;
using tests::error_of;
using tests::Job;
using tests::make_job;

/// A job, and what its moves must achieve.
struct Case {
  const char* name;
  std::int64_t n, d, k;
  Data data;
  KMeansInit init;
  bool weighted;
  void (*change)(KMeansOptions&) = [](KMeansOptions&) {};
};

constexpr Case cases[] = {
    {"plain", 500, 3, 8, Data::plain, KMeansInit::random, false},
    {"weights", 500, 3, 8, Data::plain, KMeansInit::random, true},
    {"many clusters", 900, 2, 64, Data::plain, KMeansInit::kmeans_plus_plus, true},
    {"columns", 400, 40, 20, Data::plain, KMeansInit::kmeans_plus_plus, false},
    {"cosine", 400, 4, 8, Data::plain, KMeansInit::random, true,
     [](KMeansOptions& options) { options.metric = KMeansMetric::cosine; }},
    {"cosine, empty clusters stay", 50, 3, 20, Data::plain, KMeansInit::kmeans_plus_plus, false,
     [](KMeansOptions& options) {
       options.metric = KMeansMetric::cosine;
       options.empty = KMeansEmptyCluster::keep;
     }},
    {"standardized", 400, 4, 8, Data::plain, KMeansInit::random, false,
     [](KMeansOptions& options) { options.standardize = true; }},
    {"magnitudes", 300, 2, 6, Data::wild, KMeansInit::random, true},
    {"an outlier", 300, 2, 6, Data::ends, KMeansInit::first, false},
    {"duplicates", 400, 3, 4, Data::duplicates, KMeansInit::random, true},
    {"as many clusters as different points", 400, 3, 5, Data::duplicates, KMeansInit::random, false},
    {"more clusters than different points", 400, 3, 9, Data::duplicates, KMeansInit::random, true},
    {"empty clusters move", 300, 2, 9, Data::plain, KMeansInit::given, false},
    {"empty clusters stay", 300, 2, 9, Data::plain, KMeansInit::given, true,
     [](KMeansOptions& options) { options.empty = KMeansEmptyCluster::keep; }},
    {"restarts", 400, 3, 8, Data::plain, KMeansInit::random, false,
     [](KMeansOptions& options) { options.restarts = 3; }},
    {"one iteration", 400, 3, 8, Data::plain, KMeansInit::random, false,
     [](KMeansOptions& options) { options.max_iterations = 1; }},
    {"one cluster", 200, 3, 1, Data::plain, KMeansInit::random, false},
    {"two clusters", 200, 3, 2, Data::plain, KMeansInit::random, true},
    {"a cluster for each point", 40, 2, 40, Data::wild, KMeansInit::first, false},
    {"nearly a cluster for each point", 40, 2, 38, Data::wild, KMeansInit::first, false},
};

template <class T>
Job<T> job_of(const Case& one) {
  Job<T> job = make_job<T>(one.n, one.d, one.k, one.data, one.init, one.weighted);
  job.options.tolerance = 0;
  one.change(job.options);
  return job;
}

template <class T>
KMeansResult<T> fit(const Job<T>& job, int threads = 1) {
  Execution execution;
  execution.threads = threads;
  return kmeans(job.points, job.options, job.memory(0, job.points.rows()), execution);
}

template <class T>
class Quality : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Quality, Elements);

TYPED_TEST(Quality, NeverRaisesTheInertiaAndReturnsTheResultOfAFit) {
  using T = TypeParam;
  int better = 0;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    Job<T> job = job_of<T>(one);
    double last = fit(job).inertia;
    const double without = last;
    for (const std::int64_t moves : {1, 2, 7, 20}) {
      job.options.quality_moves = moves;
      const KMeansResult<T> result = fit(job);
      EXPECT_FALSE(result.inertia > last) << moves;
      EXPECT_LE(result.quality_moves, moves);
      last = result.inertia;
      KMeansCheckOptions checks;
      checks.reference_rows = 50;
      const std::vector<T>& weights = job.weights;
      const KMeansCheck check = kmeans_check(kmeans_model(result), job.points, std::as_const(result.labels).view(),
                                             checks, VectorView<const T>(weights.data(), std::ssize(weights)));
      EXPECT_EQ(check.labels.incorrect, 0);
      // After the iteration limit, the centroids need not be the means.
      if (result.stop_reason == KMeansStopReason::labels_unchanged && !job.options.standardize) {
        EXPECT_EQ(check.means.incorrect, 0);
      }
      EXPECT_EQ(check.inertia, result.inertia);
      EXPECT_EQ(check.counts, result.counts);
      EXPECT_EQ(std::ssize(result.history), result.iterations);
    }
    better += last < without;
  }
  EXPECT_GE(better, 8);
}

TYPED_TEST(Quality, HasTheSameBitsOnThreadsAndRanks) {
  using T = TypeParam;
  const char* how = sizeof(T) == 4 ? "even" : "uneven";
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    Job<T> job = job_of<T>(one);
    job.options.quality_moves = 4;
    const KMeansResult<T> alone = fit(job);
    const KMeansResult<T> threads = fit(job, 3);
    EXPECT_EQ(difference(alone, threads, 0, job.points.rows()), "");
    EXPECT_EQ(alone.quality_moves, threads.quality_moves);
    how = std::string_view(how) == "even" ? "uneven" : "even";
    EXPECT_EQ(differs(alone, 3, how,
                      [&](Communicator& communicator, std::int64_t first, std::int64_t rows) {
                        return kmeans(job.rows(first, rows), job.options, job.memory(first, rows),
                                      job.execution(&communicator));
                      }),
              "")
        << how;
  }
}

TYPED_TEST(Quality, HasTheSameBitsForEachExactVariant) {
  using T = TypeParam;
  Job<T> job = job_of<T>(cases[2]);
  job.options.quality_moves = 6;
  const KMeansResult<T> best = fit(job);
  for (const char* const variant : {"sequential", "simd_small_dim", "simd_large_dim", "simd_bounds", "simd_grid"}) {
    Execution execution;
    execution.variant = variant;
    if (std::string_view(variant) == "sequential") {
      EXPECT_THROW(kmeans(job.points, job.options, job.memory(0, 900), execution), UnsupportedError);
      continue;
    }
    EXPECT_EQ(difference(best, kmeans(job.points, job.options, job.memory(0, 900), execution), 0, 900), "") << variant;
  }
}

/// Returns the inertia if every row is at its nearest centroid.
template <class T>
long double inertia_of(const Job<T>& job, MatrixView<const T> centroids) {
  long double inertia = 0;
  for (std::int64_t row = 0; row < job.points.rows(); ++row) {
    long double least = std::numeric_limits<long double>::infinity();
    for (std::int64_t cluster = 0; cluster < centroids.rows(); ++cluster) {
      long double squares = 0;
      for (std::int64_t dim = 0; dim < job.points.columns(); ++dim) {
        const long double difference =
            static_cast<long double>(job.points(row, dim)) - static_cast<long double>(centroids(cluster, dim));
        squares += difference * difference;
      }
      least = std::min(least, squares);
    }
    inertia += least * (job.weights.empty() ? 1 : static_cast<long double>(job.weights[static_cast<std::size_t>(row)]));
  }
  return inertia;
}

/// Returns a search among the rows of a job. Their coordinates are small.
template <class T>
kmeans_detail::LocalSearch search_of(const Job<T>& job, const KMeansResult<T>& done, kmeans_detail::LocalRows& rows) {
  const std::int64_t d = job.points.columns();
  std::vector<double> masses(static_cast<std::size_t>(done.centroids.rows()));
  rows.rows = Matrix<float>(job.points.rows(), d);
  for (std::int64_t row = 0; row < job.points.rows(); ++row) {
    for (std::int64_t column = 0; column < d; ++column)
      rows.rows(row, column) = static_cast<float>(job.points(row, column));
    rows.weights.push_back(job.weights.empty() ? 1 : static_cast<double>(job.weights[static_cast<std::size_t>(row)]));
    masses[static_cast<std::size_t>(done.labels[row])] += rows.weights.back();
  }
  const T* const first = done.centroids.data();
  return {rows,
          std::span(done.labels.data(), static_cast<std::size_t>(job.points.rows())),
          {first, first + done.centroids.rows() * d},
          masses,
          {}};
}

// The fit cannot lower the inertia any further, but transfers and exchanges can, each by the gain that it promises.
TYPED_TEST(Quality, SearchesLowerTheInertiaByTheirGain) {
  using T = TypeParam;
  int transferred = 0;
  int exchanged = 0;
  for (const bool weighted : {false, true})
    for (const std::int64_t clusters : {2, 7, 20, 60}) {
      SCOPED_TRACE(clusters);
      const Job<T> job = make_job<T>(240, 5, clusters, Data::plain, KMeansInit::random, weighted);
      const KMeansResult<T> done = fit(job);
      kmeans_detail::LocalRows rows;
      kmeans_detail::LocalSearch search = search_of(job, done, rows);
      const long double before = inertia_of<T>(job, done.centroids.view());
      double last = 0;
      const auto lowers = [&] {
        Matrix<T> centroids(clusters, job.points.columns());
        for (std::int64_t index = 0; index < clusters * job.points.columns(); ++index)
          centroids.data()[index] = static_cast<T>(search.means()[static_cast<std::size_t>(index)]);
        EXPECT_GE(search.gain(), last);
        EXPECT_LE(inertia_of<T>(job, std::as_const(centroids).view()), before - search.gain() + 1e-4L * before);
        return search.gain() - std::exchange(last, search.gain()) > 1e-4L * before;
      };
      search.polish();
      transferred += lowers();
      search.exchange(core::Philox(1), std::int64_t{1} << 20);
      exchanged += lowers();
    }
  EXPECT_GE(transferred, 5);
  EXPECT_GE(exchanged, 5);
}

/// Returns the least inertia of all partitions of few rows.
template <class T>
long double least_inertia(const Job<T>& job, std::int64_t clusters) {
  const auto n = static_cast<std::size_t>(job.points.rows());
  std::vector<std::int64_t> labels(n, 0);
  long double least = std::numeric_limits<long double>::infinity();
  // A label is at most one more than the labels before it, so that each partition occurs once.
  const auto visit = [&](const auto& self, std::size_t row, std::int64_t used) -> void {
    if (row < n) {
      for (labels[row] = 0; labels[row] < std::min(used + 1, clusters); ++labels[row])
        self(self, row + 1, std::max(used, labels[row] + 1));
      return;
    }
    long double inertia = 0;
    for (std::int64_t cluster = 0; cluster < used; ++cluster)
      for (std::int64_t dim = 0; dim < job.points.columns(); ++dim) {
        long double weight = 0;
        long double sum = 0;
        long double squares = 0;
        for (std::size_t one = 0; one < n; ++one) {
          if (labels[one] != cluster) continue;
          const auto value = static_cast<long double>(job.points(static_cast<std::int64_t>(one), dim));
          const long double share = job.weights.empty() ? 1 : static_cast<long double>(job.weights[one]);
          weight += share;
          sum += share * value;
          squares += share * value * value;
        }
        if (weight > 0) inertia += squares - sum * sum / weight;
      }
    least = std::min(least, inertia);
  };
  visit(visit, 0, 0);
  return least;
}

TYPED_TEST(Quality, FindsTheOptimumOfFewPoints) {
  using T = TypeParam;
  int cases_found = 0;
  int fits_found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Job<T> job = make_job<T>(9, 2, 3, Data::plain, KMeansInit::random, seed % 2 == 0);
    job.options.tolerance = 0;
    job.options.seed = seed;
    const long double least = least_inertia(job, 3);
    fits_found += fit(job).inertia <= least * (1 + 1e-6L);
    job.options.quality_moves = 30;
    const double found = fit(job).inertia;
    EXPECT_GE(found, least * (1 - 1e-6L));
    cases_found += found <= least * (1 + 1e-6L);
  }
  EXPECT_GT(cases_found, fits_found);
  EXPECT_GE(cases_found, 16);
}

/// Returns rows in blobs around the points of a grid, which are so far apart that the best clustering is known.
template <class T>
Matrix<T> separated_blobs(std::int64_t n, std::int64_t blobs, double& inertia) {
  std::mt19937_64 random(3);
  Matrix<T> points(n, 2);
  std::vector<std::array<double, 3>> sums(static_cast<std::size_t>(blobs));
  for (int pass = 0; pass < 2; ++pass) {
    inertia = 0;
    for (std::int64_t row = 0; row < n; ++row) {
      std::array<double, 3>& sum = sums[static_cast<std::size_t>(row % blobs)];
      for (std::int64_t dim = 0; dim < 2; ++dim) {
        const auto column = static_cast<std::size_t>(dim);
        if (pass == 0) {
          const double centre = 100.0 * static_cast<double>(dim == 0 ? row % blobs % 5 : row % blobs / 5);
          points(row, dim) = static_cast<T>(centre + static_cast<double>(random() % 1000) / 500);
          sum[column] += static_cast<double>(points(row, dim));
        }
        const double difference = static_cast<double>(points(row, dim)) - sum[column] / std::max(sum[2], 1.0);
        inertia += difference * difference;
      }
      if (pass == 0) ++sum[2];
    }
  }
  return points;
}

// All first centroids are in one blob. Lloyd's algorithm alone leaves most of them there.
TYPED_TEST(Quality, FindsSeparatedBlobsFromPoorCentroids) {
  using T = TypeParam;
  constexpr std::int64_t n = 2000;
  constexpr std::int64_t blobs = 20;
  double least = 0;
  const Matrix<T> points = separated_blobs<T>(n, blobs, least);
  Matrix<T> given(blobs, 2);
  for (std::int64_t cluster = 0; cluster < blobs; ++cluster)
    std::copy_n(points.row(cluster * blobs), 2, given.row(cluster));
  KMeansOptions options{.clusters = blobs, .init = KMeansInit::given};
  const KMeansMemory<T> memory{.initial_centroids = given.view()};
  EXPECT_GT(kmeans(points, options, memory).inertia, 10 * least);
  options.quality_moves = 40;
  EXPECT_LT(kmeans(points, options, memory).inertia, 1.001 * least);
}

TYPED_TEST(Quality, RepeatsItsTimeByTheNumberOfMoves) {
  using T = TypeParam;
  Job<T> job = job_of<T>(cases[2]);
  const double without = fit(job).inertia;
  for (int threads = 1; threads <= 2; ++threads) {
    job.options.quality = true;
    job.options.quality_moves = 0;
    const KMeansResult<T> timed = fit(job, threads);
    EXPECT_LE(timed.inertia, without);
    job.options.quality = false;
    job.options.quality_moves = timed.quality_moves;
    EXPECT_EQ(difference(timed, fit(job), 0, 900), "");
  }
}

// The best of the first fits wins, and as many and two more fits than it took to find it are made.
TYPED_TEST(Quality, RestartsEndByThemselves) {
  using T = TypeParam;
  const std::string file = testing::TempDir() + "restarts_" + std::to_string(sizeof(T)) + ".npz";
  for (const std::uint64_t seed : {1, 2, 3}) {
    Job<T> job = job_of<T>(cases[0]);
    job.options.seed = seed;
    job.options.restarts = 0;
    int fits = 0;
    Execution execution;
    execution.progress = [&](const Progress& progress) { fits += progress.phase == "iteration" && progress.done == 1; };
    const KMeansResult<T> automatic = kmeans(job.points, job.options, job.memory(0, 500), execution);
    EXPECT_EQ(fits, 2 * (automatic.restart + 1) + 2);
    for (const int restarts : {automatic.restart + 1, fits}) {
      job.options.restarts = restarts;
      const KMeansResult<T> counted = fit(job, 2);
      EXPECT_EQ(difference(automatic, counted, 0, 500), "");
      EXPECT_EQ(counted.restart, automatic.restart);
    }
    std::filesystem::remove(file);
    job.options.restarts = 0;
    job.options.checkpoint = {.file = file};
    std::stop_source stop;
    execution.stop = stop.get_token();
    int begun = 0;
    execution.progress = [&](const Progress& progress) {
      begun += progress.phase == "iteration" && progress.done == 1;
      if (begun == 3) stop.request_stop();
    };
    EXPECT_THROW(kmeans(job.points, job.options, job.memory(0, 500), execution), InterruptedError);
    job.options.checkpoint.resume = true;
    EXPECT_EQ(difference(automatic, fit(job), 0, 500), "");
    EXPECT_EQ(difference(automatic, fit(job), 0, 500), "") << "from the end";
  }
  std::filesystem::remove(file);
}

/// Requests a stop after some moves, resumes from the checkpoint, and compares with a job without interruption.
TYPED_TEST(Quality, ResumesToTheSameBits) {
  using T = TypeParam;
  const std::string file = testing::TempDir() + "quality_" + std::to_string(sizeof(T)) + ".npz";
  Job<T> job = job_of<T>(cases[2]);
  job.options.quality_moves = 12;
  const KMeansResult<T> whole = fit(job);
  for (const std::int64_t last : {0, 1, 5, 11}) {
    std::filesystem::remove(file);
    job.options.checkpoint = {.file = file};
    std::stop_source stop;
    Execution execution;
    execution.stop = stop.get_token();
    execution.progress = [&](const Progress& progress) {
      if (progress.phase == "quality" && progress.done == last) stop.request_stop();
    };
    EXPECT_THROW(kmeans(job.points, job.options, job.memory(0, 900), execution), InterruptedError);
    job.options.checkpoint.resume = true;
    std::string notes;
    job.options.checkpoint.note = [&](std::string_view note) { notes += note; };
    const KMeansResult<T> resumed = fit(job, 2);
    EXPECT_EQ(difference(whole, resumed, 0, 900), "") << last;
    EXPECT_EQ(resumed.quality_moves, whole.quality_moves);
    EXPECT_NE(notes.find("after " + std::to_string(last) + " move"), std::string::npos) << notes;
    EXPECT_EQ(difference(whole, fit(job), 0, 900), "") << "from the end";
  }
  std::filesystem::remove(file);
}

// The fit itself takes a small part of the time before the request.
TEST(QualityStop, EndsTheMovesSoon) {
  const Matrix<float> points = tests::make_points<float>(200'000, 8, Data::plain);
  KMeansOptions options{.clusters = 32, .init = KMeansInit::first, .max_iterations = 1};
  options.quality_moves = 1'000'000;
  for (const double seconds : {0.5, 0.57, 0.65})
    tests::expect_to_stop_soon(seconds, 1, [&](const std::stop_token& stop) {
      Execution execution;
      execution.threads = 1;
      execution.stop = stop;
      kmeans(points, options, execution);
    });
}

TEST(QualityOptions, AreRefusedWhereTheyMakeNoSense) {
  const Job<float> job = job_of<float>(cases[0]);
  const auto message = [&]<class E>(E*, KMeansOptions options, const Execution& execution = {}) {
    return error_of<E>([&] { kmeans(job.points, options, execution); });
  };
  constexpr UsageError* usage = nullptr;
  constexpr UnsupportedError* unsupported = nullptr;
  for (const bool timed : {true, false}) {
    KMeansOptions asked{.clusters = 8};
    asked.quality = timed;
    asked.quality_moves = timed ? 0 : 3;
    const std::string name = timed ? "quality" : "quality_moves";
    KMeansOptions options = asked;
    options.size_max = 100;
    EXPECT_NE(message(unsupported, options).find(name), std::string::npos);
    options = asked;
    options.empty = KMeansEmptyCluster::error;
    EXPECT_NE(message(unsupported, options).find(name), std::string::npos);
    Execution execution;
    execution.device = Device::gpu;
    EXPECT_NE(message(unsupported, asked, execution).find(name), std::string::npos);
    execution.device = Device::automatic;
    execution.variant = "openmp_reduce";
    EXPECT_NE(message(unsupported, asked, execution).find(name), std::string::npos);
  }
  KMeansOptions both{.clusters = 8};
  both.quality = true;
  both.quality_moves = 3;
  EXPECT_NE(message(usage, both).find("quality_moves"), std::string::npos);
}

TEST(QualityOptions, CountTowardsTheMemory) {
  KMeansOptions options{.clusters = 10};
  const KMeansShape shape{.points = 1'000'000, .dimensions = 4};
  const std::uint64_t without = kmeans_memory(shape, options).host;
  options.quality = true;
  EXPECT_GE(kmeans_memory(shape, options).host, without + 20 * 1'000'000);
}

}  // namespace
}  // namespace gradus
