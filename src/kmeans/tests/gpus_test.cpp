// Tests calls on several GPUs of this process (Execution::gpus). The results must have the same bits as on the CPU. If
// the machine has only one GPU, the tests list this GPU several times. On a machine without a GPU, the tests are
// skipped with a message.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "execution/gpu_rates.hpp"
#include "gradus/kmeans_batch.hpp"
#include "gradus/kmeans_choose.hpp"
#include "gradus/kmeans_gpus.hpp"
#include "gradus/kmeans_parts.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/tests/ranks_job.hpp"
#include "tests/on_gpu.hpp"

namespace gradus {
namespace {

using tests::all_inits;
using tests::Data;
using tests::error_of;
using tests::Job;
using tests::make_job;
using tests::same_bits;
using tests::Size;

Execution on_processor() {
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = 1;
  return execution;
}

/// Lists of GPUs: one GPU that plays several, and, if the machine has several, all of them and uneven shares of two.
std::vector<std::vector<int>> lists_of_gpus() {
  std::vector<std::vector<int>> lists{{0}, {0, 0}, {0, 0, 0}};
  std::vector<int> all;
  for (const execution::Gpu& gpu : execution::this_machine().gpus())
    if (gpu.usable) all.push_back(gpu.index);
  if (all.size() > 1) {
    lists.push_back(all);
    lists.push_back({all[1], all[0]});
    lists.push_back({all[0], all[0], all[1]});  // uneven shares
  }
  return lists;
}

Execution on_gpus(const std::vector<int>& gpus) {
  Execution execution;
  execution.gpus = gpus;
  return execution;
}

template <class T>
class KMeansGpus : public tests::OnGpu {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansGpus, Elements);

TYPED_TEST(KMeansGpus, fit_with_the_bits_of_the_processor) {
  using T = TypeParam;
  // The sizes include fewer rows than GPUs, a single column, more clusters than a GPU has rows, and sizes for which the
  // library chooses each of its variants.
  const Size sizes[] = {{2, 3, 2}, {700, 1, 6}, {611, 3, 9}, {400, 40, 33}, {900, 16, 300}, {1500, 130, 40}};
  constexpr Data datas[] = {Data::plain, Data::wild, Data::duplicates, Data::ends};
  int number = 0;
  for (const Size size : sizes)
    for (const KMeansInit init : all_inits)
      for (const bool weighted : {false, true}) {
        const Job<T> job = make_job<T>(size.n, size.d, size.k, datas[number % 4], init, weighted);
        const KMeansMemory<T> memory = job.memory(0, size.n);
        const KMeansResult<T> one = kmeans(job.points, job.options, memory, on_processor());
        for (const std::vector<int>& gpus : lists_of_gpus()) {
          const KMeansResult<T> found = kmeans(job.points, job.options, memory, on_gpus(gpus));
          EXPECT_EQ(tests::difference(one, found, 0, size.n), "")
              << number << " on " << gpus.size() << " GPUs, by " << found.report.variant;
        }
        ++number;
      }
}

TYPED_TEST(KMeansGpus, fit_with_every_option) {
  using T = TypeParam;
  for (const tests::Change& change : tests::changes_of_options) {
    Job<T> job = make_job<T>(2500, 24, 20, Data::plain, KMeansInit::kmeans_parallel, true);
    change.make(job.options);
    const KMeansMemory<T> memory = job.memory(0, 2500);
    const KMeansResult<T> one = kmeans(job.points, job.options, memory, on_processor());
    for (const std::vector<int>& gpus : lists_of_gpus())
      EXPECT_EQ(tests::difference(one, kmeans(job.points, job.options, memory, on_gpus(gpus)), 0, 2500), "")
          << change.name << " on " << gpus.size() << " GPUs";
  }
}

TYPED_TEST(KMeansGpus, move_points_to_empty_clusters) {
  using T = TypeParam;
  const auto is_updated_by_driver = [](const KMeansResult<T>& result) {
    return std::ranges::any_of(result.report.phases, [](const Phase& phase) { return phase.name == "update"; });
  };
  for (const auto& [name, job, is_for_gpu] : tests::fits_with_empty_clusters<T>()) {
    const KMeansMemory<T> memory = job.memory(0, job.points.rows());
    const KMeansResult<T> one = kmeans(job.points, job.options, memory, on_processor());
    EXPECT_TRUE(is_updated_by_driver(one));
    for (const std::vector<int>& gpus : lists_of_gpus()) {
      Execution execution = on_gpus(gpus);
      execution.variant = "cuda_tensor";
      const KMeansResult<T> found = kmeans(job.points, job.options, memory, execution);
      EXPECT_EQ(tests::difference(one, found, 0, job.points.rows()), "") << name << " on " << gpus.size() << " GPUs";
      EXPECT_FALSE(is_for_gpu && is_updated_by_driver(found)) << name << " on " << gpus.size() << " GPUs";
    }
  }
}

TYPED_TEST(KMeansGpus, fit_in_many_parts_of_one_gpu) {
  using T = TypeParam;
  struct Row {
    Size size;
    std::int64_t most_of_a_part;
  };
  // In the second row, a part has fewer points than there are clusters.
  for (const auto& [size, most] : {Row{{611, 3, 9}, 97}, Row{{200, 16, 60}, 13}})
    for (const KMeansInit init : all_inits)
      for (const bool weighted : {false, true}) {
        const Job<T> job = make_job<T>(size.n, size.d, size.k, Data::wild, init, weighted);
        const KMeansMemory<T> memory = job.memory(0, size.n);
        Execution execution;
        execution.device = Device::gpu;
        const auto parts = kmeans_detail::in_parts(job.points.view(), memory.weights, size.k, execution, most);
        ASSERT_TRUE(parts && std::ssize(parts->gpus) > size.n / most);
        const KMeansResult<T> one = kmeans(job.points, job.options, memory, on_processor());
        EXPECT_EQ(tests::difference(one, kmeans(job.points, job.options, memory, *parts), 0, size.n), "")
            << size.n << " points, init " << static_cast<int>(init) << ", weighted " << weighted;
      }
}

TYPED_TEST(KMeansGpus, choose_the_same_first_rows) {
  using T = TypeParam;
  for (const KMeansInit init : all_inits)
    for (const bool weighted : {false, true}) {
      const Job<T> job = make_job<T>(1200, 50, 40, Data::plain, init, weighted);
      const auto one = kmeans_initial_centroids(job.points, job.options, job.memory(0, 1200), on_processor());
      for (const std::vector<int>& gpus : lists_of_gpus()) {
        const auto found = kmeans_initial_centroids(job.points, job.options, job.memory(0, 1200), on_gpus(gpus));
        EXPECT_EQ(one.rows, found.rows);
        EXPECT_TRUE(same_bits(one.centroids, found.centroids));
      }
    }
}

TYPED_TEST(KMeansGpus, predict_and_transform) {
  using T = TypeParam;
  for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine}) {
    Job<T> job = make_job<T>(1500, 20, 12, Data::plain, KMeansInit::random, false);
    job.options.metric = metric;
    const KMeansResult<T> fit = kmeans(job.points, job.options, {}, on_processor());
    const KMeansModel<T> model = kmeans_model(fit);
    const KMeansPrediction one = kmeans_predict(model, job.points.view(), {}, on_processor());
    const Matrix<T> distances = kmeans_transform(model, job.points.view(), on_processor());
    for (const std::vector<int>& gpus : lists_of_gpus()) {
      const KMeansPrediction found = kmeans_predict(model, job.points.view(), {}, on_gpus(gpus));
      EXPECT_TRUE(same_bits(one.labels.data(), found.labels.data(), 1500));
      EXPECT_TRUE(same_bits(&one.inertia, &found.inertia, 1));
      EXPECT_TRUE(same_bits(distances, kmeans_transform(model, job.points.view(), on_gpus(gpus))));
    }
  }
}

