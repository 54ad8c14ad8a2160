// Tests that a fit to points of 8 or 16 bits has the same bits as a fit to the same points in float.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/half.hpp"
#include "cpu/row_hash.hpp"
#include "cpu/widen.hpp"
#include "gradus/kmeans_choose.hpp"
#include "gradus/kmeans_stored.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/tests/ranks_job.hpp"
#include "kmeans/tests/stored_points.hpp"
#include "tests/helpers.hpp"
#include "tests/lies.hpp"

namespace gradus {
namespace {

using kmeans_detail::Variant;
using kmeans_detail::variants;
using tests::all_inits;
using tests::all_types;
using tests::contains;
using tests::difference;
using tests::error_of;
using tests::expect_usage;
using tests::make_weights;
using tests::Size;
using tests::StoredPoints;

/// Returns true if fits repeat their bits. Variants with textbook sums may not do so on a GPU.
bool is_tested(const Variant& variant) {
  return tests::runs_on_cpu(variant) || variant.contract.kind == core::Contract::same_bits;
}

std::string about(const StoredPoints& points, const KMeansOptions& options, const Execution& execution) {
  return std::string(to_string(points.type)) + " " + std::to_string(points.wide.rows()) + " x " +
         std::to_string(points.wide.columns()) + " k " + std::to_string(options.clusters) + " " +
         std::string(to_string(options.init)) + " " + std::string(to_string(options.metric)) + " " + execution.variant;
}

/// Compares the fits. Returns the number of labels that changed in all iterations.
std::int64_t compare(const StoredPoints& points, const KMeansOptions& options, const KMeansMemory<float>& memory,
                     const Execution& execution) {
  const KMeansResult<float> wide = kmeans(points.wide, options, memory, execution);
  const KMeansResult<float> stored = kmeans(points.view(), options, memory, execution);
  EXPECT_EQ(difference(wide, stored, 0, points.wide.rows()), "") << about(points, options, execution);
  EXPECT_EQ(wide.report.variant, stored.report.variant);
  std::int64_t changed = 0;
  for (const KMeansIteration& iteration : wide.history) changed += iteration.changed;
  return changed;
}

TEST(StoredPoints, EveryValueIsWidenedExactly) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t bits = 0; bits < all.size(); ++bits) all[bits] = static_cast<std::uint16_t>(bits);
  std::vector<float> found(all.size());
  const auto expect = [&](StoredType type, const auto* from, std::int64_t count, const auto& value) {
    for (const std::int64_t first : {0, 1, 5}) {
      cpu::widen(type, from + first, count - first, found.data());
      for (std::int64_t index = first; index < count; ++index) {
        const float expected = value(from[index]);
        const float one = found[static_cast<std::size_t>(index - first)];
        ASSERT_TRUE(std::isnan(expected) ? std::isnan(one) : tests::same_bits(&expected, &one, 1))
            << to_string(type) << " " << index << " " << one << " " << expected;
      }
    }
  };
  // Computes the value of a half by its definition.
  const auto half = [](std::uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const float sign = bits >> 15 ? -1.0F : 1.0F;
    const auto mantissa = static_cast<float>(bits & 1023);
    if (exponent == 31) return mantissa > 0 ? std::nanf("") : sign * INFINITY;
    return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
  };
  expect(StoredType::f16, all.data(), 65536, half);
  expect(StoredType::bf16, all.data(), 65536,
         [](std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); });
  std::vector<std::uint8_t> bytes(256);
  for (int byte = 0; byte < 256; ++byte) bytes[static_cast<std::size_t>(byte)] = static_cast<std::uint8_t>(byte);
  expect(StoredType::u8, bytes.data(), 256, [](std::uint8_t byte) { return static_cast<float>(byte); });
  expect(StoredType::i8, reinterpret_cast<const std::int8_t*>(bytes.data()), 256,
         [](std::int8_t byte) { return static_cast<float>(byte); });
}

