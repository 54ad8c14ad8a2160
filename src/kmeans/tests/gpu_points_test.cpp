// Tests that fits, initial centroids, predictions and distances have the same bits for points on a GPU as for points in
// host memory. Also tests error messages. On a machine without a GPU, the tests are skipped with a message.
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "cpu/column_ranges.hpp"
#include "gradus/kmeans_choose.hpp"
#include "kmeans/cases.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/gpu_points.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/seeding/initialize.hpp"
#include "kmeans/tests/job.hpp"
#include "tests/on_gpu.hpp"

namespace gradus::kmeans_detail {
namespace {

using tests::error_of;
using tests::OnDevice;
using tests::OnGpu;
using tests::same_bits;

constexpr MemoryPlace here = tests::gpu_place;

template <class T>
Buffer<T> fetch(const cuda::DeviceBuffer<T>& from) {
  const cuda::Stream stream;
  Buffer<T> host(from.size());
  from.copy_to_host(host.data(), from.size(), stream);
  stream.wait();
  return host;
}

template <class T>
Matrix<T> normal_points(std::int64_t n, std::int64_t d, double offset = 0) {
  std::mt19937_64 random(static_cast<unsigned>(n * 31 + d));
  std::normal_distribution<double> normal;
  Matrix<T> points(n, d);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t dim = 0; dim < d; ++dim)
      points(row, dim) = static_cast<T>(offset + 7 * static_cast<double>(row % 5) + normal(random));
  return points;
}

template <class T>
std::vector<T> some_weights(std::int64_t n) {
  std::vector<T> weights;
  for (std::int64_t row = 0; row < n; ++row) weights.push_back(static_cast<T>((row * 7 % 6) * 0.25));
  return weights;
}

template <class T>
VectorView<const T> view(const std::vector<T>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size())};
}

Execution on_gpu(std::string variant = "") {
  Execution execution;
  execution.device = Device::gpu;
  execution.variant = std::move(variant);
  return execution;
}

template <class T>
std::unique_ptr<GpuPoints<T>> points_on_gpu(MatrixView<const T> points, VectorView<const T> weights = {}) {
  return std::make_unique<GpuPoints<T>>(points, weights, on_gpu(), 0, core::RankRows(points.rows()));
}

// ------------------------------------------------------------------------------------------------ fits

/// Runs a fit with points, weights, initial centroids and labels on the GPU, and compares it with the expected result.
/// Returns the first difference, or "".
template <class T>
std::string check_on_device(const PreparedCase<T>& prepared, const Variant& variant, std::int64_t offset) {
  const OnDevice<T> points(prepared.points(), offset);
  const OnDevice<T> weights(prepared.memory().weights);
  const OnDevice<T> first(prepared.memory().initial_centroids);
  cuda::DeviceBuffer<std::int32_t> labels(prepared.points().rows());
  KMeansJob<T> options{prepared.options(), prepared.memory()};
  options.initial_centroids = first.view();
  if (!options.weights.empty()) options.weights = weights.vector();
  options.labels = {labels.data(), labels.size(), here};
  Execution execution;
  execution.variant = variant.name;
  KMeansResult<T> result = kmeans(points.view(), options, execution);
  if (result.labels.size() != 0) return "there are labels in the result too";
  result.labels = fetch(labels);
  return prepared.compare_with_truth(result, variant.contract);
}

template <class T>
void check_cases(const Case& data) {
  const PreparedCase<T> prepared(data.make(3));
  for (const Variant& variant : variants()) {
    if (!variant.device_input || !variant.supports(prepared.shape(), execution::this_machine())) continue;
    if (!prepared.promises(variant.contract)) continue;
    EXPECT_EQ(check_on_device(prepared, variant, 0), "") << data.name << " " << variant.name;
    if (variant.contract != core::Contract::same_bits) continue;
    EXPECT_EQ(check_on_device(prepared, variant, 1), "") << data.name << " off quads " << variant.name;
  }
}