TYPED_TEST(KMeansGpus, take_arrays_on_a_gpu) {
  using T = TypeParam;
  Job<T> job = make_job<T>(1501, 21, 12, Data::plain, KMeansInit::kmeans_plus_plus, true);
  const KMeansMemory<T> host = job.memory(0, 1501);
  const KMeansResult<T> one = kmeans(job.points, job.options, host, on_processor());
  const tests::OnDevice<T> points(job.points.view());
  const tests::OnDevice<T> weights(host.weights);
  for (const std::vector<int>& gpus : lists_of_gpus()) {
    cuda::DeviceBuffer<std::int32_t> labels(1501);
    KMeansMemory<T> there;
    there.weights = weights.vector();
    there.labels = {labels.data(), labels.size(), tests::gpu_place};
    Execution execution = on_gpus(gpus);
    if (gpus.size() == 1) execution.gpus = {};
    KMeansResult<T> found = kmeans(points.view(), job.options, there, execution);
    EXPECT_EQ(found.labels.size(), 0);
    found.labels = Buffer<std::int32_t>(1501);
    const cuda::Stream stream;
    labels.copy_to_host(found.labels.data(), labels.size(), stream);
    stream.wait();
    EXPECT_EQ(tests::difference(one, found, 0, 1501), "") << gpus.size() << " GPUs";
  }
}

