// Tests that a fit which is interrupted and resumed has the same bits as an uninterrupted fit, even if the variant or
// the number of threads or ranks changes. A checkpoint that does not match the job must be rejected and stay unchanged.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <mutex>

#include "core/philox.hpp"
#include "kmeans/checkpoint/seeding_state.hpp"
#include "kmeans/options.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/seeding/initialize.hpp"
#include "kmeans/tests/job.hpp"
#include "kmeans/tests/shared_update.hpp"
#include "tests/helpers.hpp"
#include "tests/options.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

using kmeans_detail::SeedingCheckpoints;
using kmeans_detail::SeedingFilter;
using kmeans_detail::SeedingState;
using kmeans_detail::Variant;
using kmeans_detail::variants;
using tests::contains;
using tests::error_of;
using tests::same_bits;
using tests::ThreadRanks;

// ---------------------------------------------------------------------------------------------------------------------
// Problems

enum class Data {
  plain,      ///< several centres with many points between them, so that fits take many iterations
  wild,       ///< very different magnitudes, so that the sums do not determine all means
  duplicates  ///< few different rows, each repeated many times, with exact ties
};

template <class T>
Matrix<T> make_points(std::int64_t n, std::int64_t d, Data data) {
  Matrix<T> points(n, d);
  const core::Philox random(29, static_cast<std::uint64_t>(data));
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const auto index = static_cast<std::uint64_t>(row * d + dim);
      double value = 0;
      switch (data) {
        case Data::plain: value = random.uniform(index) * 100 + static_cast<double>(30 * (row % 3)); break;
        case Data::wild:
          value = std::ldexp(random.uniform(index) - 0.5, static_cast<int>(random.bits(index) % 60) - 30);
          break;
        case Data::duplicates: value = static_cast<double>((row * (dim + 1)) % 23); break;
      }
      points(row, dim) = static_cast<T>(value);
    }
  return points;
}

template <class T>
std::vector<T> make_weights(std::int64_t n) {
  std::vector<T> weights;
  const core::Philox random(18);
  for (std::int64_t row = 0; row < n; ++row)
    weights.push_back(static_cast<T>(row % 9 == 4 ? 0.0 : 0.25 + random.uniform(static_cast<std::uint64_t>(row))));
  return weights;
}

template <class T>
struct Job {
  Matrix<T> points;
  std::vector<T> weights;
  Matrix<T> given;
  KMeansOptions options;

  KMeansMemory<T> memory(std::int64_t first, std::int64_t rows) const {
    KMeansMemory<T> memory;
    if (!weights.empty()) memory.weights = {weights.data() + first, rows};
    if (options.init == KMeansInit::given) memory.initial_centroids = given.view();
    return memory;
  }
};

template <class T>
Job<T> make_job(std::int64_t n, std::int64_t d, std::int64_t k, Data data, KMeansInit init) {
  Job<T> job{.points = make_points<T>(n, d, data), .weights = {}, .given = Matrix<T>(k, d), .options = {}};
  job.options.clusters = k;
  job.options.init = init;
  job.options.tolerance = 0;
  accept_coinciding_points(job.options);
  // The given centroids are far away from the points, so some of them get no points.
  for (std::int64_t cluster = 0; cluster < k; ++cluster)
    for (std::int64_t dim = 0; dim < d; ++dim) job.given(cluster, dim) = static_cast<T>(1 + cluster * cluster * 9);
  return job;
}

// ---------------------------------------------------------------------------------------------------------------------
// Runs

/// The conditions under which a job runs.
struct RunSettings {
  std::string variant;  ///< name of the variant; if empty, the library chooses the variant
  int threads = 1;
  int ranks = 0;  ///< number of ranks; 0 means one process without ranks
  bool on_gpu = false;
};

std::string name_of(const RunSettings& way) {
  return (way.variant.empty() ? "any variant" : way.variant) + ", " + std::to_string(way.threads) + " threads, " +
         std::to_string(way.ranks) + " ranks";
}

/// The notes of a run, and how often it reported progress.
struct RunLog {
  std::string notes;
  int iterations = 0;
  int choices = 0;  ///< number of progress reports of seeding
};

/// A function that is called on each rank after a progress report. Its argument is the number of iterations in all
/// restarts so far. During seeding, its argument is the number of progress reports so far.
using AtIteration = std::function<void(int)>;