TEST(StoredPoints, HaveTheBitsOfFloatInEveryVariant) {
  // Sizes for grids, few columns, byte copies with and without second bytes, bounds, and blocks that are not full.
  const Size sizes[] = {{2100, 1, 40}, {2300, 2, 7},  {1500, 3, 70},  {1300, 9, 20},
                        {1100, 17, 5}, {900, 66, 12}, {1400, 40, 33}, {1100, 21, 80}};
  int job = 0;
  std::int64_t changed = 0;
  for (const Size size : sizes)
    for (const StoredType type : all_types) {
      const StoredPoints points(type, size.n, size.d);
      for (const Variant& variant : variants()) {
        const auto init = all_inits[job % 4];  // all except `given`
        Execution execution;
        execution.variant = variant.name;
        execution.threads = variant.contract.kind == core::Contract::same_bits ? 1 + job % 3 : 1;
        const kmeans_detail::Shape shape{size.n, size.d, size.k};
        if (!is_tested(variant) || !variant.supports(shape, execution::this_machine())) continue;
        const std::vector<float> weights = make_weights<float>(size.n);
        KMeansOptions options;
        options.clusters = size.k;
        options.init = init;
        options.max_iterations = 7;
        options.metric = job % 5 == 4 && size.d > 3 ? KMeansMetric::cosine : KMeansMetric::euclidean;
        accept_coinciding_points(options);
        KMeansMemory<float> memory;
        if (job % 3 == 2) memory.weights = weights;
        changed += compare(points, options, memory, execution);
        ++job;
      }
    }
  EXPECT_GT(job, 250);
  EXPECT_GT(changed, std::int64_t{1000} * job);
}

TEST(StoredPoints, HaveTheBitsOfFloatOnSeveralGpus) {
  if (const std::string reason = execution::why_no_gpu(execution::this_machine()); !reason.empty())
    return tests::skip_for_want_of_gpu(reason);
  std::vector<std::vector<int>> lists{{0}, {0, 0}, {0, 0, 0}};
  if (std::ranges::count_if(execution::this_machine().gpus(), &execution::Gpu::usable) > 1) lists.push_back({1, 0});
  for (const StoredType type : all_types)
    for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random})
      for (const bool standardize : {false, true})
        for (const std::vector<int>& gpus : lists) {
          const StoredPoints points(type, 3001, 37);
          KMeansOptions options{.clusters = 40, .init = init, .max_iterations = 9, .standardize = standardize};
          accept_coinciding_points(options);
          const KMeansResult<float> one = kmeans(points.wide, options, Execution{.device = Device::cpu});
          Execution execution;
          execution.gpus = gpus;
          const KMeansResult<float> found = kmeans(points.view(), options, execution);
          EXPECT_EQ(difference(one, found, 0, points.wide.rows()), "") << about(points, options, execution);
          EXPECT_TRUE(found.report.variant.starts_with("cuda_")) << found.report.variant;
        }
}

TEST(StoredPoints, HaveTheBitsOfFloatForEveryInitWeightAndMetric) {
  const Size sizes[] = {{700, 2, 9}, {700, 12, 40}, {700, 24, 15}};
  for (const Size size : sizes)
    for (const StoredType type : all_types)
      for (const KMeansInit init : all_inits)
        for (const bool weighted : {false, true})
          for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine}) {
            if (metric == KMeansMetric::cosine && size.d == 2) continue;  // some rows are zero
            const StoredPoints points(type, size.n, size.d, 0);
            const std::vector<float> weights = make_weights<float>(size.n);
            Matrix<float> given(size.k, size.d);  // some are far from all points, so that clusters become empty
            for (std::int64_t index = 0; index < size.k * size.d; ++index)
              given.data()[index] = static_cast<float>(1 + index * index % 1000);
            KMeansOptions options;
            options.clusters = size.k;
            options.init = init;
            options.metric = metric;
            options.max_iterations = 6;
            accept_coinciding_points(options);
            KMeansMemory<float> memory;
            if (weighted) memory.weights = weights;
            if (init == KMeansInit::given) memory.initial_centroids = given.view();
            Execution execution;
            execution.threads = 2;
            execution.device = Device::cpu;
            compare(points, options, memory, execution);
            const KMeansInitialCentroids<float> wide =
                kmeans_initial_centroids(points.wide, options, memory, execution);
            const KMeansInitialCentroids<float> stored =
                kmeans_initial_centroids(points.view(), options, memory, execution);
            EXPECT_TRUE(tests::same_bits(wide.centroids, stored.centroids)) << about(points, options, execution);
            EXPECT_EQ(wide.rows, stored.rows) << about(points, options, execution);
          }
}

