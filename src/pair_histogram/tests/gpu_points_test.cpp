// Tests points on a GPU. Every variant that supports them must give the same bits as for points in host memory, and
// errors must have the right messages. Without a GPU the tests are skipped with a note.
#include "pair_histogram/cases.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tests/job.hpp"
#include "pair_histogram/tests/test_problems.hpp"
#include "tests/on_gpu.hpp"

namespace gradus::pair_histogram_detail {
namespace {

using tests::bins_of;
using tests::contains;
using tests::error_of;
using tests::OnDevice;
using tests::OnGpu;
using tests::uniform;

constexpr MemoryPlace here = tests::gpu_place;

Execution by(std::string_view variant) {
  Execution execution;
  execution.variant = variant;
  return execution;
}

/// Holds points, others and the weights of both on the GPU. Each pointer is `offset` elements past the start of its
/// allocation.
template <class T>
class ProblemOnDevice {
 public:
  ProblemOnDevice(MatrixView<const T> points, const PairHistogramJob<T>& options, std::int64_t offset = 0)
      : points_(points, offset), others_(options.others, offset), weights_(column(options.weights), offset),
        other_weights_(column(options.other_weights), offset), options_(options) {
    if (options.others.columns() > 0) options_.others = others_.view();
    if (!options.weights.empty()) options_.weights = weights_.vector();
    if (!options.other_weights.empty()) options_.other_weights = other_weights_.vector();
  }

  MatrixView<const T> points() const { return points_.view(); }
  const PairHistogramJob<T>& options() const { return options_; }
  PairHistogramResult count(const Execution& execution = {}) const {
    return pair_histogram(points(), options_, execution);
  }

 private:
  static MatrixView<const T> column(VectorView<const T> values) { return {values.data(), values.size(), 1}; }