class DeviceCases : public OnGpu, public testing::WithParamInterface<Case> {};
TEST_P(DeviceCases, float_equals_oracle) { check_cases<float>(GetParam()); }
TEST_P(DeviceCases, double_equals_oracle) { check_cases<double>(GetParam()); }
INSTANTIATE_TEST_SUITE_P(kmeans, DeviceCases, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// If the points are on a GPU, a GPU variant is always selected. The test covers restarts, tolerance and k-means++.
TEST_F(OnGpu, a_whole_fit_has_the_bits_of_the_host) {
  const Matrix<float> points = normal_points<float>(5000, 6);
  const OnDevice<float> device(points.view());
  KMeansJob<float> options;
  options.clusters = 9;
  options.restarts = 3;
  options.seed = 5;
  Execution cpu;
  cpu.device = Device::cpu;
  const KMeansResult<float> truth = kmeans(points.view(), options, cpu);
  const KMeansResult<float> plain = kmeans(device.view(), options);
  EXPECT_TRUE(plain.report.variant.starts_with("cuda")) << plain.report.variant;
  EXPECT_TRUE(same_bits(plain.centroids, truth.centroids));
  EXPECT_TRUE(same_bits(plain.labels.data(), truth.labels.data(), 5000));
  EXPECT_EQ(plain.inertia, truth.inertia);
  EXPECT_EQ(plain.restart, truth.restart);
  // With several fits, the labels of the best fit are written to GPU memory or to host memory.
  cuda::DeviceBuffer<std::int32_t> labels(5000);
  options.labels = {labels.data(), 5000, here};
  EXPECT_EQ(kmeans(device.view(), options).labels.size(), 0);
  EXPECT_TRUE(same_bits(fetch(labels).data(), truth.labels.data(), 5000));
  Buffer<std::int32_t> on_host(5000);
  options.labels = on_host.view();
  EXPECT_EQ(kmeans(points.view(), options, cpu).labels.size(), 0);
  EXPECT_TRUE(same_bits(on_host.data(), truth.labels.data(), 5000));
}

// Points on a GPU are copied to host memory to be standardized, and criteria are computed there. This must not change
// any bits.
TEST_F(OnGpu, standardized_fits_and_the_choice_of_k_have_the_bits_of_the_host) {
  constexpr std::int64_t n = 3000;
  const Matrix<float> points = normal_points<float>(n, 5);
  const OnDevice<float> device(points.view());
  const std::vector<float> weights = some_weights<float>(n);
  const OnDevice<float> weights_there(view(weights));
  cuda::DeviceBuffer<std::int32_t> labels(n);
  const KMeansMemory<float> there{.weights = weights_there.vector(), .labels = {labels.data(), n, here}};
  const KMeansMemory<float> in_host_memory{.weights = view(weights)};
  Execution cpu;
  cpu.device = Device::cpu;
  KMeansOptions options;
  options.clusters = 6;
  options.seed = 3;
  for (const bool standardize : {true, false}) {
    options.standardize = standardize;
    const KMeansResult<float> truth = kmeans(points.view(), options, in_host_memory, cpu);
    const KMeansResult<float> fit = kmeans(device.view(), options, there, Execution{});
    EXPECT_TRUE(fit.report.variant.starts_with("cuda")) << fit.report.variant;
    EXPECT_TRUE(same_bits(fit.centroids, truth.centroids));
    EXPECT_TRUE(same_bits(fit.standardized_centroids, truth.standardized_centroids));
    EXPECT_TRUE(same_bits(fetch(labels).data(), truth.labels.data(), n));
    EXPECT_TRUE(same_bits(kmeans_initial_centroids(device.view(), options).centroids,
                          kmeans_initial_centroids(points.view(), options, cpu).centroids));

    const KMeansModel<float> model = kmeans_model(fit);
    EXPECT_EQ(kmeans_predict(model, device.view(), there, Execution{}).inertia, truth.inertia);
    EXPECT_TRUE(same_bits(fetch(labels).data(), truth.labels.data(), n));
    EXPECT_TRUE(same_bits(kmeans_transform(model, device.view()), kmeans_transform(model, points.view(), cpu)));

    const KMeansChoiceOptions numbers{.clusters = {2, 5, 6}};
    const KMeansChoice<float> expected = kmeans_choose(points.view(), options, numbers, in_host_memory, cpu);
    const KMeansChoice<float> choice = kmeans_choose(device.view(), options, numbers, there, Execution{});
    EXPECT_EQ(choice.chosen, expected.chosen);
    EXPECT_EQ(choice.result.labels.size(), 0);
    EXPECT_TRUE(same_bits(choice.result.centroids, expected.result.centroids));
    EXPECT_TRUE(same_bits(fetch(labels).data(), expected.result.labels.data(), n));
    for (std::size_t index = 0; index < 3; ++index) {
      EXPECT_EQ(choice.candidates[index].inertia, expected.candidates[index].inertia);
      EXPECT_EQ(choice.candidates[index].criteria->silhouette, expected.candidates[index].criteria->silhouette);
    }
  }
}

TEST_F(OnGpu, work_in_the_stream_comes_first) {
  const Matrix<float> points = normal_points<float>(100000, 4);
  const tests::LateOnDevice<float> late(points);
  KMeansJob<float> options;
  options.clusters = 5;
  const KMeansResult<float> result = kmeans(late.view(), options, late.execution());
  EXPECT_TRUE(same_bits(result.centroids, kmeans(points.view(), options).centroids));
}

// The call must wait for the stream even if only its results are on the GPU. Otherwise, earlier work in the stream
// could overwrite the results.
TEST_F(OnGpu, work_in_the_stream_comes_before_results) {
  const Matrix<float> points = normal_points<float>(1000, 3);
  cuda::DeviceBuffer<char> elsewhere(std::int64_t{1} << 30);
  const cuda::Stream stream;
  Execution execution = on_gpu();
  execution.stream = static_cast<cudaStream_t>(stream);
  cuda::DeviceBuffer<std::int32_t> labels(1000);
  cuda::DeviceBuffer<float> distances(5000);
  const auto keep_busy = [&] {
    // This work in the stream takes a few tens of milliseconds.
    for (int repeat = 0; repeat < 100; ++repeat) elsewhere.clear(stream);
    labels.fill_bytes(0x55, stream);
    distances.fill_bytes(0x55, stream);
  };
  KMeansJob<float> options;
  options.clusters = 5;
  const KMeansResult<float> truth = kmeans(points.view(), options, on_gpu());
  options.labels = {labels.data(), 1000, here};
  keep_busy();
  kmeans(points.view(), options, execution);
  stream.wait();
  EXPECT_TRUE(same_bits(fetch(labels).data(), truth.labels.data(), 1000));
  keep_busy();
  kmeans_predict(truth.centroids.view(), points.view(), options.labels, KMeansMetric::euclidean, execution);
  stream.wait();
  EXPECT_TRUE(same_bits(fetch(labels).data(), truth.labels.data(), 1000));
  keep_busy();
  kmeans_transform(truth.centroids.view(), points.view(), MatrixView<float>(distances.data(), 1000, 5, here),
                   KMeansMetric::euclidean, execution);
  stream.wait();
  const Matrix<float> nearest = kmeans_transform(truth.centroids.view(), points.view());
  EXPECT_TRUE(same_bits(fetch(distances).data(), nearest.data(), 5000));
}

// The concurrent jobs use the same kernels, but with different amounts of shared memory.
TEST_F(OnGpu, jobs_of_different_shapes_run_at_the_same_time) {
  for (const char* variant : {"cuda_tensor", "cuda_small_dim"}) {
    const bool few_columns = std::string(variant) == "cuda_small_dim";
    const auto fit = [&](bool large) {
      const std::int64_t d = few_columns ? 8 : large ? 250 : 30;
      KMeansJob<float> options;
      options.clusters = few_columns && large ? 400 : 20;
      options.init = KMeansInit::first;
      options.max_iterations = 5;
      return kmeans(normal_points<float>(3000, d).view(), options, on_gpu(variant));
    };
    std::string failures[2];
    const auto fit_again_and_again = [&](int which) {
      try {
        const KMeansResult<float> first = fit(which == 1);
        for (int repeat = 0; repeat < 20; ++repeat)
          if (fit(which == 1).inertia != first.inertia) failures[which] = "another result";
      } catch (const std::exception& error) {
        failures[which] = error.what();
      }
    };
    std::thread other(fit_again_and_again, 0);
    fit_again_and_again(1);
    other.join();
    EXPECT_EQ(failures[0], "") << variant;
    EXPECT_EQ(failures[1], "") << variant;
  }
}

// ------------------------------------------------------------------------------------------------ first centroids

template <class T>
void check_first_centroids(const Matrix<T>& points, const std::vector<T>& weights, const std::string& what,
                           std::vector<std::int64_t> numbers) {
  const OnDevice<T> device(points.view());
  const auto gpu = points_on_gpu(device.view(), view(weights));
  for (const std::int64_t clusters : numbers)
    for (const KMeansInit init :
         {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random, KMeansInit::first})
      for (const int restart : {0, 1}) {
        KMeansJob<T> options;
        options.clusters = clusters;
        options.init = init;
        options.seed = 11;
        options.weights = view(weights);
        const auto truth = initialize<T>(HostPoints<T>(points.view(), view(weights), 2), options, {}, {}, restart);
        const auto found = initialize<T>(*gpu, options, {}, on_gpu(), restart);
        EXPECT_TRUE(same_bits(found.centroids, truth.centroids) && found.rows == truth.rows)
            << what << ", " << clusters << " clusters, init " << static_cast<int>(init) << ", restart " << restart;
      }
}

template <class T>
class FirstCentroids : public OnGpu {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FirstCentroids, Types);

TYPED_TEST(FirstCentroids, equal_those_of_the_host) {
  using T = TypeParam;
  struct Shape {
    std::int64_t n, d;
  };
  for (const auto [n, d] :
       {Shape{1, 1}, {256, 1}, {257, 2}, {70001, 3}, {3000, 17}, {2000, 64}, {1500, 129}, {90, 1025}})
    for (const bool weighted : {false, true}) {
      std::vector<std::int64_t> numbers = {1};
      if (n > 80) numbers = {1, 7, 40};
      check_first_centroids<T>(normal_points<T>(n, d), weighted && n > 1 ? some_weights<T>(n) : std::vector<T>(),
                               std::to_string(n) + "x" + std::to_string(d) + (weighted ? " weighted" : ""), numbers);
    }
}

TYPED_TEST(FirstCentroids, equal_those_of_the_host_in_extremes) {
  using T = TypeParam;
  Matrix<T> points = normal_points<T>(4000, 2);
  for (std::int64_t row = 0; row < 4000; ++row) std::copy_n(points.row(row % 40), 2, points.row(row));
  check_first_centroids<T>(points, {}, "each row a hundred times", {1, 39, 40});
  for (std::int64_t index = 0; index < 8000; ++index)
    points.data()[index] = std::numeric_limits<T>::denorm_min() * static_cast<T>(index % 97);
  check_first_centroids<T>(points, {}, "distances that vanish", {1, 20});
  points = normal_points<T>(4000, 2, 1e6);
  points(77, 0) = static_cast<T>(1e30);
  check_first_centroids<T>(points, {}, "an outlier", {1, 20});
  std::vector<T> weights = some_weights<T>(4000);
  weights[5] = static_cast<T>(1e20);
  check_first_centroids<T>(normal_points<T>(4000, 2), weights, "a heavy point", {1, 20});
}

// There are many rows, so that each block of the grid processes several blocks of rows. Rows with 3 columns fit in one
// tile; rows with 40 columns need several tiles.
TYPED_TEST(FirstCentroids, equal_those_of_the_host_in_several_rounds) {
  using T = TypeParam;
  check_first_centroids<T>(normal_points<T>(600001, 3), some_weights<T>(600001), "600001x3", {3});
  check_first_centroids<T>(normal_points<T>(300001, 40), {}, "300001x40", {3});
  // With 1200 clusters, a step has more candidates than a kernel compares at a time.
  check_first_centroids<T>(normal_points<T>(3000, 17), {}, "3000x17", {1200});
  const Matrix<T> points = normal_points<T>(300001, 40);
  const OnDevice<T> device(points.view());
  const auto gpu = points_on_gpu<T>(device.view());
  const Statistics statistics = examine<T>(points.view(), {}, {}, 2);
  EXPECT_EQ(gpu->own_mean_column_variance(statistics),
            mean_column_variance<T>(HostPoints<T>(points.view(), {}, 2), statistics));
}

// The points are in distant groups. Therefore, the first rows of a round reduce the sum so far that the integers are
// computed again. With 21 columns, rows cannot be read in units of 16 bytes. With 801 columns, a warp cannot hold the
// bytes of a row.
TYPED_TEST(FirstCentroids, equal_those_of_the_host_in_groups) {
  using T = TypeParam;
  struct Shape {
    std::int64_t n, d;
  };
  for (const auto [n, d] : {Shape{70001, 21}, {70001, 48}, {3001, 801}}) {
    Matrix<T> points = normal_points<T>(n, d);
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t dim = 0; dim < d; ++dim)
        points(row, dim) += static_cast<T>(1000 * ((row % 50 * 7 + dim * dim) % 11));
    const std::vector<T> weights = d == 48 ? some_weights<T>(n) : std::vector<T>();
    check_first_centroids<T>(points, weights, "groups, " + std::to_string(d) + " columns", {60, 130});
  }
}