/// Runs a job under the given conditions. Returns the combined result of all ranks.
template <class T>
KMeansResult<T> run(const Job<T>& job, const RunSettings& way, const KMeansCheckpoint& checkpoint,
                    RunLog* log = nullptr, const AtIteration& at_iteration = {}, const std::stop_token& stop = {},
                    const AtIteration& at_choice = {}) {
  const auto make = [&](Communicator* communicator, std::int64_t first, std::int64_t rows) {
    const bool is_first = communicator == nullptr || communicator->rank() == 0;
    KMeansOptions options = job.options;
    options.checkpoint = checkpoint;
    options.checkpoint.note = [&](std::string_view text) {
      if (log != nullptr) log->notes += std::string(text) + "\n";
    };
    Execution execution;
    execution.variant = way.variant;
    execution.threads = way.threads;
    execution.communicator = communicator;
    execution.stop = stop;
    int iterations = 0;
    int choices = 0;
    execution.progress = [&](const Progress& progress) {
      if (progress.phase == "initialize") {
        ++choices;
        if (log != nullptr && is_first) log->choices = choices;
        if (at_choice) at_choice(choices);
      }
      if (progress.phase != "iteration") return;
      ++iterations;
      if (log != nullptr && is_first) log->iterations = iterations;
      if (at_iteration) at_iteration(iterations);
    };
    return kmeans(job.points.view().slice(first, rows), options, job.memory(first, rows), execution);
  };
  const std::int64_t n = job.points.rows();
  if (way.ranks == 0) return make(nullptr, 0, n);
  ThreadRanks ranks(way.ranks);
  KMeansResult<T> all;
  Buffer<std::int32_t> labels(n);
  std::mutex mutex;
  const auto thrown = ranks.run([&](Communicator& communicator) {
    const std::int64_t first = n * communicator.rank() / way.ranks;
    const std::int64_t rows = n * (communicator.rank() + 1) / way.ranks - first;
    KMeansResult<T> own = make(&communicator, first, rows);
    const std::lock_guard lock(mutex);
    std::copy_n(own.labels.data(), rows, labels.data() + first);
    if (communicator.rank() == way.ranks / 2) all = std::move(own);
  });
  for (const std::exception_ptr& each : thrown)
    if (each) std::rethrow_exception(each);
  all.labels = std::move(labels);
  return all;
}

/// Returns "" if the results are equal, otherwise the name of the first difference. If `exact_history` is false,
/// ignores the last bits of inertia and shift in the history, which the contract of GPU variants does not include.
template <class T>
std::string difference(const KMeansResult<T>& a, const KMeansResult<T>& b, bool exact_history = true) {
  if (!same_bits(a.centroids, b.centroids)) return "centroids";
  if (a.labels.size() != b.labels.size() || !same_bits(a.labels.data(), b.labels.data(), a.labels.size()))
    return "labels";
  if (a.counts != b.counts) return "counts";
  if (!same_bits(&a.inertia, &b.inertia, 1)) return "inertia";
  if (a.iterations != b.iterations || a.converged != b.converged || a.stop_reason != b.stop_reason ||
      a.restart != b.restart)
    return "the end";
  if (a.history.size() != b.history.size()) return "the number of iterations";
  const auto same = [&](double one, double other) {
    return exact_history ? same_bits(&one, &other, 1) : std::abs(one - other) <= 1e-12 * std::abs(one);
  };
  for (std::size_t index = 0; index < a.history.size(); ++index)
    if (!same(a.history[index].inertia, b.history[index].inertia) ||
        a.history[index].changed != b.history[index].changed || !same(a.history[index].shift, b.history[index].shift))
      return "iteration " + std::to_string(index + 1);
  return "";
}

/// An exception that simulates a kill. A thread cannot be killed like a process, so this exception ends the thread's
/// job.
struct Killed {};

AtIteration kill_at(int last) {
  return [last](int iteration) {
    if (iteration == last) throw Killed();
  };
}

bool runs_here(const Variant& variant) {
  return tests::runs_on_cpu(variant) || execution::why_no_gpu(execution::this_machine()).empty();
}

/// Returns settings for each production variant that supports the job on this machine.
template <class T>
std::vector<RunSettings> production_ways(const Job<T>& job, int threads) {
  const kmeans_detail::Shape shape{job.points.rows(), job.points.columns(), job.options.clusters,
                                   static_cast<int>(sizeof(T)), !job.weights.empty()};
  std::vector<RunSettings> ways;
  for (const Variant& variant : variants())
    if (variant.contract.kind == core::Contract::same_bits && runs_here(variant) &&
        variant.supports(shape, execution::this_machine()))
      ways.push_back({std::string(variant.name), threads, 0, tests::runs_on_gpu(variant)});
  return ways;
}