TYPED_TEST(KMeansGpus, take_an_array_for_each_gpu) {
  using T = TypeParam;
  Job<T> job = make_job<T>(1501, 21, 12, Data::plain, KMeansInit::kmeans_plus_plus, true);
  const KMeansMemory<T> memory = job.memory(0, 1501);
  const KMeansResult<T> one = kmeans(job.points, job.options, memory, on_processor());
  const MatrixView<const T> rows = std::as_const(job.points).view();
  const tests::OnDevice<T> first(rows.slice(0, 700), 3);
  const tests::OnDevice<T> second(rows.slice(700, 801));
  const auto compare = [&](const std::vector<MatrixView<const T>>& parts, const Execution& execution) {
    EXPECT_EQ(tests::difference(one, kmeans_parts(parts, job.options, memory, execution), 0, 1501), "");
  };
  compare({first.view(), second.view()}, {});  // both arrays are on GPU 0
  compare({first.view(), second.view()}, on_gpus({0, 0}));
  compare({rows.slice(0, 700), second.view()}, on_gpus({0, 0}));
  EXPECT_THROW(kmeans_parts<T>({rows.slice(0, 700), second.view()}, job.options, memory), UsageError);
  for (const std::vector<int>& gpus : lists_of_gpus())
    if (gpus.size() == 2) compare({first.view(), second.view()}, on_gpus(gpus));
}

TYPED_TEST(KMeansGpus, choose_the_number_of_clusters) {
  using T = TypeParam;
  Job<T> job = make_job<T>(1301, 9, 8, Data::plain, KMeansInit::kmeans_plus_plus, true);
  const KMeansMemory<T> memory = job.memory(0, 1301);
  const tests::OnDevice<T> points(job.points.view());
  const KMeansChoiceOptions numbers{.clusters = {1, 2, 5, 8}};
  for (const bool standardize : {false, true}) {
    job.options.standardize = standardize;
    const KMeansChoice<T> one = kmeans_choose(job.points, job.options, numbers, memory, on_processor());
    const auto compare = [&](const KMeansChoice<T>& found, const std::string& what) {
      SCOPED_TRACE(what + (standardize ? ", standardized" : ""));
      EXPECT_EQ(found.chosen, one.chosen);
      EXPECT_EQ(tests::difference(one.result, found.result, 0, 1301), "");
      EXPECT_TRUE(same_bits(one.result.standardized_centroids, found.result.standardized_centroids));
      ASSERT_EQ(found.candidates.size(), one.candidates.size());
      for (std::size_t index = 0; index < one.candidates.size(); ++index) {
        const KMeansCandidate& expected = one.candidates[index];
        const KMeansCandidate& candidate = found.candidates[index];
        EXPECT_EQ(candidate.inertia, expected.inertia);
        EXPECT_EQ(candidate.iterations, expected.iterations);
        ASSERT_EQ(candidate.criteria.has_value(), expected.criteria.has_value());
        if (!expected.criteria) continue;
        EXPECT_EQ(candidate.criteria->silhouette, expected.criteria->silhouette);
        EXPECT_EQ(candidate.criteria->davies_bouldin, expected.criteria->davies_bouldin);
      }
    };
    for (const std::vector<int>& gpus : lists_of_gpus()) {
      const std::string on = " on " + std::to_string(gpus.size()) + " GPUs";
      compare(kmeans_choose(job.points, job.options, numbers, memory, on_gpus(gpus)), "host points" + on);
      if (gpus.front() != 0 && gpus.size() == 1) continue;
      KMeansMemory<T> there = memory;
      std::vector<std::int32_t> labels(1301, -1);
      there.labels = labels;
      KMeansChoice<T> found = kmeans_choose(points.view(), job.options, numbers, there, on_gpus(gpus));
      EXPECT_EQ(found.result.labels.size(), 0);
      found.result.labels = Buffer<std::int32_t>(1301);
      std::ranges::copy(labels, found.result.labels.data());
      compare(found, "points on a GPU" + on);
    }
  }
}

TYPED_TEST(KMeansGpus, share_the_memory) {
  using T = TypeParam;
  const KMeansShape shape{.points = 1 << 20, .dimensions = 32, .element_bytes = static_cast<int>(sizeof(T))};
  const KMeansOptions options{.clusters = 64};
  const std::uint64_t of_one = kmeans_memory(shape, options, on_gpus({0})).device;
  const std::uint64_t of_two = kmeans_memory(shape, options, on_gpus({0, 0})).device;
  EXPECT_LT(of_two, of_one);
  EXPECT_GT(2 * of_two, of_one / 2);
  const std::uint64_t chosen = kmeans_choose_memory(shape, {}, {.clusters = {2, 64}}, on_gpus({0, 0})).device;
  EXPECT_GE(chosen, of_two);
  EXPECT_LT(chosen, of_one);
}