// A sum of the top level covers 256 blocks of 256 rows. There are more than 256 such sums, so the search for a row
// needs several rounds.
TEST_F(OnGpu, rows_are_drawn_from_millions) {
  const Matrix<float> points = normal_points<float>(17 << 20, 1);
  const OnDevice<float> device(points.view());
  const auto gpu = points_on_gpu<float>(device.view());
  KMeansJob<float> options;
  options.clusters = 3;
  const auto found = initialize<float>(*gpu, options, {}, on_gpu(), 0);
  const auto truth = initialize<float>(HostPoints<float>(points.view(), {}, 2), options, {}, {}, 0);
  EXPECT_TRUE(same_bits(found.centroids, truth.centroids));
  EXPECT_EQ(found.rows, truth.rows);
}

// ------------------------------------------------------------------------------------------------ statistics

TYPED_TEST(FirstCentroids, ranges_and_variance_equal_those_of_the_host) {
  using T = TypeParam;
  for (const std::int64_t d : {1, 2, 3, 16, 17, 255, 256, 257, 1030})
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{300}, 400000 / d}) {
      const Matrix<T> points = normal_points<T>(n, d, d == 3 ? 1e6 : 0);
      const OnDevice<T> device(points.view());
      const auto gpu = points_on_gpu<T>(device.view());
      const core::ColumnRanges found = gpu->column_ranges();
      const core::ColumnRanges truth = cpu::column_ranges<T>(points.view(), "points", 2);
      EXPECT_EQ(found.lowest, truth.lowest) << n << " x " << d;
      EXPECT_EQ(found.highest, truth.highest) << n << " x " << d;
      const Statistics statistics = examine<T>(points.view(), {}, {}, 2);
      EXPECT_EQ(gpu->own_mean_column_variance(statistics),
                mean_column_variance<T>(HostPoints<T>(points.view(), {}, 2), statistics))
          << n << " x " << d;
      const std::vector<int> no_limit(static_cast<std::size_t>(d), core::no_bits);
      EXPECT_EQ(found.finest, cpu::finest_bits<T>(points.view(), no_limit, 2)) << n << " x " << d;
    }
}