template <class T>
class KMeansCheckpoints : public testing::Test {
 protected:
  KMeansCheckpoints() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~KMeansCheckpoints() override { std::filesystem::remove_all(folder_); }

  std::string file() const { return (folder_ / "fit.npz").string(); }
  KMeansCheckpoint each_iteration() const {
    KMeansCheckpoint checkpoint;
    checkpoint.file = file();
    checkpoint.iterations = 1;
    return checkpoint;
  }
  KMeansCheckpoint to_resume() const {
    KMeansCheckpoint checkpoint;
    checkpoint.file = file();
    checkpoint.resume = true;
    return checkpoint;
  }
  std::string content() const {
    std::ifstream stream(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  void set_content(const std::string& bytes) const {
    std::ofstream stream(file(), std::ios::binary | std::ios::trunc);
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  /// Kills a fit in iteration `last` and resumes it under other conditions. Returns a description of the first fault,
  /// or "" if there is none.
  template <class U>
  std::string wrong(const Job<U>& job, const KMeansResult<U>& whole, int all_iterations, int last,
                    const RunSettings& from, const RunSettings& to) const {
    std::filesystem::remove(file());
    try {
      run<U>(job, from, each_iteration(), nullptr, kill_at(last));
      return "was not killed";
    } catch (const Killed&) {
    } catch (const Error& error) {  // if a rank waits for a killed rank, it fails with an error
      if (from.ranks < 2) return error.what();
    }
    if (last > 1 && !std::filesystem::exists(file())) return "no checkpoint";
    RunLog log;
    const KMeansResult<U> again = run<U>(job, to, to_resume(), &log);
    if (std::string what = difference(whole, again, !from.on_gpu && !to.on_gpu); !what.empty()) return what;
    if (again.resumed != (last > 1)) return "does not say whether it was resumed";
    // The checkpoint holds the state after the previous iteration. (A fit writes no checkpoint after its last
    // iteration.)
    if (log.iterations > all_iterations - last + 2) return "made " + std::to_string(log.iterations) + " iterations";
    return "";
  }

 private:
  /// Returns a directory in memory if the system has one. On a disk, it would take minutes to write a checkpoint after
  /// each iteration.
  static std::filesystem::path place() {
    std::error_code unused;
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory, unused) && ::access(memory.c_str(), W_OK) == 0
               ? memory
               : std::filesystem::temp_directory_path();
  }
  std::filesystem::path folder_ =
      place() / ("gradus_checkpoint_test_" + std::to_string(::getpid()) + "_" + std::to_string(sizeof(T)));
};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansCheckpoints, Elements);

// ---------------------------------------------------------------------------------------------------------------------
// The same bits

TYPED_TEST(KMeansCheckpoints, go_on_after_each_iteration_by_any_variant) {
  using T = TypeParam;
  int pairs = 0;
  for (const std::int64_t d : {1, 2, 16}) {
    const Job<T> job = make_job<T>(700, d, 12, Data::plain, KMeansInit::kmeans_plus_plus);
    const KMeansResult<T> whole = run<T>(job, {}, {});
    ASSERT_GT(whole.iterations, 6);
    const std::vector<RunSettings> from = production_ways(job, 1);
    const std::vector<RunSettings> to = production_ways(job, 3);
    ASSERT_GE(from.size(), 2U);
    int last = 1;
    for (const RunSettings& first : from)
      for (const RunSettings& second : to)
        for (int step = 0; step < 5; ++step) {
          EXPECT_EQ(this->wrong(job, whole, whole.iterations, last, first, second), "")
              << name_of(first) << ", then " << name_of(second) << ", killed in iteration " << last << " of "
              << whole.iterations << ", " << d << " columns";
          last = last % whole.iterations + 1;
          ++pairs;
        }
  }
  EXPECT_GE(pairs, 60);
}

TYPED_TEST(KMeansCheckpoints, go_on_on_another_number_of_ranks) {
  using T = TypeParam;
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::given}) {
    const Job<T> job = make_job<T>(400, 3, 9, Data::plain, init);
    const KMeansResult<T> whole = run<T>(job, {}, {});
    ASSERT_GT(whole.iterations, 4);
    int last = 1;
    for (const int from : {0, 1, 2, 5})
      for (const int to : {0, 1, 3, 8})
        for (int step = 0; step < 3; ++step) {
          const tests::ForceSharedUpdate shared(step > 0);
          EXPECT_EQ(this->wrong(job, whole, whole.iterations, last, RunSettings{"", 1, from}, RunSettings{"", 1, to}),
                    "")
              << from << " ranks, then " << to << ", killed in iteration " << last;
          last = last % whole.iterations + 1;
        }
  }
}

