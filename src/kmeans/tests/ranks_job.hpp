// Problems whose rows are divided among ranks. The result of each rank is compared with the result of a single process.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "core/philox.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/tests/job.hpp"
#include "kmeans/tests/shared_update.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus::tests {

// ---------------------------------------------------------------------------------------------------------------------
// Problems

enum class Data {
  plain,       ///< multiples of one half around several centres
  wild,        ///< very different magnitudes, so that the sums do not determine all means
  duplicates,  ///< few different rows, each repeated many times, with exact ties
  ends         ///< rows sorted by kind, with distant rows at the end
};

/// A function that changes the options of the default fit.
struct Change {
  const char* name;
  void (*make)(KMeansOptions& options);
};
inline constexpr Change changes_of_options[] = {
    {"cosine", [](KMeansOptions& options) { options.metric = KMeansMetric::cosine; }},
    {"standardize", [](KMeansOptions& options) { options.standardize = true; }},
    {"standardize, cosine",
     [](KMeansOptions& options) {
       options.standardize = true;
       options.metric = KMeansMetric::cosine;
     }},
    {"keep", [](KMeansOptions& options) { options.empty = KMeansEmptyCluster::keep; }},
    {"init rows", [](KMeansOptions& options) { options.init_rows = 90; }},
    {"restarts", [](KMeansOptions& options) { options.restarts = 3; }},
    {"no tolerance", [](KMeansOptions& options) { options.tolerance = 0; }},
    {"great tolerance", [](KMeansOptions& options) { options.tolerance = 0.05; }},
    {"few changed", [](KMeansOptions& options) { options.changed_fraction = 0.05; }},
    {"one iteration", [](KMeansOptions& options) { options.max_iterations = 1; }},
    {"seed", [](KMeansOptions& options) { options.seed = 77; }}};

template <class T>
Matrix<T> make_points(std::int64_t n, std::int64_t d, Data data) {
  Matrix<T> points(n, d);
  const core::Philox random(17, static_cast<std::uint64_t>(data));
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const auto index = static_cast<std::uint64_t>(row * d + dim);
      double value = 0;
      switch (data) {
        case Data::plain:
          value = static_cast<double>(random.below(index, 400)) / 2 + static_cast<double>(100 * (row % 7));
          break;
        case Data::wild:
          value = std::ldexp(random.uniform(index) - 0.5, static_cast<int>(random.bits(index) % 60) - 30);
          break;
        case Data::duplicates: value = static_cast<double>((row + dim) % 5) - 2; break;
        case Data::ends: value = row + 3 >= n ? 1e6 : std::floor(static_cast<double>(row) / 10); break;
      }
      points(row, dim) = static_cast<T>(value);
    }
  return points;
}

/// Returns weights. Some of them are zero, and the last one is the largest.
template <class T>
std::vector<T> make_weights(std::int64_t n) {
  std::vector<T> weights;
  const core::Philox random(18);
  for (std::int64_t row = 0; row < n; ++row)
    weights.push_back(static_cast<T>(row % 9 == 4 ? 0.0 : 0.25 + random.uniform(static_cast<std::uint64_t>(row))));
  weights.back() = 1000;
  return weights;
}

/// Returns the index of each rank's first row. The last element is the number of all rows.
inline std::vector<std::int64_t> split(std::int64_t n, int ranks, const std::string& how) {
  std::vector<std::int64_t> first{0};
  for (int rank = 1; rank < ranks; ++rank) {
    if (how == "even") first.push_back(n * rank / ranks);
    else if (how == "last") first.push_back(0);  // the last rank has all rows
    else first.push_back(std::min(n, first.back() + (rank % 2 == 0 ? 0 : 1 + n / 3)));
  }
  first.push_back(n);
  return first;
}

// ---------------------------------------------------------------------------------------------------------------------
// Comparison

inline std::string difference(const std::vector<KMeansIteration>& a, const std::vector<KMeansIteration>& b) {
  if (a.size() != b.size()) return "the number of iterations";
  for (std::size_t index = 0; index < a.size(); ++index)
    if (!same_bits(&a[index].inertia, &b[index].inertia, 1) || a[index].changed != b[index].changed ||
        !same_bits(&a[index].shift, &b[index].shift, 1))
      return "iteration " + std::to_string(index + 1);
  return "";
}