// If the values of a column do not fit in three limbs, the host computes the sum of this column.
TEST_F(OnGpu, variances_of_values_far_apart_are_the_hosts) {
  Matrix<double> points = normal_points<double>(3000, 3);
  points(1234, 1) = 1e-30;
  const OnDevice<double> device(points.view());
  const auto gpu = points_on_gpu<double>(device.view());
  const Statistics statistics = examine<double>(points.view(), {}, {}, 2);
  EXPECT_EQ(gpu->own_mean_column_variance(statistics), std::nullopt);
  EXPECT_EQ(mean_column_variance<double>(*gpu, statistics),
            mean_column_variance<double>(HostPoints<double>(points.view(), {}, 2), statistics));
}

TEST_F(OnGpu, the_first_bad_value_is_named) {
  Matrix<double> points = normal_points<double>(70000, 3);
  points(61234, 1) = std::numeric_limits<double>::quiet_NaN();
  points(61234, 2) = std::numeric_limits<double>::infinity();
  points(69999, 0) = 1e200;
  KMeansJob<double> options;
  const auto message = [&] {
    const OnDevice<double> device(points.view());
    return error_of<InputError>([&] { kmeans(device.view(), options); });
  };
  EXPECT_NE(message().find("row 61234, column 1 (counted from 0) is NaN"), std::string::npos) << message();
  points(61234, 1) = 0;
  EXPECT_NE(message().find("row 61234, column 2 (counted from 0) is infinite"), std::string::npos) << message();
  points(61234, 2) = 0;
  EXPECT_NE(message().find("row 69999, column 0 (counted from 0) is too large"), std::string::npos) << message();
  points(69999, 0) = 0;
  options.metric = KMeansMetric::cosine;
  std::fill_n(points.row(1234), 3, 0.0);
  EXPECT_NE(message().find("row 1234 (counted from 0) is all zeros"), std::string::npos) << message();
  std::fill_n(points.data(), 70000 * 3, 1.0);
  options.clusters = 2;
  EXPECT_NE(message().find("there is only 1 different point"), std::string::npos) << message();
}