TYPED_TEST(KMeansCheckpoints, know_all_options) {
  using T = TypeParam;
  using Change = std::function<void(Job<T>&)>;
  const std::pair<const char*, Change> changes[] = {
      {"as it is", [](Job<T>&) {}},
      {"cosine", [](Job<T>& job) { job.options.metric = KMeansMetric::cosine; }},
      {"weights", [](Job<T>& job) { job.weights = make_weights<T>(job.points.rows()); }},
      {"keep", [](Job<T>& job) { job.options.empty = KMeansEmptyCluster::keep; }},
      {"init rows", [](Job<T>& job) { job.options.init_rows = 60; }},
      {"balanced", [](Job<T>& job) { job.options.balanced = true; }},
      {"restarts", [](Job<T>& job) { job.options.restarts = 3; }},
      {"tolerance", [](Job<T>& job) { job.options.tolerance = 0.01; }},
      {"few changed", [](Job<T>& job) { job.options.changed_fraction = 0.05; }},
      {"iterations", [](Job<T>& job) { job.options.max_iterations = 4; }},
      {"wild", [](Job<T>& job) { job.points = make_points<T>(300, 3, Data::wild); }},
      {"duplicates", [](Job<T>& job) { job.points = make_points<T>(300, 3, Data::duplicates); }}};
  constexpr KMeansInit inits[] = {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random,
                                  KMeansInit::first, KMeansInit::given};
  int runs = 0;
  for (const auto& [name, change] : changes)
    for (const KMeansInit init : inits) {
      Job<T> job = make_job<T>(300, 3, 10, Data::plain, init);
      change(job);
      RunLog log;
      const KMeansResult<T> whole = run<T>(job, {}, {}, &log);
      for (int last = 1; last <= log.iterations; last += 1 + log.iterations / 3, ++runs)
        EXPECT_EQ(this->wrong(job, whole, log.iterations, last, RunSettings{"", 1}, RunSettings{"", 2}), "")
            << name << ", init " << static_cast<int>(init) << ", killed in iteration " << last << " of "
            << log.iterations;
    }
  EXPECT_GE(runs, 100);
}

