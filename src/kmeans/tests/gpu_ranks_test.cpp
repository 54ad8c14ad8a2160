// Tests jobs on several ranks. All ranks use a GPU, or only some of them. The results must have the same bits as with
// one process on the CPU. The ranks are threads that share the GPUs of the machine. On a machine without a GPU, the
// tests are skipped with a message.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

#include "execution/rank_sums.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/tests/ranks_job.hpp"
#include "tests/on_gpu.hpp"

namespace gradus {
namespace {

/// The number of GPU allocations of this thread that succeed before one fails. If negative, all allocations succeed.
thread_local std::int64_t granted = -1;

}  // namespace
}  // namespace gradus

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): names that the linker defines
cudaError_t __real_cudaMalloc(void** address, std::size_t bytes);
cudaError_t __wrap_cudaMalloc(void** address, std::size_t bytes) {
  if (gradus::granted >= 0 && gradus::granted-- == 0) return cudaErrorMemoryAllocation;
  return __real_cudaMalloc(address, bytes);
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace gradus {
namespace {

using kmeans_detail::Variant;
using kmeans_detail::variants;
using tests::all_inits;
using tests::contains;
using tests::Data;
using tests::Job;
using tests::make_job;
using tests::make_points;
using tests::same_bits;
using tests::Size;
using tests::split;
using tests::ThreadRanks;

std::vector<const Variant*> gpu_variants() {
  return tests::rows_that(variants(),
                          [](const Variant& variant) { return variant.on_ranks && tests::runs_on_gpu(variant); });
}

template <class T>
bool takes(const Variant& variant, const Size& size, bool weighted) {
  return static_cast<bool>(variant.supports({size.n, size.d, size.k, sizeof(T), weighted}, execution::this_machine()));
}

/// Selects the ranks that use a GPU.
enum class Mix { all, first, last, odd };
constexpr Mix all_mixes[] = {Mix::all, Mix::first, Mix::last, Mix::odd};

bool is_on_gpu(Mix mix, const Communicator& communicator) {
  switch (mix) {
    case Mix::all: return true;
    case Mix::first: return communicator.rank() == 0;
    case Mix::last: return communicator.rank() + 1 == communicator.size();
    case Mix::odd: return communicator.rank() % 2 == 1 || communicator.size() == 1;
  }
  return true;
}

Execution on_processor() {
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = 1;
  return execution;
}

/// Returns the Execution for one of several ranks. If the rank uses a GPU, it uses the variant `variant`. On all other
/// ranks, the library chooses the variant.
Execution of_rank(Communicator& communicator, Mix mix, std::string_view variant) {
  Execution execution = on_processor();
  execution.communicator = &communicator;
  if (!is_on_gpu(mix, communicator)) return execution;
  execution.device = Device::gpu;
  execution.variant = variant;
  execution.gpu = communicator.rank() % static_cast<int>(execution::this_machine().gpus().size());
  return execution;
}

template <class T>
KMeansResult<T> one_process(const Job<T>& job) {
  return kmeans(job.points, job.options, job.memory(0, job.points.rows()), on_processor());
}

template <class T>
std::string differs(const Job<T>& job, const KMeansResult<T>& one, int ranks, const std::string& how, Mix mix,
                    std::string_view variant) {
  return tests::differs(one, ranks, how, [&](Communicator& communicator, std::int64_t from, std::int64_t rows) {
    const Execution execution = of_rank(communicator, mix, variant);
    KMeansResult<T> own = kmeans(job.rows(from, rows), job.options, job.memory(from, rows), execution);
    const Variant& run = core::find_variant(variants(), own.report.variant, "kmeans");
    EXPECT_EQ(tests::runs_on_gpu(run), execution.device == Device::gpu) << own.report.variant;
    return own;
  });
}

std::string text(int ranks, const std::string& how, Mix mix, std::string_view variant) {
  return std::string(variant) + " on " + std::to_string(ranks) + " ranks, " + how + ", mix " +
         std::to_string(static_cast<int>(mix));
}

template <class T>
class KMeansGpuRanks : public tests::OnGpu {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansGpuRanks, Elements);

TYPED_TEST(KMeansGpuRanks, give_the_bits_of_one_process) {
  using T = TypeParam;
  // The sizes include fewer rows than ranks, a single column, numbers of rows that are not multiples of the tile size,
  // and few and many clusters. Every variant runs.
  const Size sizes[] = {{5, 2, 3}, {700, 1, 6}, {611, 3, 9}, {523, 9, 5}, {400, 40, 33}, {900, 16, 270}};
  const int ranks[] = {1, 2, 3, 5};
  const std::string hows[] = {"even", "holes", "last"};
  constexpr Data datas[] = {Data::plain, Data::wild, Data::duplicates, Data::ends};
  int number = 0;
  int run = 0;
  for (const Size size : sizes)
    for (const KMeansInit init : all_inits)
      for (const bool weighted : {false, true}) {
        const Data data = datas[(number + static_cast<int>(weighted)) % 4];
        const Job<T> job = make_job<T>(size.n, size.d, size.k, data, init, weighted);
        const KMeansResult<T> one = one_process(job);
        for (const Variant* const variant : gpu_variants()) {
          if (!takes<T>(*variant, size, weighted)) continue;
          const int count = ranks[number % 4];
          const std::string& how = hows[number % 3];
          const Mix mix = all_mixes[number / 4 % 4];
          ++number;
          EXPECT_EQ(differs(job, one, count, how, mix, variant->name), "")
              << text(count, how, mix, variant->name) << ", " << size.n << " x " << size.d << ", k " << size.k
              << ", init " << static_cast<int>(init) << ", weighted " << weighted << ", data "
              << static_cast<int>(data);
          ++run;
        }
      }
  EXPECT_GE(run, 100);
}

TYPED_TEST(KMeansGpuRanks, know_all_options) {
  using T = TypeParam;
  int number = 0;
  for (const auto& [name, change] : tests::changes_of_options)
    for (const bool weighted : {false, true})
      for (const Variant* const variant : gpu_variants()) {
        Job<T> job = make_job<T>(400, 4, 11, Data::plain, all_inits[number % 5], weighted);
        job.given(0, 0) = 1;  // with the cosine metric, a row of zeros would have no direction
        change(job.options);
        const Mix mix = all_mixes[number % 4];
        EXPECT_EQ(differs(job, one_process(job), number % 2 == 0 ? 3 : 2, "holes", mix, variant->name), "")
            << name << ", weighted " << weighted << ", " << text(0, "holes", mix, variant->name);
        ++number;
      }
}

// There are many tiles, and the labels become stable. The tensor variant therefore orders its points again.
TYPED_TEST(KMeansGpuRanks, work_on_many_rows) {
  using T = TypeParam;
  for (const Size size : {Size{300000, 2, 20}, Size{60000, 12, 40}, Size{40000, 24, 300}}) {
    Job<T> job = make_job<T>(size.n, size.d, size.k, Data::plain, KMeansInit::random, false);
    job.options.max_iterations = 12;
    job.options.tolerance = 0;
    const KMeansResult<T> one = one_process(job);
    for (const Variant* const variant : gpu_variants()) {
      if (!takes<T>(*variant, size, false)) continue;
      EXPECT_EQ(differs(job, one, 3, "holes", Mix::all, variant->name), "") << variant->name << ", " << size.d;
      EXPECT_EQ(differs(job, one, 2, "even", Mix::last, variant->name), "") << variant->name << ", " << size.d;
    }
  }
}

// Two ranks run on the CPU, and one on the GPU. On each rank, the library chooses the variant.
TYPED_TEST(KMeansGpuRanks, choose_a_variant_that_runs) {
  using T = TypeParam;
  for (const Size size : {Size{500, 3, 7}, Size{500, 12, 7}, Size{500, 12, 200}, Size{500, 30, 7}})
    for (const Mix mix : {Mix::all, Mix::last}) {
      const Job<T> job = make_job<T>(size.n, size.d, size.k, Data::plain, KMeansInit::kmeans_plus_plus, false);
      EXPECT_EQ(differs(job, one_process(job), 3, "even", mix, ""), "") << size.d << " columns";
    }
  // The job is so large that each rank uses a GPU.
  Job<T> job = make_job<T>(300000, 16, 500, Data::plain, KMeansInit::first, false);
  job.options.max_iterations = 2;
  const KMeansResult<T> one =
      kmeans(job.points, job.options, job.memory(0, job.points.rows()), {.device = Device::cpu});
  const auto call = [&](Communicator& communicator, std::int64_t from, std::int64_t rows) {
    KMeansResult<T> own = kmeans(job.rows(from, rows), job.options, {}, {.communicator = &communicator});
    EXPECT_TRUE(own.report.variant.starts_with("cuda_")) << own.report.variant;
    return own;
  };
  EXPECT_EQ(tests::differs(one, 2, "even", call), "");
}

TYPED_TEST(KMeansGpuRanks, add_up_in_every_way) {
  using T = TypeParam;
  using execution::RankSums;
  for (const bool weighted : {false, true}) {
    const Job<T> job = make_job<T>(2000, 17, 23, Data::plain, KMeansInit::kmeans_parallel, weighted);
    const KMeansResult<T> one = one_process(job);
    for (const RankSums::Way way : {RankSums::Way::peers, RankSums::Way::nccl, RankSums::Way::host}) {
      RankSums::best_way = way;
      for (const int ranks : {2, 3, 4})
        EXPECT_EQ(differs(job, one, ranks, "even", Mix::all, "cuda_tensor"), "")
            << ranks << " ranks, way " << static_cast<int>(way);
    }
    RankSums::best_way = RankSums::Way::peers;
  }
}

TYPED_TEST(KMeansGpuRanks, move_points_to_empty_clusters) {
  using T = TypeParam;
  int number = 0;
  for (const auto& [name, job, is_for_gpu] : tests::fits_with_empty_clusters<T>()) {
    const KMeansResult<T> one = one_process(job);
    for (const Mix mix : {Mix::all, Mix::last}) {
      EXPECT_EQ(differs(job, one, 2, "even", mix, "cuda_tensor"), "") << name;
      EXPECT_EQ(differs(job, one, 3, number++ % 2 == 0 ? "holes" : "last", mix, "cuda_tensor"), "") << name;
    }
  }
}

TYPED_TEST(KMeansGpuRanks, predict_their_rows) {
  using T = TypeParam;
  for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
    for (const Variant* const variant : gpu_variants()) {
      const Job<T> job = make_job<T>(333, 4, 7, Data::plain, KMeansInit::first, true);
      const Matrix<T> centroids = kmeans(job.points, job.options, on_processor()).centroids;
      const KMeansPrediction one = kmeans_predict(centroids, job.points, job.memory(0, 333), metric, on_processor());
      ThreadRanks ranks(4);
      const std::vector<std::int64_t> first = split(333, 4, "holes");
      const auto thrown = ranks.run([&](Communicator& communicator) {
        const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
        const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
        const KMeansPrediction own = kmeans_predict(centroids, job.rows(from, rows), job.memory(from, rows), metric,
                                                    of_rank(communicator, Mix::odd, variant->name));
        EXPECT_TRUE(same_bits(&own.inertia, &one.inertia, 1));
        EXPECT_TRUE(same_bits(own.labels.data(), one.labels.data() + from, rows));
      });
      for (const std::exception_ptr& each : thrown) EXPECT_EQ(each, nullptr);
    }
}

/// Returns "" if nothing was thrown.
std::string message_of(const std::exception_ptr& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Compares the initial centroids that all ranks choose with those that one process chooses on the CPU. Returns the
/// first difference, or "".
template <class T>
std::string differs_in_seeding(const Job<T>& job, const KMeansInitialCentroids<T>& one, int size,
                               const std::string& how, Mix mix) {
  const std::int64_t n = job.points.rows();
  const std::vector<std::int64_t> first = split(n, size, how);
  std::mutex mutex;
  std::string found;
  ThreadRanks ranks(size);
  const auto thrown = ranks.run([&](Communicator& communicator) {
    const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
    const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
    const KMeansInitialCentroids<T> own = kmeans_initial_centroids(
        job.rows(from, rows), job.options, job.memory(from, rows), of_rank(communicator, mix, ""));
    const std::lock_guard lock(mutex);
    if (own.rows != one.rows) found += "rows on rank " + std::to_string(communicator.rank()) + "; ";
    else if (!same_bits(own.centroids, one.centroids)) found += "centroids; ";
  });
  for (const std::exception_ptr& each : thrown)
    if (each) found += message_of(each) + "; ";
  return found;
}

std::vector<int> all_gpus() {
  std::vector<int> gpus;
  for (const execution::Gpu& gpu : execution::this_machine().gpus())
    if (gpu.usable) gpus.push_back(gpu.index);
  return gpus;
}

template <class T>
KMeansInitialCentroids<T> seeding_on_processor(const Job<T>& job) {
  return kmeans_initial_centroids(job.points, job.options, job.memory(0, job.points.rows()), on_processor());
}

// With every method, the ranks must choose the same rows as one process. The sizes include ranks with fewer rows than
// there are clusters, short and long rows, rows that do not fill units of 16 bytes, and more rows than the sum of one
// group covers.
TYPED_TEST(KMeansGpuRanks, choose_the_first_centroids_of_one_process) {
  using T = TypeParam;
  const Size sizes[] = {{7, 1, 5},    {300, 3, 250}, {2000, 16, 120}, {700, 130, 30},  {300, 700, 9},
                        {900, 9, 20}, {80, 4100, 7}, {150001, 2, 12}, {30001, 20, 300}};
  constexpr Data datas[] = {Data::plain, Data::wild, Data::duplicates, Data::ends};
  int number = 0;
  for (const Size size : sizes)
    for (const KMeansInit init :
         {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random, KMeansInit::first})
      for (const bool weighted : {false, true}) {
        const Data data = datas[(number / 2 + number) % 4];
        const Job<T> job = make_job<T>(size.n, size.d, size.k, data, init, weighted);
        const KMeansInitialCentroids<T> one = seeding_on_processor(job);
        const std::string what = ", " + std::to_string(size.n) + " x " + std::to_string(size.d) + ", k " +
                                 std::to_string(size.k) + ", init " + std::to_string(static_cast<int>(init)) +
                                 ", weighted " + std::to_string(weighted) + ", data " +
                                 std::to_string(static_cast<int>(data));
        for (const std::vector<int>& gpus : {std::vector<int>{0}, {0, 0}, {0, 0, 0}, all_gpus()}) {
          Execution execution{.device = Device::gpu};
          execution.gpus = gpus;
          const KMeansInitialCentroids<T> own =
              kmeans_initial_centroids(job.points, job.options, job.memory(0, size.n), execution);
          EXPECT_EQ(own.rows, one.rows) << gpus.size() << " GPUs" << what;
          EXPECT_TRUE(same_bits(own.centroids, one.centroids)) << gpus.size() << " GPUs" << what;
        }
        const Mix mix = all_mixes[number % 4];
        for (const std::string how : {"even", "holes", "last"})
          EXPECT_EQ(differs_in_seeding(job, one, 3, how, Mix::all), "") << text(3, how, Mix::all, "") << what;
        EXPECT_EQ(differs_in_seeding(job, one, 5, "holes", mix), "") << text(5, "holes", mix, "") << what;
        ++number;
      }
}

// There are more tiles than a GPU compares at a time, more steps than rows of other ranks at a time, and in the first
// steps more pairs than the kernels can store.
TYPED_TEST(KMeansGpuRanks, choose_many_of_many_rows) {
  using T = TypeParam;
  for (const Size size : {Size{300000, 24, 1200}, Size{120000, 70, 40}}) {
    const Job<T> job = make_job<T>(size.n, size.d, size.k, Data::plain, KMeansInit::kmeans_plus_plus, size.d > 30);
    std::vector<std::int64_t> rows;
    for (const std::vector<int>& gpus : {std::vector<int>{0}, {0, 0}, all_gpus()}) {
      Execution execution{.device = Device::gpu};
      execution.gpus = gpus;
      const KMeansInitialCentroids<T> own =
          kmeans_initial_centroids(job.points, job.options, job.memory(0, size.n), execution);
      if (rows.empty()) rows = own.rows;
      EXPECT_EQ(own.rows, rows) << gpus.size() << " GPUs, " << size.d << " columns";
    }
  }
}

// The rows of one rank are far outside the range of the other rank's 8-bit copy.
TYPED_TEST(KMeansGpuRanks, choose_among_rows_of_different_magnitude) {
  using T = TypeParam;
  for (const int exponent : {-100, -40, -12, -7, 7, 12, 40, 70, 100})
    for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel})
      for (const bool weighted : {false, true}) {
        Job<T> job = make_job<T>(1000, 24, 40, Data::plain, init, weighted);
        for (std::int64_t row = 500; row < 1000; ++row)
          for (std::int64_t dim = 0; dim < 24; ++dim)
            job.points(row, dim) = static_cast<T>(std::ldexp(static_cast<double>(job.points(row, dim)), exponent));
        if (weighted)  // rows of both ranks are drawn
          for (std::int64_t row = 0; row < 1000; ++row)
            job.weights[static_cast<std::size_t>(row)] = static_cast<T>((row < 500) == (exponent < 0) ? 0x1p-30
                                                                        : row % 3 == 0                ? 0.0
                                                                                                      : 1.0);
        EXPECT_EQ(differs_in_seeding(job, seeding_on_processor(job), 2, "even", Mix::all), "")
            << "2^" << exponent << ", init " << static_cast<int>(init) << ", weighted " << weighted;
      }
}

// All rows of the last rank are equal to the first chosen row, so this rank has no 8-bit copy. The CPU then starts each
// step of k-means++ separately, and only the first rank uses its copy.
TYPED_TEST(KMeansGpuRanks, choose_with_a_rank_of_equal_rows) {
  using T = TypeParam;
  for (const std::int64_t n : {400, 6000, 40000})
    for (const bool weighted : {false, true}) {
      Job<T> job = make_job<T>(n, 24, 30, Data::plain, KMeansInit::kmeans_plus_plus, weighted);
      for (std::int64_t row = 0; row < n; ++row)
        if (row >= n / 2 || row % 16 != 0)
          for (std::int64_t dim = 0; dim < 24; ++dim) job.points(row, dim) = static_cast<T>(dim + 1);
      if (weighted) job.weights.back() = static_cast<T>(n);  // this row is chosen first
      const KMeansInitialCentroids<T> one = seeding_on_processor(job);
      ASSERT_EQ(one.centroids(0, 0), static_cast<T>(1)) << "another seed is needed";
      EXPECT_EQ(differs_in_seeding(job, one, 2, "even", Mix::all), "") << n << " rows, weighted " << weighted;
    }
}

// A stopped fit must resume if the GPU is on another rank, and also if there is no GPU.
TYPED_TEST(KMeansGpuRanks, go_on_from_a_checkpoint) {
  using T = TypeParam;
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("gradus_gpu_ranks_" + std::to_string(::getpid()) + ".npz");
  struct Stop {
    const char* phase;
    int done;
    KMeansInit init;
  };
  const std::vector<Stop> stops = {{"iteration", 3, KMeansInit::random},
                                   {"initialize", 7, KMeansInit::kmeans_plus_plus},
                                   {"initialize", 2, KMeansInit::kmeans_parallel}};
  int number = 0;
  for (const Variant* const variant : gpu_variants()) {
    const Stop& stop = stops[static_cast<std::size_t>(number++) % stops.size()];
    std::filesystem::remove(file);
    Job<T> job = make_job<T>(611, 3, 40, Data::wild, stop.init, true);
    job.options.tolerance = 0;
    const KMeansResult<T> one = one_process(job);
    ASSERT_GT(one.iterations, stop.init == KMeansInit::random ? stop.done : 0);
    const Mix mix = stop.init == KMeansInit::random ? Mix::odd : Mix::all;
    job.options.checkpoint.file = file;
    ThreadRanks ranks(3);
    const std::vector<std::int64_t> first = split(611, 3, "even");
    const auto thrown = ranks.run([&](Communicator& communicator) {
      const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
      const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
      std::stop_source source;
      Execution execution = of_rank(communicator, mix, variant->name);
      execution.stop = source.get_token();
      execution.progress = [&](const Progress& progress) {
        if (progress.phase == stop.phase && progress.done >= stop.done) source.request_stop();
      };
      kmeans(job.rows(from, rows), job.options, job.memory(from, rows), execution);
    });
    for (const std::exception_ptr& each : thrown)
      EXPECT_TRUE(contains(tests::error_of<InterruptedError>([&] {
                             if (each) std::rethrow_exception(each);
                           }),
                           "stopped"));
    ASSERT_TRUE(std::filesystem::exists(file));
    const auto saved = file.string() + ".saved";
    std::filesystem::copy_file(file, saved, std::filesystem::copy_options::overwrite_existing);
    job.options.checkpoint.resume = true;
    EXPECT_EQ(differs(job, one, 2, "even", Mix::first, variant->name), "") << variant->name;
    std::filesystem::copy_file(saved, file, std::filesystem::copy_options::overwrite_existing);
    const KMeansResult<T> alone = kmeans(job.points, job.options, job.memory(0, 611), on_processor());
    EXPECT_TRUE(alone.resumed);
    EXPECT_EQ(tests::difference(one, alone, 0, 611), "") << variant->name;
    std::filesystem::remove(saved);
  }
  std::filesystem::remove(file);
}

class KMeansGpuRanksCalls : public tests::OnGpu {};

TEST_F(KMeansGpuRanksCalls, are_one_in_an_iteration) {
  for (const Variant* const variant : gpu_variants()) {
    const auto calls = [&](int iterations) {
      Job<double> job = make_job<double>(700, 3, 12, Data::plain, KMeansInit::first, false);
      job.options.max_iterations = iterations;
      job.options.tolerance = 0;
      ThreadRanks ranks(3);
      const std::vector<std::int64_t> first = split(700, 3, "even");
      ranks.run([&](Communicator& communicator) {
        const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
        const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
        EXPECT_EQ(kmeans(job.rows(from, rows), job.options, of_rank(communicator, Mix::odd, variant->name)).iterations,
                  iterations);
      });
      return ranks.calls();
    };
    EXPECT_EQ(calls(5) - calls(2), 3) << variant->name;
  }
}

// If the GPU of one rank fails, the job must end on all ranks with the error of this rank.
TEST_F(KMeansGpuRanksCalls, end_together) {
  const Matrix<double> points = make_points<double>(200, 3, Data::plain);
  const tests::OnDevice<double> on_gpu(points.view());
  const auto error = [&](const std::function<void(int, Execution&, MatrixView<const double>&)>& change) {
    ThreadRanks ranks(3);
    std::string common;
    const auto thrown = ranks.run([&](Communicator& communicator) {
      Execution execution = of_rank(communicator, Mix::odd, "");
      MatrixView<const double> rows = points.view();
      change(communicator.rank(), execution, rows);
      kmeans(rows, {.clusters = 4}, execution);
    });
    for (const std::exception_ptr& each : thrown) try {
        if (!each) ADD_FAILURE() << "no error";
        else std::rethrow_exception(each);
      } catch (const Error& one) {
        if (common.empty()) common = one.what();
        EXPECT_EQ(one.what(), common);
      }
    return common;
  };
  const std::string memory = error([](int rank, Execution& execution, auto&) {
    if (rank == 1) execution.gpu_memory_limit = 1000;
  });
  EXPECT_TRUE(contains(memory, "rank 1 of 3: ") && contains(memory, "of the GPU's memory, but the limit allows only"))
      << memory;
  const std::string block = error([](int rank, Execution& execution, auto&) {
    if (rank == 1) execution.block_size = 33;
  });
  EXPECT_TRUE(contains(block, "rank 1 of 3: the block size must be a multiple of 32")) << block;
  const std::string number = error([](int rank, Execution& execution, auto&) {
    if (rank == 1) execution.gpu = 99;
  });
  EXPECT_TRUE(contains(number, "rank 1 of 3: there is no GPU 99")) << number;
  const std::string place = error([&](int rank, Execution& execution, MatrixView<const double>& rows) {
    execution.gpu = 0;
    if (rank == 1) rows = on_gpu.view();
  });
  EXPECT_TRUE(contains(place, "rank 1 of 3: points: they are on GPU 0") && contains(place, "host memory")) << place;
}

// On one of two ranks, one allocation on the GPU fails. No matter which one it is, the other rank must not wait.
TEST_F(KMeansGpuRanksCalls, end_together_without_memory_on_one_gpu) {
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
    const Job<float> job = make_job<float>(3000, 16, 60, Data::plain, init, false);
    int agreed = 0;
    bool is_done = false;
    std::int64_t grants = 0;
    for (; !is_done; ++grants) {
      ThreadRanks ranks(2);
      const auto thrown = ranks.run([&](Communicator& communicator) {
        const bool is_short = communicator.rank() == 1;
        if (is_short) granted = grants;
        kmeans_initial_centroids(job.rows(1500 * communicator.rank(), 1500), job.options, {},
                                 of_rank(communicator, Mix::all, ""));
        if (is_short) is_done = granted >= 0;  // no allocation failed
      });
      std::vector<std::string> messages;
      for (const std::exception_ptr& each : thrown) messages.push_back(message_of(each));
      EXPECT_EQ(messages[0].empty(), messages[1].empty()) << "allocation " << grants;
      if (!messages[1].empty()) EXPECT_TRUE(contains(messages[1], "memory")) << messages[1];
      if (!messages[1].empty() && messages[0] == messages[1]) ++agreed;
    }
    EXPECT_GT(grants, 15);
    EXPECT_GT(agreed, 10);
  }
}

}  // namespace
}  // namespace gradus