// ------------------------------------------------------------------------------------------------ prediction,
// distances

TYPED_TEST(FirstCentroids, prediction_and_distances_equal_those_of_the_host) {
  using T = TypeParam;
  struct Shape {
    std::int64_t n, d, k;
  };
  for (const auto [n, d, k] :
       {Shape{1, 1, 1}, {63, 2, 3}, {5000, 3, 65}, {1000, 16, 64}, {777, 33, 130}, {100, 1025, 7}})
    for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine}) {
      const std::string what = std::to_string(n) + "x" + std::to_string(d) + " k " + std::to_string(k);
      const Matrix<T> points = normal_points<T>(n, d, 1);
      const Matrix<T> centroids = normal_points<T>(k, d, 1);
      Execution cpu;
      cpu.device = Device::cpu;
      const KMeansPrediction labels = kmeans_predict(centroids.view(), points.view(), metric, cpu);
      const Matrix<T> distances = kmeans_transform(centroids.view(), points.view(), metric, cpu);
      const OnDevice<T> device_points(points.view(), 1);
      const OnDevice<T> device_centroids(centroids.view());

      cuda::DeviceBuffer<std::int32_t> device_labels(n);
      const VectorView<std::int32_t> labels_view(device_labels.data(), n, here);
      EXPECT_EQ(kmeans_predict(device_centroids.view(), device_points.view(), labels_view, metric).inertia,
                labels.inertia)
          << what;
      EXPECT_TRUE(same_bits(fetch(device_labels).data(), labels.labels.data(), n)) << what;
      EXPECT_TRUE(same_bits(kmeans_predict(centroids.view(), points.view(), metric, on_gpu()).labels.data(),
                            labels.labels.data(), n))
          << what;

      cuda::DeviceBuffer<T> device_distances(n * (k + 1));  // consecutive rows are separated by one element
      {
        const cuda::Stream stream;
        device_distances.clear(stream);
      }
      const MatrixView<T> distances_view(device_distances.data(), n, k, k + 1, here);
      kmeans_transform(device_centroids.view(), device_points.view(), distances_view, metric);
      const Buffer<T> padded = fetch(device_distances);
      std::int64_t wrong = 0;
      for (std::int64_t row = 0; row < n; ++row)
        wrong += !same_bits(padded.data() + row * (k + 1), distances.row(row), k);
      EXPECT_EQ(wrong, 0) << what;
      EXPECT_TRUE(same_bits(kmeans_transform(centroids.view(), device_points.view(), metric), distances)) << what;
      EXPECT_TRUE(same_bits(kmeans_transform(centroids.view(), points.view(), metric, on_gpu()), distances)) << what;
    }
}