// A finished job with several fits leaves a checkpoint. A job that resumes from it returns the best fit again, with
// labels and counts.
TYPED_TEST(KMeansCheckpoints, go_on_from_the_end) {
  using T = TypeParam;
  for (const int restarts : {1, 4})
    for (const int ranks : {0, 3}) {
      std::filesystem::remove(this->file());
      Job<T> job = make_job<T>(300, 3, 10, Data::plain, KMeansInit::random);
      job.options.restarts = restarts;
      const KMeansResult<T> whole = run<T>(job, {}, {});
      KMeansCheckpoint checkpoint = this->to_resume();
      RunLog log;
      EXPECT_EQ(difference(whole, run<T>(job, {}, checkpoint, &log)), "");
      EXPECT_TRUE(contains(log.notes, "starts from the beginning")) << log.notes;
      const std::string before = this->content();
      log = {};
      const KMeansResult<T> again = run<T>(job, {"", 2, ranks}, checkpoint, &log);
      EXPECT_EQ(difference(whole, again), "");
      EXPECT_TRUE(again.resumed);
      EXPECT_EQ(log.iterations, 0);
      EXPECT_TRUE(contains(log.notes, "the fit was done")) << log.notes;
      EXPECT_EQ(this->content(), before);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// When checkpoints are written

TYPED_TEST(KMeansCheckpoints, are_written_when_they_are_due) {
  using T = TypeParam;
  const Job<T> job = make_job<T>(700, 2, 12, Data::plain, KMeansInit::random);
  const KMeansResult<T> whole = run<T>(job, {}, {});
  ASSERT_GT(whole.iterations, 11);
  const auto resumed_from = [&](const KMeansCheckpoint& checkpoint, int last, std::atomic<bool>* request, int asks) {
    std::filesystem::remove(this->file());
    EXPECT_THROW(run<T>(job, {}, checkpoint, nullptr,
                        [&](int iteration) {
                          if (iteration == asks) request->store(true);
                          kill_at(last)(iteration);
                        }),
                 Killed);
    RunLog log;
    EXPECT_EQ(difference(whole, run<T>(job, {}, this->to_resume(), &log)), "");
    return log.notes;
  };
  KMeansCheckpoint checkpoint;
  checkpoint.file = this->file();
  EXPECT_TRUE(contains(resumed_from(checkpoint, 9, nullptr, 0), "starts from the beginning"))
      << "ten minutes have not passed";
  checkpoint.iterations = 3;
  EXPECT_TRUE(contains(resumed_from(checkpoint, 9, nullptr, 0), "after iteration 6"));
  checkpoint.iterations = 0;
  checkpoint.seconds = 1e-9;
  EXPECT_TRUE(contains(resumed_from(checkpoint, 9, nullptr, 0), "after iteration 8"));
  checkpoint.seconds = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(contains(resumed_from(checkpoint, 9, nullptr, 0), "starts from the beginning"));
  std::atomic<bool> request{false};
  checkpoint.request = &request;
  EXPECT_TRUE(contains(resumed_from(checkpoint, 9, &request, 5), "after iteration 5"));
  EXPECT_FALSE(request.load());
}

TYPED_TEST(KMeansCheckpoints, are_written_at_a_stop_request) {
  using T = TypeParam;
  const Job<T> job = make_job<T>(700, 2, 12, Data::plain, KMeansInit::random);
  const KMeansResult<T> whole = run<T>(job, {}, {});
  for (const int ranks : {0, 3})
    for (int last = 1; last < whole.iterations; ++last) {
      std::filesystem::remove(this->file());
      KMeansCheckpoint checkpoint;
      checkpoint.file = this->file();
      std::stop_source stop;
      EXPECT_THROW(run<T>(
                       job, {"", 1, ranks}, checkpoint, nullptr,
                       [&](int iteration) {
                         if (iteration == last) stop.request_stop();
                       },
                       stop.get_token()),
                   InterruptedError);
      RunLog log;
      EXPECT_EQ(difference(whole, run<T>(job, {}, this->to_resume(), &log)), "");
      // The ranks may notice the stop request after different numbers of iterations.
      if (ranks == 0) EXPECT_TRUE(contains(log.notes, "after iteration " + std::to_string(last))) << log.notes;
      else EXPECT_TRUE(contains(log.notes, "after iteration")) << log.notes;
    }
}

// If all iterations are done, a resumed fit computes only the last assignment.
TYPED_TEST(KMeansCheckpoints, go_on_from_the_last_iteration) {
  using T = TypeParam;
  Job<T> job = make_job<T>(700, 2, 12, Data::plain, KMeansInit::random);
  job.options.max_iterations = 5;
  std::stop_source stop;
  EXPECT_THROW(run<T>(
                   job, {}, this->each_iteration(), nullptr,
                   [&](int iteration) {
                     if (iteration == 5) stop.request_stop();
                   },
                   stop.get_token()),
               InterruptedError);
  RunLog log;
  EXPECT_EQ(difference(run<T>(job, {}, {}), run<T>(job, {}, this->to_resume(), &log)), "");
  EXPECT_TRUE(contains(log.notes, "after iteration 5")) << log.notes;
}

// A fit may resume with a different iteration limit. This is not allowed if an earlier fit of the same job has ended
// with the old limit.
TYPED_TEST(KMeansCheckpoints, go_on_to_another_limit) {
  using T = TypeParam;
  const auto with_limit = [](int limit, int restarts = 1) {
    Job<T> job = make_job<T>(700, 2, 12, Data::plain, KMeansInit::random);
    job.options.max_iterations = limit;
    job.options.restarts = restarts;
    return job;
  };
  for (const int ranks : {0, 2})
    for (const int limit : {3, 5, 9}) {
      std::filesystem::remove(this->file());
      EXPECT_THROW(run<T>(with_limit(5), {}, this->each_iteration(), nullptr, kill_at(3)), Killed);
      const KMeansResult<T> whole = run<T>(with_limit(limit), {}, {});
      ASSERT_EQ(whole.iterations, limit);
      RunLog log;
      EXPECT_EQ(difference(whole, run<T>(with_limit(limit), {"", 1, ranks}, this->to_resume(), &log)), "");
      EXPECT_TRUE(contains(log.notes, "after iteration ")) << log.notes;
    }
  const auto refused = [&](const Job<T>& job) {
    const std::string before = this->content();
    std::string message = error_of<InputError>([&] { run<T>(job, {}, this->to_resume()); });
    EXPECT_EQ(this->content(), before);
    return message;
  };
  // The fit with the limit 9 has already ended, so the limit cannot change.
  EXPECT_TRUE(contains(refused(with_limit(10)), "max_iterations=9 there, but max_iterations=10 here"));
  std::filesystem::remove(this->file());
  EXPECT_THROW(run<T>(with_limit(5), {}, this->each_iteration(), nullptr, kill_at(4)), Killed);
  EXPECT_TRUE(contains(refused(with_limit(1)), "more iterations than the limit"));
  std::filesystem::remove(this->file());
  // The job is killed in its second fit, so the first fit has ended.
  EXPECT_THROW(run<T>(with_limit(3, 2), {}, this->each_iteration(), nullptr, kill_at(5)), Killed);
  EXPECT_TRUE(contains(refused(with_limit(4, 2)), "max_iterations=3 there"));
}

// ---------------------------------------------------------------------------------------------------------------------
// Initial centroids

class EachStep final : public SeedingCheckpoints {
 public:
  bool is_due() const override { return true; }
  void write_seeding() override { states.push_back(seeding); }
  std::vector<SeedingState> states;
};

TYPED_TEST(KMeansCheckpoints, go_on_with_the_choice_of_first_centroids) {
  using T = TypeParam;
  int resumed = 0;
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel})
    for (const SeedingFilter filter : {SeedingFilter::never, SeedingFilter::always, SeedingFilter::dense})
      for (const Data data : {Data::plain, Data::wild, Data::duplicates})
        for (const auto& [weighted, init_rows] : {std::pair{false, 0}, {true, 0}, {false, 400}, {true, 400}}) {
          Job<T> job = make_job<T>(600, 6, 24, data, init);
          job.options.init_rows = init_rows;
          if (weighted) job.weights = make_weights<T>(600);
          const kmeans_detail::HostPoints<T> points(job.points.view(), job.memory(0, 600).weights, 2);
          const auto choose = [&](const kmeans_detail::SeedingSoFar& so_far) {
            return kmeans_detail::initialize<T>(points, job.options, {}, {}, 0, {filter}, so_far);
          };
          EachStep steps;
          const auto whole = choose({nullptr, &steps});
          EXPECT_EQ(choose({}).rows, whole.rows);
          ASSERT_FALSE(steps.states.empty());
          for (const SeedingState& state : steps.states) {
            EachStep rest;
            rest.seeding = state;
            const auto again = choose({&state, &rest});
            EXPECT_EQ(again.rows, whole.rows) << state.rounds.size() << " rounds, " << state.chosen.size() << " rows";
            ASSERT_LT(rest.states.size(), steps.states.size());
            // The resumed choice of first centroids starts from a recorded state. After that, it must record the same
            // states as the uninterrupted choice.
            const std::size_t done = steps.states.size() - rest.states.size();
            for (std::size_t step = 0; step < rest.states.size(); ++step) {
              EXPECT_EQ(rest.states[step].chosen, steps.states[done + step].chosen);
              EXPECT_EQ(rest.states[step].sample, steps.states[done + step].sample);
              EXPECT_EQ(rest.states[step].rounds, steps.states[done + step].rounds);
            }
            ++resumed;
          }
        }
  EXPECT_GT(resumed, 500);
}