TEST(StoredPoints, HaveTheBitsOfFloatWithEveryOption) {
  for (const tests::Change& change : tests::changes_of_options) {
    const StoredPoints points(StoredType::u8, 1500, 11);
    KMeansOptions options;
    options.clusters = 14;
    accept_coinciding_points(options);
    change.make(options);
    SCOPED_TRACE(change.name);
    Execution execution;
    execution.device = Device::cpu;
    compare(points, options, {}, execution);
    // With little memory, the fit makes no copies and uses variants that need less memory.
    const KMeansShape shape{1500, 11, 1};
    execution.memory_limit = 1;
    std::uint64_t least = 0;
    try {
      kmeans(points.view(), options, execution);
    } catch (const OutOfMemoryError&) {
      least = kmeans_memory(shape, options, execution).host;
    }
    EXPECT_GT(least, 0);
    execution.memory_limit = least;
    const KMeansResult<float> wide = kmeans(points.wide, options, Execution{.device = Device::cpu});
    EXPECT_EQ(difference(wide, kmeans(points.view(), options, execution), 0, 1500), "");
  }
}

TEST(StoredPoints, HaveTheBitsOfFloatWithManyStandardizedColumns) {
  for (const StoredType type : all_types) {
    const StoredPoints points(type, 60, 1100);  // the means of 512 columns at a time
    KMeansOptions options;
    options.clusters = 5;
    options.standardize = true;
    accept_coinciding_points(options);
    compare(points, options, {}, Execution{.device = Device::cpu, .threads = 2});
  }
}

TEST(StoredPoints, HaveTheBitsOfFloatOnRanks) {
  for (const Size size : {Size{700, 2, 6}, Size{611, 20, 9}})
    for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random})
      for (const bool standardize : {false, true})
        for (const bool mixed : {false, true})
          for (const char* const how : {"even", "last", "holes"}) {
            const StoredPoints points(StoredType::i8, size.n, size.d);
            const std::vector<float> weights = make_weights<float>(size.n);
            KMeansOptions options;
            options.clusters = size.k;
            options.init = init;
            options.standardize = standardize;
            accept_coinciding_points(options);
            const KMeansResult<float> one =
                kmeans(points.wide, options, {.weights = weights}, Execution{.device = Device::cpu, .threads = 1});
            const KMeansInitialCentroids<float> first = kmeans_initial_centroids(
                points.wide, options, {.weights = weights}, Execution{.device = Device::cpu, .threads = 1});
            const auto on_rank = [&](Communicator& communicator, std::int64_t from, std::int64_t rows) {
              Execution execution{.device = Device::cpu, .threads = 1};
              execution.communicator = &communicator;
              const KMeansMemory<float> memory{.weights = {weights.data() + from, rows}};
              const auto call = [&](const auto& own) {
                const auto chosen = kmeans_initial_centroids(own, options, memory, execution);
                EXPECT_TRUE(tests::same_bits(first.centroids, chosen.centroids));
                EXPECT_EQ(first.rows, chosen.rows);
                return kmeans(own, options, memory, execution);
              };
              // With `mixed`, one rank has its points in float.
              return mixed && communicator.rank() == 1 ? call(points.wide.view().slice(from, rows))
                                                       : call(points.view().slice(from, rows));
            };
            // The ranks of this test throw an error where ranks of MPI would wait forever.
            EXPECT_EQ(tests::differs(one, 3, how, on_rank), "")
                << how << (mixed ? ", mixed" : "") << (standardize ? ", standardized" : "");
          }
}

/// Fits some points in float. Some of the model's centroids are far from all other points.
KMeansResult<float> model_of(const StoredPoints& points, KMeansMetric metric, bool standardize) {
  KMeansOptions options;
  options.clusters = 9;
  options.metric = metric;
  options.standardize = standardize;
  options.max_iterations = 3;
  accept_coinciding_points(options);
  return kmeans(points.wide.view().slice(0, 200), options, Execution{.device = Device::cpu});
}

/// Calls use(points, model) for each type, metric and kind of model.
template <class Use>
void for_each_model(std::int64_t n, std::int64_t d, const Use& use) {
  for (const StoredType type : all_types)
    for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
      for (const bool standardize : {false, true}) {
        if (metric == KMeansMetric::cosine && d < 4) continue;  // some rows are zero
        SCOPED_TRACE(std::string(to_string(type)) + " " + std::string(to_string(metric)) +
                     (standardize ? " standardized" : "") + " d " + std::to_string(d));
        const StoredPoints points(type, n, d);
        const KMeansResult<float> fit = model_of(points, metric, standardize);
        use(points, kmeans_model(fit));
      }
}