/// Compares a rank's result with the result of a single process. Returns "" if they are equal, otherwise the first
/// difference.
template <class T>
std::string difference(const KMeansResult<T>& one, const KMeansResult<T>& rank, std::int64_t first, std::int64_t rows) {
  if (!same_bits(one.centroids, rank.centroids)) return "centroids";
  if (!same_bits(one.standardized_centroids, rank.standardized_centroids)) return "standardized centroids";
  if (one.standardization.mean != rank.standardization.mean) return "means";
  if (one.standardization.scale != rank.standardization.scale) return "scales";
  if (rank.labels.size() != rows || !same_bits(one.labels.data() + first, rank.labels.data(), rows)) return "labels";
  if (one.counts != rank.counts) return "counts";
  if (!same_bits(&one.inertia, &rank.inertia, 1)) return "inertia";
  if (one.iterations != rank.iterations || one.converged != rank.converged || one.stop_reason != rank.stop_reason ||
      one.restart != rank.restart)
    return "the end";
  return difference(one.history, rank.history);
}

template <class T>
struct Job {
  Matrix<T> points;
  std::vector<T> weights;
  KMeansOptions options;
  Matrix<T> given;
  std::string variant;

  KMeansMemory<T> memory(std::int64_t first, std::int64_t rows) const {
    KMeansMemory<T> memory;
    if (!weights.empty()) memory.weights = {weights.data() + first, rows};
    if (options.init == KMeansInit::given) memory.initial_centroids = given.view();
    return memory;
  }
  Execution execution(Communicator* communicator) const {
    Execution execution;
    execution.variant = variant;
    execution.threads = 1;
    execution.communicator = communicator;
    return execution;
  }
  MatrixView<const T> rows(std::int64_t first, std::int64_t count) const { return points.view().slice(first, count); }
};

template <class T>
Job<T> make_job(std::int64_t n, std::int64_t d, std::int64_t k, Data data, KMeansInit init, bool weighted) {
  Job<T> job;
  job.points = make_points<T>(n, d, data);
  if (weighted) job.weights = make_weights<T>(n);
  job.options.clusters = k;
  job.options.init = init;
  job.options.seed = 5;
  accept_coinciding_points(job.options);
  job.given = Matrix<T>(k, d);
  // The given centroids are far away from the points, so some of them get no points.
  for (std::int64_t cluster = 0; cluster < k; ++cluster)
    for (std::int64_t dim = 0; dim < d; ++dim) job.given(cluster, dim) = static_cast<T>(cluster * cluster * 50);
  return job;
}

/// A fit in which clusters become empty.
template <class T>
struct EmptyClusters {
  const char* name;
  Job<T> job;
  bool is_for_gpu;  ///< true if cuda_tensor moves all points to empty clusters without the driver
};