TYPED_TEST(KMeansCheckpoints, go_on_with_the_choice_from_a_file_and_on_ranks) {
  using T = TypeParam;
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel})
    for (const int from : {0, 3})
      for (const int to : {0, 2}) {
        std::filesystem::remove(this->file());
        const Job<T> job = make_job<T>(500, 3, 40, Data::plain, init);
        RunLog log;
        const KMeansResult<T> whole = run<T>(job, {}, {}, &log);
        KMeansCheckpoint checkpoint;
        checkpoint.file = this->file();
        checkpoint.seconds = 1e-9;
        try {
          run<T>(job, {"", 1, from}, checkpoint, nullptr, kill_at(1));
          ADD_FAILURE() << "was not killed";
        } catch (const Killed&) {
        } catch (const Error& error) {
          EXPECT_EQ(from, 3) << error.what();
        }
        RunLog again;
        EXPECT_EQ(difference(whole, run<T>(job, {"", 1, to}, this->to_resume(), &again)), "");
        EXPECT_TRUE(contains(again.notes, "before the first iteration")) << again.notes;
        EXPECT_LT(again.choices, log.choices) << "rows are chosen again";
      }
}

// Interrupts the run several times during seeding, and resumes it each time.
TYPED_TEST(KMeansCheckpoints, go_on_with_the_choice_more_than_once) {
  using T = TypeParam;
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel})
    for (const bool stopped : {false, true}) {
      std::filesystem::remove(this->file());
      Job<T> job = make_job<T>(500, 3, 40, Data::plain, init);
      job.options.restarts = 2;
      const KMeansResult<T> whole = run<T>(job, {}, {});
      KMeansCheckpoint checkpoint = this->to_resume();
      if (!stopped) checkpoint.seconds = 1e-9;
      int deaths = 0;
      for (bool ended = false; !ended; ++deaths) {
        ASSERT_LT(deaths, 100) << "it does not come any further";
        std::stop_source stop;
        try {
          EXPECT_EQ(difference(whole, run<T>(job, {}, checkpoint, nullptr, {}, stop.get_token(),
                                             [&](int choice) {
                                               if (choice == 2 && stopped) stop.request_stop();
                                               if (choice == 2 && !stopped) throw Killed();
                                             })),
                    "");
          ended = true;
        } catch (const Killed&) {
        } catch (const InterruptedError&) {
        }
      }
      EXPECT_GT(deaths, 4);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Files that cannot be resumed

TYPED_TEST(KMeansCheckpoints, refuse_a_damaged_file_and_leave_it) {
  using T = TypeParam;
  Job<T> job = make_job<T>(12, 1, 2, Data::plain, KMeansInit::first);
  job.options.restarts = 2;
  job.options.max_iterations = 2;
  // The job is killed in its second fit, so that the file has every part.
  EXPECT_THROW(run<T>(job, {}, this->each_iteration(), nullptr, kill_at(4)), Killed);
  const std::string whole = this->content();
  ASSERT_GT(whole.size(), 1000U);
  const auto refuses = [&](const std::string& bytes) {
    this->set_content(bytes);
    std::string message = error_of<InputError>([&] { run<T>(job, {}, this->to_resume()); });
    EXPECT_TRUE(contains(message, this->file())) << message;
    return this->content() == bytes;
  };
  for (std::size_t length = 1; length < whole.size(); ++length)
    ASSERT_TRUE(refuses(whole.substr(0, length))) << "cut off after " << length << " bytes";
  ASSERT_TRUE(refuses(whole + "x"));
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    std::string other = whole;
    other[byte] = static_cast<char>(other[byte] ^ 1 << byte % 8);
    ASSERT_TRUE(refuses(other)) << "byte " << byte;
  }
  this->set_content(whole);
  EXPECT_EQ(difference(run<T>(job, {}, {}), run<T>(job, {}, this->to_resume())), "");
}