TEST(StoredPoints, HaveTheLabelsOfFloatInEveryVariant) {
  constexpr std::int64_t n = 1100;
  int job = 0;
  for (const std::int64_t d : {1, 3, 9, 70})
    for_each_model(n, d, [&](const StoredPoints& points, const KMeansModel<float>& model) {
      const std::vector<float> weights = make_weights<float>(n);
      const kmeans_detail::Shape shape{n, d, model.centroids.rows()};
      for (const Variant& variant : variants())
        for (const bool weighted : {false, true}) {
          if (!is_tested(variant) || !variant.supports(shape, execution::this_machine())) continue;
          Execution execution{.threads = variant.contract.kind == core::Contract::same_bits ? 1 + ++job % 2 : 1};
          execution.variant = variant.name;
          SCOPED_TRACE(execution.variant);
          KMeansMemory<float> memory;
          if (weighted) memory.weights = weights;
          const KMeansPrediction wide = kmeans_predict(model, points.wide, memory, execution);
          const KMeansPrediction stored = kmeans_predict(model, points.view(), memory, execution);
          EXPECT_TRUE(tests::same_bits(wide.labels.data(), stored.labels.data(), n));
          EXPECT_TRUE(tests::same_bits(&wide.inertia, &stored.inertia, 1));
          EXPECT_EQ(wide.report.variant, stored.report.variant);
          std::vector<std::int32_t> labels(n, -1);
          memory.labels = labels;
          EXPECT_EQ(kmeans_predict(model, points.view(), memory, execution).labels.size(), 0);
          EXPECT_TRUE(tests::same_bits(wide.labels.data(), labels.data(), n));
        }
    });
  EXPECT_GT(job, 250);
}

TEST(StoredPoints, HaveTheDistancesOfFloat) {
  // One shape has several blocks of rows.
  for (const Size size : {Size{700, 1, 9}, Size{700, 9, 9}, Size{140000, 5, 9}})
    for_each_model(size.n, size.d, [&](const StoredPoints& points, const KMeansModel<float>& model) {
      for (const int threads : {1, 3}) {
        const Execution execution{.device = Device::cpu, .threads = threads};
        const Matrix<float> wide = kmeans_transform(model, points.wide, execution);
        EXPECT_TRUE(tests::same_bits(wide, kmeans_transform(model, points.view(), execution)));
        Matrix<float> written(size.n, model.centroids.rows());
        kmeans_transform(model, points.view(), written.view(), execution);
        EXPECT_TRUE(tests::same_bits(wide, written));
      }
    });
}

TEST(StoredPoints, HaveTheLabelsAndDistancesOfFloatOnRanks) {
  for_each_model(611, 20, [&](const StoredPoints& points, const KMeansModel<float>& model) {
    const Execution alone{.device = Device::cpu, .threads = 1};
    const KMeansPrediction one = kmeans_predict(model, points.wide, {}, alone);
    const Matrix<float> distances = kmeans_transform(model, points.wide, alone);
    for (const char* const how : {"even", "last", "holes"}) {
      const std::vector<std::int64_t> first = tests::split(611, 3, how);
      tests::ThreadRanks ranks(3);
      const auto thrown = ranks.run([&](Communicator& communicator) {
        const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
        const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
        Execution execution = alone;
        execution.communicator = &communicator;
        const auto call = [&](const auto& own) {
          const KMeansPrediction found = kmeans_predict(model, own, {}, execution);
          EXPECT_TRUE(tests::same_bits(one.labels.data() + from, found.labels.data(), rows));
          EXPECT_TRUE(tests::same_bits(&one.inertia, &found.inertia, 1));
          const Matrix<float> own_distances = kmeans_transform(model, own, execution);
          EXPECT_TRUE(tests::same_bits(distances.data() + from * 9, own_distances.data(), rows * 9));
        };
        if (communicator.rank() == 1) call(points.wide.view().slice(from, rows));
        else call(points.view().slice(from, rows));
      });
      for (const std::exception_ptr& each : thrown) EXPECT_EQ(each, nullptr) << how;
    }
  });
}