// With the maximum height of a grid, a launch covers 64 centroids per block. This test has more centroids than one
// launch covers.
TEST_F(OnGpu, distances_to_millions_of_centroids) {
  const std::int64_t k = std::int64_t{65535} * 64 + 100;
  const Matrix<float> centroids = normal_points<float>(k, 1);
  const Matrix<float> points = normal_points<float>(2, 1);
  Execution cpu;
  cpu.device = Device::cpu;
  const Matrix<float> truth = kmeans_transform(centroids.view(), points.view(), KMeansMetric::euclidean, cpu);
  EXPECT_TRUE(same_bits(kmeans_transform(centroids.view(), points.view(), KMeansMetric::euclidean, on_gpu()), truth));
}

// ------------------------------------------------------------------------------------------------ refusals

TEST_F(OnGpu, requests_that_contradict_themselves_are_refused) {
  const Matrix<float> points = normal_points<float>(100, 3);
  const OnDevice<float> device(points.view());
  KMeansJob<float> options;
  options.clusters = 3;
  Execution execution;
  execution.device = Device::cpu;
  std::string message = error_of<UnsupportedError>([&] { kmeans(device.view(), options, execution); });
  EXPECT_NE(message.find("they are on GPU 0, but the CPU was asked for"), std::string::npos) << message;
  execution = on_gpu();
  execution.gpu = 1;
  message = error_of<UsageError>([&] { kmeans(device.view(), options, execution); });
  EXPECT_NE(message.find("they are on GPU 0, but GPU 1 was asked for"), std::string::npos) << message;
  for (const char* variant : {"simd_large_dim", "cuda_naive"}) {
    execution = {};
    execution.variant = variant;
    message = error_of<UnsupportedError>([&] { kmeans(device.view(), options, execution); });
    EXPECT_NE(message.find("the variants that use them there"), std::string::npos) << message;
    EXPECT_NE(message.find("'cuda_small_dim'"), std::string::npos) << message;
  }
  const std::vector<float> weights = some_weights<float>(100);
  const OnDevice<float> device_weights(view(weights));
  options.weights = device_weights.vector();
  execution = {};
  execution.device = Device::cpu;
  message = error_of<UnsupportedError>([&] { kmeans(points.view(), options, execution); });
  EXPECT_NE(message.find("weights: they are on GPU 0, but the job runs on the CPU"), std::string::npos) << message;
  options.weights = {};
  Buffer<std::int32_t> labels(99);
  options.labels = labels.view();
  message = error_of<UsageError>([&] { kmeans(device.view(), options); });
  EXPECT_NE(message.find("room for 99"), std::string::npos) << message;
  Matrix<float> narrow(100, 2);
  error_of<UsageError>([&] { kmeans_transform(points.view().slice(0, 3), device.view(), narrow.view()); });
}