template <class T>
std::vector<EmptyClusters<T>> fits_with_empty_clusters() {
  constexpr std::int64_t n = 3000;
  constexpr std::int64_t d = 24;
  // The first rows of the points are the initial centroids.
  const auto fit = [](Data data, std::int64_t k, bool weighted) {
    Job<T> job = make_job<T>(n, d, k, data, KMeansInit::given, weighted);
    job.options.max_iterations = 12;
    job.options.tolerance = 0;
    std::copy_n(job.points.data(), k * d, job.given.data());
    return job;
  };
  const auto put = [](T* row, double value) { std::fill_n(row, d, static_cast<T>(value)); };
  const auto far = [&](Job<T>& job, std::int64_t first) {
    for (std::int64_t cluster = first; cluster < job.options.clusters; ++cluster) put(job.given.row(cluster), 1e5);
  };
  std::vector<EmptyClusters<T>> fits;
  const auto add = [&](const char* name, bool is_for_gpu, Job<T> job, const auto& change) {
    change(job);
    fits.push_back({name, std::move(job), is_for_gpu});
  };
  const auto one_far = [&](Job<T>& job) { far(job, 39); };
  const auto most_far = [&](Job<T>& job) { far(job, 3); };
  add("one", true, fit(Data::plain, 40, false), one_far);
  add("most", true, fit(Data::plain, 40, false), most_far);
  add("most, weights", true, fit(Data::plain, 40, true), most_far);
  add("most, wild", false, fit(Data::wild, 40, true), most_far);
  add("most, cosine", true, fit(Data::plain, 40, false), [&](Job<T>& job) {
    job.options.metric = KMeansMetric::cosine;
    for (std::int64_t cluster = 3; cluster < 40; ++cluster) std::copy_n(job.given.row(0), d, job.given.row(cluster));
  });
  add("repeated centroids", true, fit(Data::plain, 40, false), [&](Job<T>& job) {
    for (std::int64_t cluster = 1; cluster < 40; cluster += 2)
      std::copy_n(job.given.row(cluster - 1), d, job.given.row(cluster));
  });
  add("equal far points", true, fit(Data::plain, 40, false), [&](Job<T>& job) {
    for (std::int64_t row = 500; row < 2000; row += 40) put(job.points.row(row), 5000);
    far(job, 20);
  });
  add("all equally far", true, fit(Data::plain, 40, false), [&](Job<T>& job) {
    std::fill_n(job.points.data(), n * d, T{0});
    for (std::int64_t row = 0; row < n; ++row)
      job.points(row, row % d) = static_cast<T>(row % 2 == row / d % 2 ? 3 : -3);
    far(job, 1);
    put(job.given.row(0), 0);
  });
  add("points that must stay", true, fit(Data::plain, 200, false), [&](Job<T>& job) {
    for (std::int64_t row = 0; row < 150; ++row) {
      put(job.points.row(row), 1e4 * static_cast<double>(row + 1));
      put(job.given.row(row), 1e4 * static_cast<double>(row + 1) + 500);
    }
    for (std::int64_t cluster = 190; cluster < 200; ++cluster) put(job.given.row(cluster), -1e5);
  });
  add("far points without weight", true, fit(Data::plain, 40, true), [&](Job<T>& job) {
    for (std::int64_t row = 0; row < n; ++row)
      if (row % 9 == 4) put(job.points.row(row), 900 + static_cast<double>(row));
    far(job, 20);
  });
  add("clusters without weight", sizeof(T) == 4, fit(Data::plain, 40, true), [&](Job<T>& job) {
    for (std::int64_t row = 4; row < 90; row += 9) put(job.points.row(row), 1e4 + static_cast<double>(row));
    for (std::int64_t cluster = 0; cluster < 10; ++cluster)
      put(job.given.row(30 + cluster), 1e4 + 4 + 9 * static_cast<double>(cluster));
  });
  add("clusters of little weight", false, fit(Data::plain, 40, true), [&](Job<T>& job) {
    for (std::int64_t row = 0; row < 40; ++row) job.weights[static_cast<std::size_t>(row)] = static_cast<T>(1e-30);
    put(job.points.row(7), 1e4);
    put(job.given.row(7), 1e4);
    far(job, 30);
  });
  add("fewer points than clusters", false, fit(Data::duplicates, 40, false), most_far);
  return fits;
}

/// Runs call(communicator, first row, number of rows) on each rank. Returns the first difference from the result of a
/// single process, or the message of an error. Returns "" if there is neither.
template <class T, class Call>
std::string differs(const KMeansResult<T>& one, int size, const std::string& how, const Call& call) {
  const std::vector<std::int64_t> first = split(one.labels.size(), size, how);
  std::mutex mutex;
  std::string found;
  ThreadRanks ranks(size);
  const std::vector<std::exception_ptr> thrown = ranks.run([&](Communicator& communicator) {
    const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
    const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
    const KMeansResult<T> own = call(communicator, from, rows);
    if (const std::string what = difference(one, own, from, rows); !what.empty()) {
      const std::lock_guard lock(mutex);
      found += what + " on rank " + std::to_string(communicator.rank()) + "; ";
    }
  });
  for (const std::exception_ptr& each : thrown) try {
      if (each) std::rethrow_exception(each);
    } catch (const std::exception& error) {
      found += std::string(error.what()) + "; ";
    }
  return found;
}

inline constexpr KMeansInit all_inits[] = {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel,
                                           KMeansInit::random, KMeansInit::first, KMeansInit::given};

struct Size {
  std::int64_t n, d, k;
};

}  // namespace gradus::tests