TYPED_TEST(KMeansCheckpoints, refuse_the_file_of_another_job_and_say_what_differs) {
  using T = TypeParam;
  const auto fresh = [] {
    Job<T> job = make_job<T>(200, 3, 5, Data::plain, KMeansInit::given);
    job.weights = make_weights<T>(200);
    return job;
  };
  const Job<T> job = fresh();
  EXPECT_THROW(run<T>(job, {}, this->each_iteration(), nullptr, kill_at(3)), Killed);
  const std::string before = this->content();
  using Change = std::function<void(Job<T>&)>;
  std::vector<std::pair<std::string_view, Change>> changes{
      {"hash of the points", [](Job<T>& other) { other.points(77, 2) = std::nextafter(other.points(77, 2), T{1000}); }},
      {"hash of the points",
       [](Job<T>& other) {
         for (int dim = 0; dim < 3; ++dim) std::swap(other.points(5, dim), other.points(6, dim));
       }},
      {"hash of the weights", [](Job<T>& other) { other.weights[8] = 2; }},
      {"hash of the weights", [](Job<T>& other) { other.weights.clear(); }},
      {"hash of the initial centroids", [](Job<T>& other) { other.given(1, 1) += 1; }},
      {"rows", [](Job<T>& other) { other.points = make_points<T>(199, 3, Data::plain), other.weights.pop_back(); }},
  };
  for (const core::Option& row : core::option_rows<KMeansOptions>)
    if (row.in_job && row.name != "max_iterations")
      changes.emplace_back(row.name, [&row](Job<T>& other) {
        row.set(&other.options, tests::other_value(row, row.get(&other.options)));
        if (row.name == "clusters") other.options.init = KMeansInit::first;
        if (row.name == "init_rows") other.options.init_rows = 150;
      });
  // Limits of size do not support weights, so that no checkpoint of this job can have them.
  std::erase_if(changes, [](const auto& change) {
    return std::string_view("size_min size_max balanced").find(change.first) != std::string_view::npos;
  });
  EXPECT_GT(changes.size(), 12U);
  for (const auto& [what, change] : changes)
    for (const int ranks : {0, 2}) {
      Job<T> other = fresh();
      change(other);
      const std::string message = error_of<InputError>([&] { run<T>(other, {"", 1, ranks}, this->to_resume()); });
      EXPECT_TRUE(contains(message, std::string(what) + "=")) << message;
      EXPECT_TRUE(contains(message, this->file())) << message;
      EXPECT_EQ(this->content(), before);
    }
  EXPECT_EQ(difference(run<T>(job, {}, {}), run<T>(job, {}, this->to_resume())), "");
}