  OnDevice<T> points_;
  OnDevice<T> others_;
  OnDevice<T> weights_;
  OnDevice<T> other_weights_;
  PairHistogramJob<T> options_;
};

template <class T>
void check_cases(const Case& data) {
  const PreparedCase<T> prepared(data.make(3));
  const PairHistogramJob<T> job{prepared.options(), prepared.memory()};
  const ProblemOnDevice<T> plain(prepared.points(), job);
  const ProblemOnDevice<T> moved(prepared.points(), job, 1);
  for (const Variant& variant : variants()) {
    if (!variant.device_input || !variant.supports(prepared.shape(), execution::this_machine())) continue;
    for (const ProblemOnDevice<T>* problem : {&plain, &moved})
      EXPECT_EQ(prepared.compare_with_truth(problem->count(by(variant.name))), "") << data.name << " " << variant.name;
  }
}

class DeviceCases : public OnGpu, public testing::WithParamInterface<Case> {};
TEST_P(DeviceCases, float_equals_oracle) { check_cases<float>(GetParam()); }
TEST_P(DeviceCases, double_equals_oracle) { check_cases<double>(GetParam()); }
INSTANTIATE_TEST_SUITE_P(pair_histogram, DeviceCases, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

/// Lists of several GPUs: one GPU that plays several, and all GPUs of the machine if there are several.
std::vector<std::vector<int>> lists_of_gpus() {
  std::vector<std::vector<int>> lists{{0, 0}, {0, 0, 0}};
  std::vector<int> all;
  for (const execution::Gpu& gpu : execution::this_machine().gpus())
    if (gpu.usable) all.push_back(gpu.index);
  if (all.size() > 1) {
    lists.push_back(all);
    lists.push_back({all[1], all[0]});
    lists.push_back({all[1], all[1]});
  }
  return lists;
}

PairHistogramResult by_the_host(MatrixView<const double> points, const PairHistogramJob<double>& options) {
  Execution execution;
  execution.device = Device::cpu;
  return pair_histogram(points, options, execution);
}

// The call runs on the points' GPU, although it does not request a device and has only a few points.
TEST_F(OnGpu, points_there_are_counted_there) {
  const Matrix<double> points = uniform(300, 3);
  const ProblemOnDevice<double> there(points.view(), bins_of(0.5, 30));
  const PairHistogramResult result = there.count();
  EXPECT_EQ(result.report.variant, "cuda_filter");
  EXPECT_EQ(result.report.device, execution::this_machine().gpus().front().name);
  EXPECT_EQ(compare(result, by_the_host(points.view(), bins_of(0.5, 30))), "");
  const MemoryEstimate in_place =
      pair_histogram_memory({.points = 300, .element_bytes = 8, .place = MemoryPlace::on_gpu(0)}, bins_of(0.5, 30));
  const MemoryEstimate copied =
      pair_histogram_memory({.points = 300, .element_bytes = 8}, bins_of(0.5, 30), by("cuda_filter"));
  EXPECT_EQ(in_place.host, copied.host);
  EXPECT_EQ(in_place.device + 300 * 3 * sizeof(double), copied.device);
}

TEST_F(OnGpu, rows_with_room_between_them) {
  for (const std::int64_t d : {1, 2, 3})
    for (const std::int64_t room : {1, 5}) {
      Matrix<double> wide(1500, d + room);
      const Matrix<double> points = uniform(1500, d);
      for (std::int64_t row = 0; row < 1500; ++row) std::copy_n(points.row(row), d, wide.row(row));
      const MatrixView<const double> rows(wide.data(), 1500, d, d + room);
      PairHistogramJob<double> options = bins_of(0.3, 20);
      options.others = rows.slice(100, 700);
      const PairHistogramResult truth = by_the_host(rows, options);
      const ProblemOnDevice<double> there(rows, options, 1);
      for (const Variant& variant : variants()) {
        if (!variant.device_input) continue;
        EXPECT_EQ(compare(there.count(by(variant.name)), truth), "") << variant.name << ", " << d << " columns";
      }
    }
}

// Each of the four views is on the host or on the GPU, in all 16 combinations.
TEST_F(OnGpu, what_is_in_host_memory_is_brought_there) {
  const Matrix<double> points = uniform(700, 2);
  const Matrix<double> others = uniform(450, 2, 9);
  Buffer<double> weights(700);
  Buffer<double> other_weights(450);
  for (std::int64_t row = 0; row < 700; ++row) weights[row] = static_cast<double>(row % 7) - 2.5;
  for (std::int64_t row = 0; row < 450; ++row) other_weights[row] = 0.1 * static_cast<double>(row % 11);
  PairHistogramJob<double> options = bins_of(0.4, 25);
  options.others = others.view();
  options.weights = std::as_const(weights).view();
  options.other_weights = std::as_const(other_weights).view();
  options.box = {10, 10.5};
  options.bins.cutoff = 5;
  const PairHistogramResult truth = by_the_host(points.view(), options);
  const ProblemOnDevice<double> there(points.view(), options);
  for (int mask = 0; mask < 16; ++mask) {
    PairHistogramJob<double> mixed = options;
    if (mask & 2) mixed.others = there.options().others;
    if (mask & 4) mixed.weights = there.options().weights;
    if (mask & 8) mixed.other_weights = there.options().other_weights;
    for (const std::vector<int>& gpus : lists_of_gpus()) {
      Execution several;
      several.gpus = gpus;
      const PairHistogramResult result = pair_histogram(mask & 1 ? there.points() : points.view(), mixed, several);
      EXPECT_EQ(compare(result, truth), "") << "views on the GPU: " << mask << ", on " << gpus.size() << " GPUs";
    }
    Execution execution;
    execution.device = Device::gpu;
    const PairHistogramResult result =
        pair_histogram(mask & 1 ? there.points() : points.view(), mixed, mask == 0 ? execution : Execution{});
    EXPECT_EQ(compare(result, truth), "") << "views on the GPU: " << mask;
    EXPECT_TRUE(result.report.variant.starts_with("cuda")) << mask;
  }
}

TEST_F(OnGpu, points_with_room_between_them_on_several_gpus) {
  Matrix<double> wide(1500, 5);
  const Matrix<double> points = uniform(1500, 3);
  for (std::int64_t row = 0; row < 1500; ++row) std::copy_n(points.row(row), 3, wide.row(row));
  const MatrixView<const double> rows(wide.data(), 1500, 3, 5);
  const PairHistogramJob<double> options = bins_of(0.3, 20);
  const PairHistogramResult truth = by_the_host(rows, options);
  const ProblemOnDevice<double> there(rows, options, 1);
  for (const std::vector<int>& gpus : lists_of_gpus()) {
    Execution execution;
    execution.gpus = gpus;
    EXPECT_EQ(compare(there.count(execution), truth), "") << gpus.size() << " GPUs";
  }
}

TEST_F(OnGpu, several_gpus_wait_for_the_work_in_the_stream) {
  const Matrix<double> points = uniform(5000, 3);
  const PairHistogramResult truth = by_the_host(points.view(), bins_of(0.3, 20));
  for (const std::vector<int>& gpus : lists_of_gpus()) {
    const tests::LateOnDevice<double> late(points);
    Execution execution = late.execution();
    execution.gpus = gpus;
    EXPECT_EQ(compare(pair_histogram(late.view(), bins_of(0.3, 20), execution), truth), "") << gpus.size() << " GPUs";
  }
}

TEST_F(OnGpu, several_gpus_refuse_what_one_cannot_do) {
  const Matrix<double> points = uniform(100, 3);
  const ProblemOnDevice<double> there(points.view(), bins_of(0.5, 5));
  Execution execution = by("simd_cells");
  execution.gpus = {0, 0};
  std::string message = error_of<UsageError>([&] { there.count(execution); });
  EXPECT_TRUE(contains(message, "variant 'simd_cells' runs on the CPU, but the GPU was asked for")) << message;
  execution.variant = "cuda_naive";
  message = error_of<UnsupportedError>([&] { there.count(execution); });
  EXPECT_TRUE(contains(message, "'cuda_filter'")) << message;
  execution.variant = {};
  const MatrixView<const double> nowhere(points.data(), 100, 3, MemoryPlace::on_gpu(999));
  message = error_of<UnsupportedError>([&] { pair_histogram(nowhere, bins_of(0.5, 5), execution); });
  EXPECT_TRUE(contains(message, "points: the view says that they are on GPU 999")) << message;
  const MatrixView<const double> malformed(nullptr, 100, 3, here);
  EXPECT_THROW(pair_histogram(malformed, bins_of(0.5, 5), execution), UsageError);
  const MatrixView<const double> false_view(points.data(), 100, 3, here);
  message = error_of<UsageError>([&] { pair_histogram(false_view, bins_of(0.5, 5), execution); });
  EXPECT_TRUE(contains(message, "not memory of a GPU")) << message;
  const MemoryEstimate in_place =
      pair_histogram_memory({.points = 300, .element_bytes = 8, .place = here}, bins_of(0.5, 30), execution);
  const MemoryEstimate copied = pair_histogram_memory({.points = 300, .element_bytes = 8}, bins_of(0.5, 30), execution);
  EXPECT_EQ(in_place.device + 300 * 3 * sizeof(double), copied.device);
}

// There are enough pairs for several launches of cuda_filter. The expected counts come from simd_cells, which is fast.
TEST_F(OnGpu, several_launches) {
  const Matrix<double> points = uniform(900'000, 3);
  const Matrix<double> others = uniform(500'000, 3, 9);
  PairHistogramJob<double> joint = bins_of(0.01, 30);
  PairHistogramJob<double> periodic = joint;
  periodic.box = {10, 10, 10.5};
  PairHistogramJob<double> cross = joint;
  cross.others = others.view();
  PairHistogramJob<double> by_cells;
  by_cells.bins.edges = {0.01, 0.03, 0.1, 0.15, 0.3};
  for (const PairHistogramJob<double>& options : {joint, bins_of(0.0015, 200), periodic, cross, by_cells}) {
    int reports = 0;
    Execution execution = by("cuda_filter");
    execution.progress = [&](const Progress&) { ++reports; };
    const PairHistogramResult result = pair_histogram(points.view(), options, execution);
    EXPECT_EQ(compare(result, by_the_host(points.view(), options)), "");
    EXPECT_GE(reports, 2);
  }
}

/// Returns points at fractions of one, two or three vectors. Every third point belongs to one of a few small clumps.
Matrix<double> in_lattice(std::int64_t n, std::int64_t d, const std::vector<double>& vectors, std::uint64_t seed) {
  const Matrix<double> shares = uniform(n, d, seed);
  Matrix<double> points(n, d);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t axis = 0; axis < d; ++axis) {
      double sum = 0;
      for (std::int64_t vector = 0; vector < d; ++vector) {
        double share = shares(row, vector) / 10;
        if (row % 3 == 0) share = 0.3 * static_cast<double>(row % 4) + share / 16;
        sum += share * vectors[static_cast<std::size_t>(d * vector + axis)];
      }
      points(row, axis) = sum;
    }
  return points;
}

// The number of points is large enough for sorting into groups, and few pairs are in reach.
TEST_F(OnGpu, groups_out_of_reach_are_passed_over) {
  struct Lattice {
    std::int64_t d;
    std::vector<double> vectors;
    double reach;
  };
  const std::vector<Lattice> lattices = {{3, {20, 0, 0, 0, 20, 0, 0, 0, 20}, 1.5},
                                         {3, {30, 0, 0, 15, 26, 0, 15, 8.5, 24.5}, 2.5},
                                         {3, {10, 0, 0, 37, 10, 0, -55, 23, 10}, 2},
                                         {3, {50, 0, 0, 7, 48, 0, 1, -1, 2.5}, 1.2},
                                         {3, {4, 0, 0, 1.5, 4, 0, 11, -7, 390}, 1.7},
                                         {3, {0, 9, 9, 9, 0, 9, 9, 9, 0}, 3.6},
                                         {3, {-3, 40, 2, 35, 4, -1, 9, -8, -50}, 3.3},
                                         {2, {30, 0, 0, 40}, 1.1},
                                         {1, {300}, 2}};
  for (const Lattice& lattice : lattices)
    for (const std::int64_t bins : {11, 150, 5000})
      for (const bool periodic : {false, true}) {
        if (periodic && lattice.d == 3 && bins == 5000) continue;
        const Matrix<double> points = in_lattice(20'000, lattice.d, lattice.vectors, 7);
        const Matrix<double> others = in_lattice(3'000, lattice.d, lattice.vectors, 8);
        PairHistogramJob<double> options = bins_of(lattice.reach / static_cast<double>(bins), bins);
        if (periodic && lattice.d == 3) options.box = lattice.vectors;
        else if (periodic) options.box.assign(static_cast<std::size_t>(lattice.d), 410);
        const std::string what = std::to_string(lattice.d) + " columns, the first vector " +
                                 std::to_string(lattice.vectors.front()) + ", " + std::to_string(bins) + " bins";
        EXPECT_EQ(
            compare(pair_histogram(points.view(), options, by("cuda_filter")), by_the_host(points.view(), options)), "")
            << what;
        options.others = others.view();
        EXPECT_EQ(
            compare(pair_histogram(points.view(), options, by("cuda_filter")), by_the_host(points.view(), options)), "")
            << what << ", cross";
      }
}

TEST_F(OnGpu, work_in_the_stream_comes_first) {
  const Matrix<double> points = uniform(20000, 3);
  const tests::LateOnDevice<double> late(points);
  const PairHistogramResult result = pair_histogram(late.view(), bins_of(0.5, 30), late.execution());
  EXPECT_EQ(compare(result, by_the_host(points.view(), bins_of(0.5, 30))), "");
}

TEST_F(OnGpu, the_first_bad_value_is_named_as_by_the_host) {
  // With this number of rows, the kernel that finds the row needs more than one block.
  constexpr std::int64_t n = 70000;
  Matrix<double> points = uniform(n, 3);
  Buffer<double> weights(n, 1.0);
  PairHistogramJob<double> options = bins_of(0.1, 5);
  options.box = {10, 10, 10};
  options.weights = std::as_const(weights).view();
  const Matrix<double> few = uniform(9, 3);
  const auto same_message = [&](const std::string& part) {
    const ProblemOnDevice<double> there(points.view(), options);
    const std::string by_host = error_of<InputError>([&] { by_the_host(points.view(), options); });
    EXPECT_EQ(error_of<InputError>([&] { there.count(); }), by_host);
    EXPECT_EQ(error_of<InputError>([&] { pair_histogram(points.view(), options, by("cuda_filter")); }), by_host);
    EXPECT_TRUE(contains(by_host, part)) << by_host;
  };
  const auto same_messages_of_points = [&](const std::string& what) {
    const double before = points(69998, 1);
    points(69998, 1) = std::numeric_limits<double>::quiet_NaN();
    points(69999, 0) = std::numeric_limits<double>::infinity();
    same_message(what + ": the value in row 69998, column 1 (counted from 0) is NaN");
    points(69998, 1) = before;
    same_message("row 69999, column 0 (counted from 0) is infinite");
    points(69999, 0) = -1e200;
    same_message("row 69999, column 0 (counted from 0) is too large");
    points(69999, 0) = 10.5;
    same_message("row 69999, column 0 (counted from 0) is 10.5 and outside the periodic box");
    points(69999, 0) = 5;
  };
  same_messages_of_points("points");
  weights[69000] = std::numeric_limits<double>::quiet_NaN();
  same_message("weights: the weight in row 69000 (counted from 0) is NaN; weights are at most 2^500 in magnitude");
  weights[69000] = -1e200;
  same_message("is too large");
  weights[69000] = 1;

  const Buffer<double> few_weights(9, 1.0);
  options.others = points.view();
  options.other_weights = std::as_const(weights).view();
  options.weights = few_weights.view();
  points(69999, 2) = -0.25;
  const auto cross = [&] { pair_histogram(few.view(), options, by("cuda_filter")); };
  EXPECT_TRUE(contains(error_of<InputError>(cross), "others: the value in row 69999, column 2")) << "cross";
  points(69999, 2) = 0;
  weights[3] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(contains(error_of<InputError>(cross), "other weights: the weight in row 3")) << "cross";
}

TEST_F(OnGpu, requests_that_contradict_themselves_are_refused) {
  const Matrix<double> points = uniform(100, 3);
  const ProblemOnDevice<double> there(points.view(), bins_of(0.5, 5));
  Execution execution;
  execution.device = Device::cpu;
  std::string message = error_of<UnsupportedError>([&] { there.count(execution); });
  EXPECT_TRUE(contains(message, "points: they are on GPU 0, but the CPU was asked for")) << message;
  execution.device = Device::gpu;
  execution.gpu = 1;
  message = error_of<UsageError>([&] { there.count(execution); });
  EXPECT_TRUE(contains(message, "they are on GPU 0, but GPU 1 was asked for")) << message;
  for (const Variant& variant : variants()) {
    if (variant.device_input) continue;
    message = error_of<UnsupportedError>([&] { there.count(by(variant.name)); });
    EXPECT_TRUE(contains(message, "variant '" + std::string(variant.name) + "' needs points in host memory"))
        << message;
    EXPECT_TRUE(contains(message, "the variants that use them there: 'cuda_naive', ")) << message;
    EXPECT_TRUE(contains(message, "'cuda_filter'")) << message;
  }
  PairHistogramJob<double> apart = bins_of(0.5, 5);
  apart.others = {points.data(), 100, 3, MemoryPlace::on_gpu(1)};
  message = error_of<UnsupportedError>([&] { pair_histogram(there.points(), apart); });
  EXPECT_TRUE(contains(message, "others: they are on GPU 1, but the job runs on GPU 0")) << message;
}

TEST_F(OnGpu, a_view_that_lies_is_refused) {
  const Matrix<double> points = uniform(100, 3);
  const Buffer<double> weights(100, 1.0);
  const ProblemOnDevice<double> there(points.view(), bins_of(0.5, 5));
  const MatrixView<const double> false_view(points.data(), 100, 3, here);
  std::string message = error_of<UsageError>([&] { pair_histogram(false_view, bins_of(0.5, 5)); });
  EXPECT_TRUE(contains(message, "points: the view says that they are on GPU 0, but")) << message;
  EXPECT_TRUE(contains(message, "not memory of a GPU")) << message;
  PairHistogramJob<double> options = bins_of(0.5, 5);
  options.others = false_view;
  message = error_of<UsageError>([&] { pair_histogram(there.points(), options); });
  EXPECT_TRUE(contains(message, "others")) << message;
  options.others = {};
  options.weights = {weights.data(), 100, here};
  message = error_of<UsageError>([&] { pair_histogram(there.points(), options); });
  EXPECT_TRUE(contains(message, "weights")) << message;
  // The errors above leave no error state on the GPU.
  EXPECT_EQ(compare(there.count(), by_the_host(points.view(), bins_of(0.5, 5))), "");
}

// The views are far larger than the object to which they point. This is safe, because memory is allocated before the
// first byte of the points is read.
TEST_F(OnGpu, what_does_not_fit_is_refused_with_both_numbers) {
  const double one = 0;
  PairHistogramJob<double> options = bins_of(0.5, 5);
  const MatrixView<const double> vast(&one, std::numeric_limits<std::int32_t>::max() - 1, 3);
  options.others = vast;
  const std::string message = error_of<OutOfMemoryError>([&] { pair_histogram(vast, options, by("cuda_naive")); });
  EXPECT_TRUE(contains(message, "206158430")) << message;  // 206 GB for the rows and the columns of both sets
  EXPECT_TRUE(contains(message, " are free")) << message;
}

}  // namespace
}  // namespace gradus::pair_histogram_detail