TEST_F(OnGpu, a_view_that_lies_is_refused) {
  const Matrix<float> points = normal_points<float>(100, 3);
  const OnDevice<float> device(points.view());
  KMeansJob<float> options;
  options.clusters = 3;
  const MatrixView<const float> false_view(points.data(), 100, 3, here);
  std::string message = error_of<UsageError>([&] { kmeans(false_view, options); });
  EXPECT_NE(message.find("not memory of a GPU"), std::string::npos) << message;
  Buffer<std::int32_t> labels(100);
  options.labels = {labels.data(), 100, here};
  message = error_of<UsageError>([&] { kmeans(device.view(), options); });
  EXPECT_NE(message.find("labels"), std::string::npos) << message;
  options.labels = {};
  EXPECT_NO_THROW(kmeans(device.view(), options));  // the error must leave no state behind
}

// The estimate must be compared with the free memory before any byte is read or written.
TEST_F(OnGpu, what_does_not_fit_is_refused_with_both_numbers) {
  const cuda::DeviceBuffer<float> small(64);
  const MatrixView<const float> vast(small.data(), std::numeric_limits<std::int32_t>::max() - 1, 100, here);
  KMeansJob<float> options;
  options.init = KMeansInit::first;
  Execution execution;
  execution.memory_limit = std::uint64_t{1} << 60;  // this limit applies only to host memory
  const std::string message = error_of<OutOfMemoryError>([&] { kmeans(vast, options, execution); });
  EXPECT_NE(message.find("bytes of GPU memory, but only"), std::string::npos) << message;
  EXPECT_NE(message.find("bytes are free"), std::string::npos) << message;
}

}  // namespace
}  // namespace gradus::kmeans_detail