TEST(StoredPoints, HaveTheLabelsAndDistancesOfFloatOnSeveralGpus) {
  if (const std::string reason = execution::why_no_gpu(execution::this_machine()); !reason.empty())
    return tests::skip_for_want_of_gpu(reason);
  for_each_model(611, 20, [&](const StoredPoints& points, const KMeansModel<float>& model) {
    const Execution alone{.device = Device::cpu, .threads = 1};
    const KMeansPrediction one = kmeans_predict(model, points.wide, {}, alone);
    const Matrix<float> distances = kmeans_transform(model, points.wide, alone);
    KMeansOptions options{.clusters = 30, .init = KMeansInit::kmeans_parallel, .metric = model.metric};
    options.standardize = !model.standardization.empty();
    accept_coinciding_points(options);
    const KMeansInitialCentroids<float> first = kmeans_initial_centroids(points.wide, options, {}, alone);
    const KMeansChoiceOptions choice{.clusters = {3, 7}};
    const KMeansChoice<float> chosen = kmeans_choose(points.wide, options, choice, {}, alone);
    for (const std::vector<int>& gpus : {std::vector<int>{0, 0}, std::vector<int>{0, 0, 0}}) {
      Execution execution;
      execution.gpus = gpus;
      const KMeansPrediction found = kmeans_predict(model, points.view(), {}, execution);
      EXPECT_TRUE(tests::same_bits(one.labels.data(), found.labels.data(), 611));
      EXPECT_TRUE(tests::same_bits(&one.inertia, &found.inertia, 1));
      EXPECT_TRUE(tests::same_bits(distances, kmeans_transform(model, points.view(), execution)));
      Matrix<float> written(611, model.centroids.rows());
      kmeans_transform(model, points.view(), written.view(), execution);
      EXPECT_TRUE(tests::same_bits(distances, written));
      const KMeansInitialCentroids<float> own = kmeans_initial_centroids(points.view(), options, {}, execution);
      EXPECT_TRUE(tests::same_bits(first.centroids, own.centroids));
      EXPECT_EQ(first.rows, own.rows);
      const KMeansChoice<float> own_choice = kmeans_choose(points.view(), options, choice, {}, execution);
      EXPECT_EQ(difference(chosen.result, own_choice.result, 0, 611), "");
    }
  });
}

TEST(StoredPoints, AreChosenAmongLikeFloat) {
  for (const StoredType type : all_types)
    for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
      for (const bool standardize : {false, true})
        for (const bool weighted : {false, true})
          for (const std::int64_t silhouette_points : {200, 20000}) {
            const StoredPoints points(type, 900, 12);
            const std::vector<float> weights = make_weights<float>(900);
            KMeansOptions options;
            options.metric = metric;
            options.standardize = standardize;
            options.max_iterations = 5;
            accept_coinciding_points(options);
            const KMeansChoiceOptions choice{.clusters = {2, 3, 7, 20}, .silhouette_points = silhouette_points};
            KMeansMemory<float> memory;
            if (weighted) memory.weights = weights;
            const Execution execution{.device = Device::cpu, .threads = 1 + static_cast<int>(weighted)};
            const KMeansChoice<float> wide = kmeans_choose(points.wide, options, choice, memory, execution);
            const KMeansChoice<float> stored = kmeans_choose(points.view(), options, choice, memory, execution);
            SCOPED_TRACE(about(points, options, execution) + (standardize ? " standardized" : ""));
            EXPECT_EQ(difference(wide.result, stored.result, 0, 900), "");
            EXPECT_EQ(wide.chosen, stored.chosen);
            EXPECT_EQ(wide.silhouette_points, stored.silhouette_points);
            ASSERT_EQ(wide.candidates.size(), stored.candidates.size());
            for (std::size_t index = 0; index < wide.candidates.size(); ++index) {
              const KMeansCandidate& one = wide.candidates[index];
              const KMeansCandidate& other = stored.candidates[index];
              EXPECT_TRUE(tests::same_bits(&one.inertia, &other.inertia, 1));
              for (const KMeansCriterion criterion :
                   {KMeansCriterion::silhouette, KMeansCriterion::calinski_harabasz, KMeansCriterion::davies_bouldin})
                EXPECT_EQ(kmeans_criterion(one, criterion), kmeans_criterion(other, criterion));
            }
          }
}