TYPED_TEST(KMeansCheckpoints, that_cannot_be_written) {
  using T = TypeParam;
  const Job<T> job = make_job<T>(200, 3, 5, Data::plain, KMeansInit::random);
  KMeansCheckpoint checkpoint = this->each_iteration();
  checkpoint.file = this->file() + "/missing/fit.npz";
  for (const int ranks : {0, 2}) {
    const std::string message = error_of<Error>([&] { run<T>(job, {"", 1, ranks}, checkpoint); });
    EXPECT_TRUE(contains(message, checkpoint.file)) << message;
  }
  checkpoint.file = "/dev/full";  // writing to this device fails as on a full disk
  RunLog log;
  EXPECT_EQ(difference(run<T>(job, {}, {}), run<T>(job, {}, checkpoint, &log)), "");
  EXPECT_TRUE(contains(log.notes, "no checkpoint was made")) << log.notes;
  EXPECT_TRUE(contains(log.notes, "No space left")) << log.notes;
}

TYPED_TEST(KMeansCheckpoints, are_refused_where_they_make_no_sense) {
  using T = TypeParam;
  const Job<T> job = make_job<T>(50, 2, 3, Data::plain, KMeansInit::first);
  const auto refused = [&](const std::function<void(KMeansCheckpoint&)>& change) {
    KMeansCheckpoint checkpoint;
    change(checkpoint);
    return error_of<UsageError>([&] { run<T>(job, {}, checkpoint); });
  };
  EXPECT_TRUE(contains(refused([](KMeansCheckpoint& checkpoint) { checkpoint.resume = true; }), "file"));
  EXPECT_TRUE(contains(refused([](KMeansCheckpoint& checkpoint) { checkpoint.seconds = 0; }), "seconds"));
  EXPECT_TRUE(contains(refused([](KMeansCheckpoint& checkpoint) { checkpoint.seconds = std::nan(""); }), "seconds"));
  EXPECT_TRUE(contains(refused([](KMeansCheckpoint& checkpoint) { checkpoint.iterations = -1; }), "iterations"));
  int others = 0;
  for (const Variant& variant : variants()) {
    if (variant.contract.kind == core::Contract::same_bits || !runs_here(variant) || variant.baseline) continue;
    const std::string message =
        error_of<UnsupportedError>([&] { run<T>(job, {std::string(variant.name)}, this->each_iteration()); });
    EXPECT_TRUE(contains(message, "simd_large_dim")) << message;
    ++others;
  }
  EXPECT_GE(others, 5);
  EXPECT_FALSE(std::filesystem::exists(this->file()));
  // If the checkpoint options of the ranks differ, the call throws an error.
  for (const bool all_write : {false, true}) {
    ThreadRanks ranks(2);
    const auto thrown = ranks.run([&](Communicator& communicator) {
      KMeansOptions options = job.options;
      if (communicator.rank() == 1) options.checkpoint = this->to_resume();
      else if (all_write) options.checkpoint = this->each_iteration();
      Execution execution;
      execution.communicator = &communicator;
      kmeans(job.points.view().slice(communicator.rank() * 25, 25), options, execution);
    });
    for (const std::exception_ptr& each : thrown)
      EXPECT_TRUE(contains(error_of<UsageError>([&] { std::rethrow_exception(each); }), "checkpoint="));
  }
}

}  // namespace
}  // namespace gradus