TYPED_TEST(KMeansGpus, are_listed_if_they_pay) {
  using T = TypeParam;
  std::vector<int> usable;
  for (const execution::Gpu& gpu : execution::this_machine().gpus())
    if (gpu.usable) usable.push_back(gpu.index);
  for (const double speed : execution::rates_of(usable).speeds) EXPECT_TRUE(speed > 0.01 && speed < 10) << speed;
  for (const int gpu : usable)
    for (const int other : usable) {
      if (gpu == other) continue;
      EXPECT_EQ(execution::link_between(gpu, other), execution::link_between(other, gpu));
    }
  // A fit that is too small, and one that would take minutes on any one GPU and has room on it.
  const int bytes = static_cast<int>(sizeof(T));
  EXPECT_TRUE(kmeans_gpus({.points = 5000, .dimensions = 8, .element_bytes = bytes}, {.clusters = 10}).empty());
  const KMeansShape large{.points = 1 << 22, .dimensions = 64, .element_bytes = bytes};
  const std::vector<int> paying = kmeans_gpus(large, {.clusters = 1 << 18, .init = KMeansInit::random});
  const std::set<int> different(paying.begin(), paying.end());
  EXPECT_EQ(different.size(), paying.size());
  if (usable.size() > 1) {
    EXPECT_GT(paying.size(), 1U);
    EXPECT_EQ(paying.front(), 0);
  } else {
    EXPECT_TRUE(paying.empty());
  }
  EXPECT_EQ(kmeans_gpus(large, {.clusters = 64}, on_gpus({0, 0})), (std::vector<int>{0, 0}));
}

TYPED_TEST(KMeansGpus, share_the_problems_of_a_batch) {
  using T = TypeParam;
  constexpr std::int64_t n = 5003;
  constexpr std::int64_t problems = 7;
  constexpr std::int64_t columns = 5;
  const Matrix<T> points = tests::make_points<T>(n, problems * columns, Data::plain);
  const std::vector<T> weights = tests::make_weights<T>(n);
  const tests::OnDevice<T> there(points.view());
  std::vector<Execution> requests;
  for (const std::vector<int>& gpus : lists_of_gpus()) requests.push_back(on_gpus(gpus));
  requests.emplace_back().device = Device::gpu;
  requests.emplace_back().variant = "cuda_tensor";
  KMeansBatchMemory<T> memory;
  memory.weights = {weights.data(), 1, n};
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random}) {
    const KMeansOptions options{.clusters = 33, .init = init, .max_iterations = 20, .seed = 3};
    const auto wanted = kmeans_batch(column_groups(points.view(), problems), options, memory, on_processor()).problems;
    const auto compare = [&](const KMeansBatchResult<T>& found) {
      EXPECT_TRUE(found.report.variant.starts_with("cuda_")) << found.report.variant;
      ASSERT_EQ(found.problems.size(), wanted.size());
      for (std::size_t problem = 0; problem < wanted.size(); ++problem)
        EXPECT_EQ(tests::difference(wanted[problem], found.problems[problem], 0, n), "") << problem;
    };
    for (const Execution& request : requests)
      compare(kmeans_batch(column_groups(points.view(), problems), options, memory, request));
    compare(kmeans_batch(column_groups(there.view(), problems), options, memory));
  }
}

TYPED_TEST(KMeansGpus, refuse_what_one_part_cannot_do) {
  using T = TypeParam;
  Job<T> job = make_job<T>(400, 5, 4, Data::plain, KMeansInit::random, false);
  const std::string message = error_of<UnsupportedError>([&] {
    Execution execution = on_gpus({0, 0});
    execution.variant = "cuda_naive";
    kmeans(job.points, job.options, {}, execution);
  });
  EXPECT_TRUE(tests::contains(message, "cuda_tensor")) << message;
  EXPECT_TRUE(tests::contains(error_of<UnsupportedError>([&] {
                                kmeans(job.points, job.options, {}, on_gpus({0, 999}));
                              }),
                              "999"));
  job.points(399, 2) = std::numeric_limits<T>::quiet_NaN();
  const std::string where = error_of<InputError>([&] { kmeans(job.points, job.options, {}, on_gpus({0, 0, 0})); });
  EXPECT_TRUE(tests::contains(where, "row 399")) << where;
}

TYPED_TEST(KMeansGpus, stop_on_request_from_another_thread) {
  using T = TypeParam;
  Job<T> job = make_job<T>(60000, 64, 300, Data::wild, KMeansInit::random, false);
  job.options.max_iterations = 1000000;
  job.options.tolerance = 0;
  std::stop_source source;
  Execution execution = on_gpus({0, 0});
  execution.stop = source.get_token();
  execution.progress = [&](const Progress& progress) {
    if (progress.phase == "iteration") source.request_stop();
  };
  bool interrupted = false;
  try {
    const KMeansResult<T> done = kmeans(job.points, job.options, {}, execution);
    interrupted = done.converged;  // if the fit has converged, it was too short
  } catch (const InterruptedError&) {
    interrupted = true;
  }
  EXPECT_TRUE(interrupted);
}

}  // namespace
}  // namespace gradus