TEST(StoredPoints, ContinueACheckpointOfFloat) {
  const StoredPoints points(StoredType::f16, 1500, 20);
  const std::string file = testing::TempDir() + "stored_points.npz";
  std::filesystem::remove(file);
  KMeansOptions options;
  options.clusters = 12;
  options.init = KMeansInit::first;
  options.tolerance = 0;
  const KMeansResult<float> whole = kmeans(points.wide, options);
  options.checkpoint = {.file = file, .iterations = 1};
  std::stop_source stop;
  Execution stopped{.device = Device::cpu};
  stopped.stop = stop.get_token();
  stopped.progress = [&](const Progress& progress) {
    if (progress.phase == "iteration" && progress.done == 2) stop.request_stop();
  };
  EXPECT_THROW(kmeans(points.wide, options, stopped), InterruptedError);
  options.checkpoint.resume = true;
  const KMeansResult<float> resumed = kmeans(points.view(), options);
  EXPECT_TRUE(resumed.resumed);
  EXPECT_TRUE(tests::same_bits(whole.centroids, resumed.centroids));
  EXPECT_EQ(cpu::hash_of_rows(std::as_const(points.wide).view(), 7, 2, {}), cpu::hash_of_rows(points.view(), 7, 2, {}));
  std::filesystem::remove(file);
}

TEST(StoredPoints, RefuseNumbersThatAreNotFinite) {
  for (const std::int64_t row : {0, 99, 1499})
    for (const auto& [type, bits, value] : {std::tuple{StoredType::f16, 0x7c01, "NaN"},
                                            {StoredType::f16, 0xfc00, "infinite"},
                                            {StoredType::bf16, 0x7fc0, "NaN"},
                                            {StoredType::bf16, 0x7f80, "infinite"}})
      for (const bool standardize : {false, true}) {
        StoredPoints points(type, 1500, 20);
        points.bits[static_cast<std::size_t>(row * points.stride + 13)] = static_cast<std::uint16_t>(bits);
        KMeansOptions options;
        options.standardize = standardize;
        const std::string message = error_of<InputError>([&] { kmeans(points.view(), options); });
        EXPECT_TRUE(contains(message, "row " + std::to_string(row) + ", column 13")) << message;
        EXPECT_TRUE(contains(message, value)) << message;
      }
}

TEST(StoredPoints, RefuseMalformedViews) {
  const StoredPoints points(StoredType::f16, 60, 4);
  const auto* const data = reinterpret_cast<const std::byte*>(points.bits.data());
  expect_usage([&] { kmeans(StoredMatrixView(nullptr, StoredType::u8, 60, 4), {}); }, "points: ");
  expect_usage([&] { kmeans(StoredMatrixView(data + 1, StoredType::f16, 60, 4), {}); }, "points: ");
  expect_usage([&] { kmeans(StoredMatrixView(data, StoredType::f16, 60, 4, 3), {}); }, "points: ");
  expect_usage([&] { kmeans(StoredMatrixView(data, StoredType::u8, -1, 4), {}); }, "points: ");
  std::vector<std::int32_t> labels(60);
  expect_usage([&] { kmeans(StoredMatrixView(labels.data(), StoredType::u8, 60, 2), {}, {.labels = labels}); },
               "overlaps");
  const StoredMatrixView on_gpu(data, StoredType::f16, 60, 4, 4, MemoryPlace::on_gpu(0));
  EXPECT_TRUE(contains(error_of<UnsupportedError>([&] { kmeans(on_gpu, {}); }), "convert them to float"));
  Matrix<float> centroids(2, 4);
  std::ranges::fill_n(centroids.data(), 8, 1.0F);
  const KMeansModel<float> model{.centroids = centroids.view()};
  const auto refused = [&](const StoredMatrixView& view) {
    expect_usage([&] { kmeans_predict(model, view); }, "points: ");
    expect_usage([&] { kmeans_transform(model, view); }, "points: ");
    expect_usage([&] { kmeans_choose(view, {}, {.clusters = {2, 3}}); }, "points: ");
  };
  refused({nullptr, StoredType::u8, 60, 4});
  refused({data + 1, StoredType::f16, 60, 4});
  refused({data, StoredType::bf16, 60, 4, 3});
  for (const auto& call : std::vector<std::function<void()>>{[&] { kmeans_predict(model, on_gpu); },
                                                             [&] { kmeans_transform(model, on_gpu); },
                                                             [&] {
                                                               kmeans_choose(on_gpu, {}, {.clusters = {2, 3}});
                                                             }})
    EXPECT_TRUE(contains(error_of<UnsupportedError>(call), "convert them to float"));
  EXPECT_TRUE(contains(
      error_of<InputError>([&] { kmeans_predict(model, StoredMatrixView(data, StoredType::f16, 0, 4)); }), "points: "));
  expect_usage([&] { kmeans_predict(model, {labels.data(), StoredType::u8, 60, 4}, {.labels = labels}); }, "overlaps");
  Matrix<float> distances(60, 2);
  expect_usage(
      [&] {
        kmeans_transform(model, {distances.data(), StoredType::f16, 60, 4}, distances.view());
      },
      "overlaps");
  const std::vector<std::array<std::uint8_t, 3>> rows(20, {1, 2, 3});
  KMeansOptions options;
  options.clusters = 21;
  EXPECT_TRUE(contains(error_of<InputError>([&] { kmeans(rows, options); }), "21 clusters"));
}

TEST(StoredPoints, NeedNoCopyInFloat) {
  constexpr std::int64_t n = 1000000;
  constexpr std::int64_t d = 128;
  KMeansOptions options;
  options.clusters = 256;
  const std::uint64_t copy = n * d * sizeof(float);
  Execution execution{.device = Device::cpu, .threads = 2};
  const std::uint64_t wide = kmeans_memory({n, d, 4}, options, execution).host;
  const std::uint64_t stored = kmeans_memory({n, d, 1}, options, execution).host;
  EXPECT_LT(stored, wide + (std::uint64_t{16} << 20));
  options.standardize = true;  // the standardized copy is the only one
  EXPECT_EQ(kmeans_memory({n, d, 1}, options, execution).host, kmeans_memory({n, d, 4}, options, execution).host);
  options.standardize = false;
  execution.variant = "sequential";
  EXPECT_GE(kmeans_memory({n, d, 2}, options, execution).host,
            kmeans_memory({n, d, 4}, options, execution).host + copy);
  EXPECT_THROW(kmeans_memory({n, d, 3}, options, execution), UsageError);
}

TEST(StoredPoints, NeedNoCopyInFloatForAModelOrAChoice) {
  constexpr std::int64_t n = 200000;
  constexpr std::int64_t d = 64;
  const StoredPoints points(StoredType::u8, n, d);
  const Matrix<float> centroids = Matrix<float>::copy_of(points.wide.view().slice(0, 5));
  KMeansModel<float> model{.centroids = centroids.view()};
  Execution execution{.device = Device::cpu, .threads = 2};
  constexpr std::uint64_t copy = n * d * sizeof(float);
  Matrix<float> distances(n, 5);
  execution.memory_limit = copy / 2;
  EXPECT_EQ(kmeans_predict(model, points.view(), {}, execution).labels.size(), n);
  kmeans_transform(model, points.view(), distances.view(), execution);
  const KMeansChoiceOptions choice{.clusters = {2, 3}, .silhouette_points = 500};
  KMeansOptions options;
  options.init = KMeansInit::random;
  options.max_iterations = 2;
  const KMeansShape shape{n, d, 1};
  const std::uint64_t chosen = kmeans_choose_memory(shape, options, choice, execution).host;
  EXPECT_LT(chosen, copy / 2);
  EXPECT_EQ(kmeans_choose(points.view(), options, choice, {}, execution).candidates.size(), 2);
  execution.memory_limit = chosen / 4;
  EXPECT_THROW(kmeans_choose(points.view(), options, choice, {}, execution), OutOfMemoryError);
  // Calls that do copy the points say so.
  execution.memory_limit = copy / 2;
  model.metric = KMeansMetric::cosine;
  EXPECT_THROW(kmeans_predict(model, points.view(), {}, execution), OutOfMemoryError);
  EXPECT_THROW(kmeans_transform(model, points.view(), distances.view(), execution), OutOfMemoryError);
  model.metric = KMeansMetric::euclidean;
  execution.variant = "sequential";
  EXPECT_THROW(kmeans_predict(model, points.view(), {}, execution), OutOfMemoryError);
  options.standardize = true;
  EXPECT_GT(kmeans_choose_memory(shape, options, choice, execution).host, copy);
}

}  // namespace
}  // namespace gradus
