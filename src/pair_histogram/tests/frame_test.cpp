// Tests of the public functions: errors and their messages, and properties that hold for every variant.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "core/generate.hpp"
#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "pair_histogram/bins.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tests/job.hpp"
#include "pair_histogram/tests/published.hpp"
#include "pair_histogram/tests/test_problems.hpp"
#include "pair_histogram/tile_pairs.hpp"
#include "tests/helpers.hpp"
#include "tests/machine_with_gpu.hpp"

namespace gradus {
namespace {

namespace room = pair_histogram_detail;
using tests::bins_of;
using tests::uniform;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T = double>
Matrix<T> make(core::Generator kind, std::int64_t n, std::int64_t d, double low = 0, double high = 10,
               std::uint64_t seed = 5) {
  Matrix<T> points(n, d);
  core::generate_points<T>({.kind = kind, .seed = seed, .low = low, .high = high}, 0, points.view(), 1);
  return points;
}

PairHistogramJob<double> between(std::vector<double> edges) {
  PairHistogramJob<double> options;
  options.bins.edges = std::move(edges);
  return options;
}

template <class T>
PairHistogramResult run(const Matrix<T>& points, const PairHistogramJob<T>& options, const Execution& execution = {}) {
  return pair_histogram(points.view(), options, execution);
}

template <class Expected, class T>
void refused(const Matrix<T>& points, const PairHistogramJob<T>& options, const std::vector<std::string>& says,
             const Execution& execution = {}) {
  try {
    run(points, options, execution);
    ADD_FAILURE() << "accepted; expected: " << says.front();
  } catch (const Expected& error) {
    for (const std::string& words : says)
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

double below(double value) { return std::nextafter(value, -1); }

TEST(Bins, ThresholdsAreTheLeastSquaresOfTheirBins) {
  for (const double width : {1.0, 0.1, 0.3, 1.0 / 3, 500.0, 0.7e-9, 1e150, 3e-160, 1e-300, 0x1p-1074}) {
    const room::Bins bins(PairHistogramBins{.bin_width = width, .bins = 1000, .edges = {}, .cutoff = 0});
    ASSERT_EQ(bins.count(), 1000);
    for (std::size_t bin = 0; bin <= 1000; ++bin) {
      const double least = bins.edges()[bin];
      EXPECT_GE(std::floor(least / width), static_cast<double>(bin));
      if (bin > 0) {
        EXPECT_LT(std::floor(below(least) / width), static_cast<double>(bin));
      }
      const double squared = bins.thresholds()[bin];
      EXPECT_GE(std::sqrt(squared), least);
      if (squared > 0) {
        EXPECT_LT(std::sqrt(below(squared)), least);
      }
      EXPECT_EQ(bins.slot(squared) - 1,
                std::isinf(squared) ? 1000 : std::min(1000.0, std::floor(std::sqrt(squared) / width)));
    }
    EXPECT_EQ(bins.thresholds().front(), 0);
  }
}

TEST(Bins, NiceWidthsGiveNiceEdges) {
  const room::Bins bins(PairHistogramBins{.bin_width = 500, .bins = 80, .edges = {}, .cutoff = 0});
  for (std::size_t bin = 0; bin <= 80; ++bin) {
    EXPECT_EQ(bins.edges()[bin], 500.0 * static_cast<double>(bin));
    // A threshold may be below the square of its edge: the square root of a double just below that square may round up
    // to the edge.
    EXPECT_LE(bins.thresholds()[bin], 250000.0 * static_cast<double>(bin * bin));
  }
}

TEST(Bins, SlotsOfEdges) {
  const room::Bins bins(PairHistogramBins{.bin_width = 0, .bins = 0, .edges = {0.5, 1, 4}, .cutoff = 0});
  EXPECT_EQ(bins.slot(0), 0);
  EXPECT_EQ(bins.slot(below(0.25)), 0);
  EXPECT_EQ(bins.slot(0.25), 1);
  EXPECT_EQ(bins.slot(1), 2);
  EXPECT_EQ(bins.slot(below(16)), 2);
  EXPECT_EQ(bins.slot(16), bins.beyond());
  EXPECT_EQ(bins.slot(infinity), bins.beyond());
  EXPECT_EQ(bins.slots(), 4);
  EXPECT_EQ(bins.reach(), 4);
  EXPECT_EQ(bins.width(), 0);
}

TEST(Bins, ACutoffEndsTheBins) {
  const auto edges = [](const PairHistogramBins& bins) {
    const room::Bins made(bins);
    EXPECT_TRUE(std::is_sorted(made.edges().begin(), made.edges().end(), std::less_equal<>()));
    EXPECT_LE(made.reach(), bins.cutoff);
    return made.nominal_edges();
  };
  EXPECT_EQ(edges({.bin_width = 1, .bins = 9, .edges = {}, .cutoff = 2.5}), (std::vector<double>{0, 1, 2, 2.5}));
  EXPECT_EQ(edges({.bin_width = 1, .bins = 9, .edges = {}, .cutoff = 3}), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(edges({.bin_width = 1, .bins = 2, .edges = {}, .cutoff = 3}), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(edges({.bin_width = 1, .bins = 9, .edges = {}, .cutoff = 0x1p-1074}).size(), 2u);
  // A bin that begins at the cutoff, up to rounding, is left out. Here 9 * 0.001 is 0.009000000000000001.
  for (const double cutoff : {0.009, 9 * 0.001}) {
    EXPECT_EQ(edges({.bin_width = 0.001, .bins = 20, .edges = {}, .cutoff = cutoff}).size(), 10u);
    EXPECT_EQ(edges({.bin_width = 0.001, .bins = 20, .edges = {}, .cutoff = cutoff}).back(), cutoff);
  }
  EXPECT_EQ(edges({.bin_width = 0.1, .bins = 9, .edges = {}, .cutoff = 0.3}).size(), 4u);
  EXPECT_EQ(edges({.bin_width = 0, .bins = 0, .edges = {1, 5, 8}, .cutoff = 6}), (std::vector<double>{1, 5, 6}));
  EXPECT_EQ(edges({.bin_width = 0, .bins = 0, .edges = {1, 5, 8}, .cutoff = 5}), (std::vector<double>{1, 5}));
}

TEST(PairHistogram, RefusesImpossibleBins) {
  const Matrix<double> points = uniform(5, 3);
  refused<UsageError>(points, bins_of(0, 10), {"bin_width", "greater than 0", "0"});
  refused<UsageError>(points, bins_of(-1.5, 10), {"bin_width", "-1.5"});
  refused<UsageError>(points, bins_of(nan, 10), {"bin_width", "nan"});
  refused<UsageError>(points, bins_of(infinity, 10), {"bin_width", "inf"});
  refused<UsageError>(points, bins_of(1, 0), {"bins", "at least 1", "0"});
  refused<UsageError>(points, bins_of(1, -3), {"bins", "at least 1", "-3"});
  refused<UsageError>(points, bins_of(1, room::bin_limit + 1), {"16777217 bins", "16777216"});
  refused<UsageError>(points, bins_of(1, std::numeric_limits<std::int64_t>::max()), {"9223372036854775807 bins"});
  refused<UsageError>(points, bins_of(1e308, 2), {"largest double"});
  refused<UsageError>(points, between({1}), {"two", "1"});
  refused<UsageError>(points, between({-1, 2}), {"edge 0", "-1", "negative"});
  refused<UsageError>(points, between({1, nan}), {"edge 1", "NaN"});
  refused<UsageError>(points, between({1, infinity}), {"edge 1", "infinite"});
  refused<UsageError>(points, between({1, 2, 2}), {"edge 2", "increase"});
  refused<UsageError>(points, between({1, 3, 2}), {"edge 2", "2", "3"});
  PairHistogramJob<double> both = between({1, 2});
  both.bins.bin_width = 1;
  refused<UsageError>(points, both, {"both"});
  for (const double cutoff : {-1.0, nan, infinity}) {
    PairHistogramJob<double> options = bins_of(1, 5);
    options.bins.cutoff = cutoff;
    refused<UsageError>(points, options, {"cutoff"});
  }
  PairHistogramJob<double> nothing_left = between({2, 3});
  nothing_left.bins.cutoff = 2;
  refused<UsageError>(points, nothing_left, {"cutoff", "2", "no bin"});
}

TEST(PairHistogram, RefusesBadPoints) {
  Matrix<double> points = uniform(5, 3);
  points(3, 1) = nan;
  refused<InputError>(points, bins_of(1, 5), {"points", "row 3", "column 1", "NaN"});
  points(3, 1) = -infinity;
  refused<InputError>(points, bins_of(1, 5), {"row 3", "infinite"});
  points(3, 1) = 1e200;
  refused<InputError>(points, bins_of(1, 5), {"row 3", "too large"});
  refused<InputError>(uniform(5, 4), bins_of(1, 5), {"4 columns", "1, 2 or 3"});
  refused<InputError>(Matrix<double>(5, 0), bins_of(1, 5), {"0 columns"});
  const Matrix<double> good = uniform(5, 3);
  PairHistogramJob<double> cross = bins_of(1, 5);
  cross.others = std::as_const(points).view();
  refused<InputError>(good, cross, {"others", "row 3", "too large"});
  const Matrix<double> plane = uniform(5, 2);
  cross.others = plane.view();
  refused<InputError>(good, cross, {"others", "2 columns", "3"});
}

TEST(PairHistogram, RefusesBadBoxes) {
  const Matrix<double> points = uniform(50, 3);  // coordinates from 0 to 10
  const auto boxed = [](std::vector<double> box, std::vector<double> origin = {}, double width = 1) {
    PairHistogramJob<double> options = bins_of(width, 5);
    options.box = std::move(box);
    options.box_origin = std::move(origin);
    return options;
  };
  refused<UsageError>(points, boxed({10, 10}), {"box", "2 lengths", "3 columns"});
  refused<UsageError>(points, boxed({10, 0, 10}), {"box", "above zero", "0"});
  refused<UsageError>(points, boxed({10, -4, 10}), {"box", "-4"});
  refused<UsageError>(points, boxed({10, nan, 10}), {"box", "nan"});
  refused<UsageError>(points, boxed({10, 10, 10}, {0, 0}), {"origin", "2"});
  refused<UsageError>(points, boxed({10, 10, 10}, {0, nan, 0}), {"origin", "nan"});
  refused<UsageError>(points, boxed({}, {0, 0, 0}), {"origin", "no lengths"});
  refused<UsageError>(points, boxed({12, 11, 10}, {}, 1.001), {"half of the box's least length, 5"});
  Matrix<double> outside = uniform(50, 3);
  outside(17, 2) = -0.25;
  refused<InputError>(outside, boxed({10, 10, 10}), {"points", "row 17", "column 2", "-0.25", "from 0 to 10"});
  outside(3, 2) = 10;  // on the border, hence valid; but the distance from row 17 exceeds the length of the box
  refused<InputError>(outside, boxed({10, 10, 10}), {"points", "row 17", "-0.25"});
  outside(17, 2) = 10.5;
  refused<InputError>(outside, boxed({10, 10, 10}), {"row 17", "10.5"});
  refused<InputError>(points, boxed({10, 10, 10}, {20, 0, 0}), {"row 0", "column 0", "from 20 to 30"});
  PairHistogramJob<double> cross = boxed({10, 10, 10});
  cross.others = std::as_const(outside).view();
  refused<InputError>(points, cross, {"others", "row 17"});
  EXPECT_EQ(run(points, boxed({10, 10, 10})).pairs, 1225u);
}

TEST(PairHistogram, RefusesBadWeights) {
  const Matrix<double> points = uniform(5, 3);
  const Matrix<double> others = uniform(4, 3);
  Buffer<double> five(5, 1.0);
  Buffer<double> four(4, 1.0);
  PairHistogramJob<double> options = bins_of(1, 5);
  options.weights = std::as_const(four).view();
  refused<InputError>(points, options, {"weights", "4 weights for 5 points"});
  options.weights = std::as_const(five).view();
  options.other_weights = std::as_const(four).view();
  refused<UsageError>(points, options, {"other weights", "no others"});
  options.others = others.view();
  EXPECT_EQ(run(points, options).weighted.size(), 5u);
  options.other_weights = std::as_const(five).view();
  refused<InputError>(points, options, {"other weights", "5 weights for 4 others"});
  options.other_weights = {};
  refused<UsageError>(points, options, {"others have no weights"});
  options.weights = {};
  options.other_weights = std::as_const(four).view();
  refused<UsageError>(points, options, {"points have no weights"});
  options = bins_of(1, 5);
  options.weights = std::as_const(five).view();
  five[2] = nan;
  refused<InputError>(points, options, {"weights", "row 2", "NaN"});
  five[2] = infinity;
  refused<InputError>(points, options, {"weights", "row 2", "infinite"});
  five[2] = 1e200;
  refused<InputError>(points, options, {"weights", "row 2", "too large"});
  five[2] = -3;
  EXPECT_EQ(run(points, options).weighted.size(), 5u);
}

TEST(PairHistogram, RefusesWhatCannotRun) {
  const Matrix<double> points = uniform(5, 3);
  Execution execution;
  execution.variant = "sequentail";
  refused<UsageError>(points, bins_of(1, 5), {"pair_histogram variant 'sequentail'", "'sequential'"}, execution);
  execution = {};
  execution.threads = -1;
  refused<UsageError>(points, bins_of(1, 5), {"thread"}, execution);
  execution = {};
  execution.memory_limit = 100;
  refused<OutOfMemoryError>(points, bins_of(1, 5), {"bytes", "100"}, execution);
  execution = {};
  execution.variant = "sequential";
  execution.device = Device::gpu;
  try {
    run(points, bins_of(1, 5), execution);
    FAIL() << "a CPU variant ran on a GPU";
  } catch (const UnsupportedError&) {  // thrown if there is no GPU
  } catch (const UsageError&) {        // thrown if there is a GPU, because the variant does not run on it
  }
}

TEST(PairHistogram, RefusesPointsOnAGpuWhereThereIsNone) {
  if (execution::why_no_gpu(execution::this_machine()).empty())
    GTEST_SKIP() << "there is a GPU; pair_histogram_gpu_points_test uses it";
  const Matrix<double> points = uniform(5, 3);
  const Matrix<double> others = uniform(4, 3);
  const Buffer<double> weights(5, 1.0);
  const auto refused_there = [](MatrixView<const double> view, const PairHistogramJob<double>& options,
                                const std::string& what) {
    try {
      pair_histogram(view, options);
      ADD_FAILURE() << what << " were accepted";
    } catch (const UnsupportedError& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(what + ": the view says that they are on GPU 0, but ")) << message;
      EXPECT_TRUE(message.ends_with("; pass host memory")) << message;
    }
  };
  const MemoryPlace there = MemoryPlace::on_gpu(0);
  const MatrixView<const double> points_there(points.data(), 5, 3, there);
  refused_there(points_there, bins_of(1, 5), "points");
  EXPECT_THROW(pair_histogram_memory({.points = 5, .place = there}, bins_of(1, 5)), UnsupportedError);
  PairHistogramJob<double> options = bins_of(1, 5);
  options.others = {others.data(), 4, 3, there};
  refused_there(points.view(), options, "others");
  options.others = others.view();
  options.weights = {weights.data(), 5, there};
  options.other_weights = {weights.data(), 4};
  refused_there(points.view(), options, "weights");
  options.weights = weights.view();
  options.other_weights = {weights.data(), 4, there};
  refused_there(points.view(), options, "other weights");
}

TEST(PairHistogram, MemoryIsCheckedBeforeBinsAreMade) {
  const Matrix<double> points = uniform(5, 3);
  Execution execution;
  execution.memory_limit = 1 << 20;
  refused<OutOfMemoryError>(points, bins_of(1, room::bin_limit), {"needs 268435488 bytes", "1048576"}, execution);
  execution.memory_limit = 0;
  execution.variant = "simd_filter";
  const PairHistogramShape shape{.points = 5, .element_bytes = 8};
  const std::uint64_t few = pair_histogram_memory(shape, bins_of(1, 10), execution).host;
  const std::uint64_t many = pair_histogram_memory(shape, bins_of(1, 1010), execution).host;
  EXPECT_GE(many - few, 40u * 1000);  // edges, thresholds and counts alone take 40 bytes or more per bin
  execution.memory_limit = many;
  run(points, bins_of(1, 1010), execution);
  execution.memory_limit = many - 1;
  refused<OutOfMemoryError>(points, bins_of(1, 1010), {std::to_string(many)}, execution);
}

TEST(PairHistogram, MemoryKnowsWhereThereAreBlocks) {
  Execution execution;
  execution.block_size = 128;
  for (const Device device : {Device::cpu, Device::automatic}) {  // the points are too few to justify a GPU
    execution.device = device;
    EXPECT_THROW(pair_histogram_memory({.points = 5, .element_bytes = 8}, bins_of(1, 5), execution), UsageError);
  }
  execution.block_size = -5;
  EXPECT_THROW(pair_histogram_memory({.points = 5, .element_bytes = 8}, bins_of(1, 5), execution), UsageError);
}

TEST(PairHistogram, HonoursAStopRequest) {
  const Matrix<double> points = uniform(3000, 3);
  std::stop_source source;
  source.request_stop();
  for (const room::Variant& variant : room::variants()) {
    Execution execution;
    execution.variant = variant.name;
    execution.stop = source.get_token();
    if (variant.supports(room::Shape{}, execution::this_machine())) {
      EXPECT_THROW(run(points, bins_of(1, 5), execution), InterruptedError) << variant.name;
    }
  }
}

// In a short job of a fast rung, the last report may be the only one, because the rung chooses its portions itself and
// only the calling thread reports. A GPU counts these pairs in one launch. long_test.cpp has a job of several launches.
TEST(PairHistogram, ReportsProgressToTheEnd) {
  constexpr std::int64_t pairs = std::int64_t{9000} * 8999 / 2;  // more pairs than a thread counts in one portion
  const Matrix<double> points = uniform(9000, 1);
  for (const room::Variant& variant : room::variants()) {
    if (!variant.supports(room::Shape{}, execution::this_machine())) continue;
    std::int64_t last = 0;
    std::int64_t total = 0;
    int calls = 0;
    Execution execution;
    execution.variant = variant.name;
    execution.threads = 1;
    execution.progress = [&](const Progress& progress) {
      EXPECT_GT(progress.done, last) << variant.name;
      EXPECT_TRUE(calls == 0 || progress.total == total) << variant.name;
      last = progress.done;
      total = progress.total;
      ++calls;
    };
    run(points, bins_of(1, 5), execution);
    EXPECT_GT(total, 0) << variant.name;
    EXPECT_EQ(last, total) << variant.name;
    if (variant.backend == core::Backend::simd) continue;
    EXPECT_EQ(total, pairs) << variant.name;
    if (variant.backend != core::Backend::cuda) {
      EXPECT_GE(calls, 2) << variant.name;
    }
  }
}

// Portions, including the last one, take longer than the interval between reports, as on a busy machine.
TEST(PairHistogram, ReportsSlowPortionsOnceEach) {
  std::vector<std::int64_t> reported;
  Execution execution;
  execution.progress = [&](const Progress& progress) { reported.push_back(progress.done); };
  room::for_each_item(execution, 1, 3,
                      [](int, std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(60)); });
  EXPECT_EQ(reported, (std::vector<std::int64_t>{1, 2, 3}));
}

// The progress callback throws at its first call. This call comes after 50 ms, before any variant has counted all
// pairs, so the exception must reach the caller from inside the work.
TEST(PairHistogram, WhatAReportThrowsReachesTheCaller) {
  const Matrix<double> points = uniform(60000, 3);
  for (const room::Variant& variant : room::variants()) {
    if (!variant.supports(room::Shape{}, execution::this_machine())) continue;
    for (const int threads : {1, 3}) {
      Execution execution;
      execution.variant = variant.name;
      execution.threads = threads;
      execution.progress = [](const Progress&) { throw std::out_of_range("the report's own"); };
      EXPECT_THROW(run(points, bins_of(0.1, 200), execution), std::out_of_range) << variant.name;
    }
  }
}

TEST(PairHistogram, WhatAnItemThrowsReachesTheCaller) {
  std::atomic<int> counted{0};
  const auto body = [&](int, std::int64_t item) {
    ++counted;
    if (item == 5) throw std::out_of_range("the item's own");
  };
  EXPECT_THROW(room::for_each_item({}, 3, 1'000'000, body), std::out_of_range);
  EXPECT_LT(counted, 1'000'000);
}

// Returns a shape with few narrow bins that reach across all points, so that neither cells nor a tree can skip pairs.
room::Shape all_pairs(std::int64_t points) {
  room::Shape shape;
  shape.points = points;
  shape.bins = 1000;
  shape.reach = 10;
  shape.least_width = 0.01;
  shape.extent = {10, 10, 10};
  return shape;
}

TEST(Choice, TriclinicCellsAreCountedAsBoxesAre) {
  const execution::Machine machine = tests::machine_with_gpu();
  room::Shape shape = all_pairs(100000);
  for (const double reach : {0.5, 2.9}) {
    shape.reach = reach;
    std::string_view names[2];
    for (const bool triclinic : {false, true}) {
      shape.periodic = true;
      shape.triclinic = triclinic;
      names[triclinic ? 1 : 0] = room::choose(shape, machine, Device::cpu).name;
      EXPECT_EQ(room::choose(shape, machine, Device::gpu).name, "cuda_filter");
    }
    EXPECT_EQ(names[1], names[0]);
    EXPECT_EQ(names[1], "simd_cells");
  }
}

TEST(Choice, CellsAreTakenInACellWhereACubeTakesATree) {
  const execution::Machine machine = tests::machine_with_gpu();
  for (const std::int64_t bins : {8, 80}) {
    room::Shape shape = all_pairs(100000);
    shape.bins = bins;
    shape.reach = 4;
    shape.periodic = true;
    EXPECT_EQ(room::choose(shape, machine, Device::cpu).name, "simd_dual_tree");
    shape.triclinic = true;
    EXPECT_EQ(room::choose(shape, machine, Device::cpu).name, "simd_cells");
    shape.points = 100;
    EXPECT_EQ(room::choose(shape, machine, Device::cpu).name, "simd_filter");
  }
}

TEST(Choice, AGpuIsTakenWhereItPays) {
  const execution::Machine machine = tests::machine_with_gpu();
  const auto name = [&](const room::Shape& shape, Device device = Device::automatic) {
    return room::choose(shape, machine, device).name;
  };
  EXPECT_EQ(name(all_pairs(90000)), "simd_filter");  // a CPU counts 4.05e9 pairs before a GPU is ready
  EXPECT_EQ(name(all_pairs(110000)), "cuda_filter");
  EXPECT_EQ(name(all_pairs(110000), Device::cpu), "simd_filter");
  EXPECT_EQ(name(all_pairs(100), Device::gpu), "cuda_filter");
  room::Shape shape = all_pairs(110000);
  shape.weighted = true;
  EXPECT_EQ(name(shape), "simd_filter");
  EXPECT_EQ(name(shape, Device::gpu), "cuda_filter");
  shape = all_pairs(80000);
  shape.cross = true;
  shape.others = 80000;  // 6.4e9 pairs
  EXPECT_EQ(name(shape), "cuda_filter");
  shape = all_pairs(1000000);
  shape.reach = 0.3;
  EXPECT_EQ(name(shape), "simd_cells");
  shape = all_pairs(1000000);
  shape.bins = 8;
  EXPECT_EQ(name(shape), "simd_dual_tree");
}

TEST(Choice, NobodyLooksForAGpuThatWouldNotBeTaken) {
  const execution::Machine machine = tests::machine_with_untouchable_gpus();
  EXPECT_EQ(room::choose(all_pairs(1000), machine, Device::automatic).name, "simd_filter");
  EXPECT_EQ(room::choose(all_pairs(1000000), machine, Device::cpu).name, "simd_filter");
  EXPECT_THROW(room::choose(all_pairs(1000000), machine, Device::automatic), Error);
}

void expect_same(const PairHistogramResult& result, const PairHistogramResult& expected, const std::string& what) {
  EXPECT_EQ(result.edges, expected.edges) << what;
  EXPECT_EQ(result.counts, expected.counts) << what;
  EXPECT_EQ(result.below, expected.below) << what;
  EXPECT_EQ(result.beyond, expected.beyond) << what;
  EXPECT_EQ(result.pairs, expected.pairs) << what;
  EXPECT_EQ(result.weighted, expected.weighted) << what;
}

Buffer<double> uneven_weights(std::int64_t n) {
  Buffer<double> weights(n);
  for (std::int64_t row = 0; row < n; ++row) weights[row] = std::sin(static_cast<double>(row)) + 0.3;
  return weights;
}

std::uint64_t sum_of(const PairHistogramResult& result) {
  return std::accumulate(result.counts.begin(), result.counts.end(), result.below + result.beyond);
}

template <class T>
Matrix<T> permuted(const Matrix<T>& points) {
  Matrix<T> result(points.rows(), points.columns());
  for (std::int64_t row = 0; row < points.rows(); ++row)
    std::copy_n(points.row((row * 7919 + 3) % points.rows()), points.columns(), result.row(row));
  return result;
}

TEST(PairHistogram, TheSameForAnyNumberOfThreads) {
  const Matrix<double> points = uniform(1001, 3);
  const Buffer<double> weights = uneven_weights(1001);
  PairHistogramJob<double> options = bins_of(0.37, 20);
  options.weights = weights.view();
  Execution execution;
  execution.variant = "sequential";
  const PairHistogramResult expected = run(points, options, execution);
  execution.variant = "";
  for (const int threads : {1, 2, 3, 7, 16}) {
    execution.threads = threads;
    const PairHistogramResult result = run(points, options, execution);
    expect_same(result, expected, std::to_string(threads) + " threads");
    EXPECT_EQ(result.report.threads, threads);
    EXPECT_FALSE(result.report.variant.empty());
    EXPECT_FALSE(result.report.device.empty());
    EXPECT_EQ(result.report.phases.back().name, "total");
  }
}

// Waking a thread team takes longer than one thread needs for a small frame. On a busy machine, waking the team takes
// much longer.
TEST(PairHistogram, ThreadsOfASmallFrame) {
  const Matrix<double> points = uniform(100, 3);
  PairHistogramJob<double> options = bins_of(0.37, 20);
  const PairHistogramResult by_itself = run(points, options);
  EXPECT_EQ(by_itself.report.threads, 1);
  expect_same(run(points, options, {.threads = 2}), by_itself, "2 threads");
  EXPECT_EQ(run(points, options, {.threads = 2}).report.threads, 2);
  EXPECT_EQ(run(points, options, {.variant = "openmp_privatized"}).report.threads, cpu::thread_count({}));
}

TEST(PairHistogram, CountsSumToAllPairs) {
  for (const std::int64_t n : {0, 1, 2, 3, 100, 1001})
    for (const std::int64_t d : {1, 2, 3}) {
      const Matrix<double> points = uniform(n, d);
      const PairHistogramResult result = run(points, between({0.5, 1, 3}));
      EXPECT_EQ(result.pairs, static_cast<std::uint64_t>(n * (n - 1) / 2));
      EXPECT_EQ(sum_of(result), result.pairs);
      PairHistogramJob<double> cross = between({0.5, 1, 3});
      const Matrix<double> others = uniform(77, d);
      cross.others = others.view();
      const PairHistogramResult crossed = run(points, cross);
      EXPECT_EQ(crossed.pairs, static_cast<std::uint64_t>(n * 77));
      EXPECT_EQ(sum_of(crossed), crossed.pairs);
    }
}

TEST(PairHistogram, PermutingPointsChangesNothing) {
  const Matrix<double> points = make(core::Generator::blobs, 700, 3);
  const Matrix<double> mixed = permuted(points);
  const Buffer<double> weights = uneven_weights(700);
  Matrix<double> column(700, 1);
  std::copy_n(weights.data(), 700, column.data());
  const Matrix<double> mixed_weights = permuted(column);
  PairHistogramJob<double> options = bins_of(0.2, 60);
  options.weights = weights.view();
  const PairHistogramResult expected = run(points, options);
  options.weights = {mixed_weights.data(), 700};
  expect_same(run(mixed, options), expected, "permuted");
}

TEST(PairHistogram, TranslatingByAPowerOfTwoChangesNothing) {
  // The coordinates have few bits, so that the translation is exact.
  Matrix<float> points = make<float>(core::Generator::uniform, 500, 3, 0, 64);
  for (std::int64_t index = 0; index < 1500; ++index) points.data()[index] = std::floor(points.data()[index] * 64) / 64;
  const PairHistogramResult expected = run(points, bins_of<float>(1.7, 50));
  for (const double offset : {128.0, -1024.0, 0x1p17}) {
    Matrix<float> moved(500, 3);
    for (std::int64_t index = 0; index < 1500; ++index)
      moved.data()[index] = points.data()[index] + static_cast<float>(offset);
    expect_same(run(moved, bins_of<float>(1.7, 50)), expected, "moved");
  }
}

TEST(PairHistogram, ScalingByAPowerOfTwoScalesTheEdgesOnly) {
  const Matrix<double> points = uniform(500, 3);
  Matrix<double> scaled(500, 3);
  for (std::int64_t index = 0; index < 1500; ++index) scaled.data()[index] = points.data()[index] * 0x1p-20;
  EXPECT_EQ(run(scaled, bins_of(0.3 * 0x1p-20, 40)).counts, run(points, bins_of(0.3, 40)).counts);
}

TEST(PairHistogram, PairsAmongPointsAreHalfOfThoseWithThemselves) {
  const Matrix<double> points = uniform(333, 2);
  const PairHistogramResult among = run(points, bins_of(0.5, 30));
  PairHistogramJob<double> options = bins_of(0.5, 30);
  options.others = points.view();
  PairHistogramResult with_themselves = run(points, options);
  with_themselves.counts[0] -= 333;  // subtracts the pairs of each point with itself
  for (std::size_t bin = 0; bin < 30; ++bin) EXPECT_EQ(with_themselves.counts[bin], 2 * among.counts[bin]);
}

TEST(PairHistogram, OthersWithoutRowsAreStillOthers) {
  const Matrix<double> points = uniform(9, 2);
  const Matrix<double> none(0, 2);
  PairHistogramJob<double> options = bins_of(0.5, 30);
  options.others = none.view();
  EXPECT_EQ(run(points, options).pairs, 0u);
}

TEST(PairHistogram, WeightsAreSummed) {
  Matrix<float> points(3, 1);
  points(0, 0) = 0;
  points(1, 0) = 1;
  points(2, 0) = 3;
  Buffer<float> weights(3);
  weights[0] = 0.5F;
  weights[1] = -4;
  weights[2] = 3;
  PairHistogramJob<float> options = bins_of<float>(1, 3);
  options.weights = std::as_const(weights).view();
  const PairHistogramResult result = run(points, options);
  EXPECT_EQ(result.counts, (std::vector<std::uint64_t>{0, 1, 1}));
  EXPECT_EQ(result.weighted, (std::vector<double>{0, -2, -12}));
  EXPECT_EQ(result.beyond, 1u);
}

/// Returns the sum of the products of weights for each bin of width 1. All variants must compute the same sums. The
/// points are on a line with spacing 1.
std::vector<double> sums_of(const std::vector<double>& values) {
  Matrix<double> points(static_cast<std::int64_t>(values.size()), 1);
  Buffer<double> weights(points.rows());
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    points(row, 0) = static_cast<double>(row);
    weights[row] = values[static_cast<std::size_t>(row)];
  }
  PairHistogramJob<double> options = bins_of(1, points.rows());
  options.weights = std::as_const(weights).view();
  std::vector<double> sums = run(points, options).weighted;
  room::Shape shape;
  shape.weighted = true;
  for (const room::Variant& variant : room::variants()) {
    if (!variant.supports(shape, execution::this_machine())) continue;
    Execution execution;
    execution.variant = variant.name;
    EXPECT_EQ(run(points, options, execution).weighted, sums) << variant.name;
  }
  return sums;
}

TEST(WeightedSums, AreExactAndRoundedOnce) {
  EXPECT_EQ(sums_of({1e12, 1, 1, 1}), (std::vector<double>{0, 1000000000002, 1000000000001, 1000000000000}));
  EXPECT_EQ(sums_of({1e20, 1, 1, 1}), (std::vector<double>{0, 1e20, 1e20, 1e20}));
  EXPECT_EQ(sums_of({1e-140, 1e-140, 3e-140}),
            (std::vector<double>{0, 4.0000000000000003e-280, 3.0000000000000004e-280}));
  // Uses the greatest and the least magnitudes of weights.
  EXPECT_EQ(sums_of({0x1p500, 0x1p-1074, 0x3p-1074}), (std::vector<double>{0, 0x1p-574, 0x3p-574}));
  EXPECT_EQ(sums_of({0x1p500, -0x1p500, 0x1p-1074, 0x1p500}), (std::vector<double>{0, -0x1p1000, -0x1p1000, 0x1p1000}));
  // After cancellation, a much smaller sum remains.
  EXPECT_EQ(sums_of({0x1p500, 0x1p500, 0, 0x1p500, -0x1p500, 0, 0x1p-500, 0x1p-500})[1], 0x1p-1000);
  // Sums are rounded to multiples of the smallest double, 2^-1074. Half of this double (2^-1075) and three halves are
  // ties, which round to even. A sum slightly above half of the smallest double rounds up.
  EXPECT_EQ(sums_of({0x1p-537, 0x1p-538}), (std::vector<double>{0, 0}));
  EXPECT_EQ(sums_of({0x3p-537, 0x1p-538}), (std::vector<double>{0, 0x1p-1073}));
  EXPECT_EQ(sums_of({0x1p-537, 0x1.0000000000001p-538}), (std::vector<double>{0, 0x1p-1074}));
  EXPECT_EQ(sums_of({0x1p-900, 0x1p-900}), (std::vector<double>{0, 0}));
}

TEST(WeightedSums, BeyondTheLargestDoubleAreRefused) {
  Matrix<double> points(1 << 12, 1);
  std::fill_n(points.data(), points.rows(), 0.0);
  Buffer<double> weights(points.rows(), 0x1p500);
  PairHistogramJob<double> options = bins_of(0.5, 3);
  options.weights = std::as_const(weights).view();
  options.others = points.view().slice(0, (1 << 12) - 1);
  options.other_weights = {weights.data(), options.others.rows()};
  EXPECT_EQ(run(points, options).weighted, (std::vector<double>{0x1p1012 * 0xfffp0, 0, 0}));
  options.others = points.view();
  options.other_weights = std::as_const(weights).view();
  refused<InputError>(points, options, {"weights", "bin 0", "from 0 to 0.5", "largest double"});
  for (double& weight : weights) weight = -weight;
  options.other_weights = {};
  options.others = {};
  // Without `others`, each pair counts once instead of twice.
  EXPECT_EQ(run(points, options).weighted[0], 0x1p1011 * 0xfffp0);
}

TEST(WeightedSums, TheirWordsAreInTheEstimate) {
  const Matrix<double> points = uniform(5, 3);
  Buffer<double> weights(5, 1.0);
  PairHistogramJob<double> options = bins_of(1, 10000);
  options.weights = std::as_const(weights).view();
  Execution execution;
  execution.variant = "sequential";
  const PairHistogramShape shape{.points = 5, .element_bytes = 8, .weighted = true};
  const std::uint64_t wide = pair_histogram_memory(shape, options, execution).host;
  const auto longest = static_cast<std::uint64_t>(room::WeightSums::most_words(sizeof(double)));
  const std::uint64_t narrow = wide - (longest - 2) * 8 * 10002;
  execution.memory_limit = narrow;
  run(points, options, execution);
  execution.memory_limit = narrow - 1;
  refused<OutOfMemoryError>(points, options, {std::to_string(narrow)}, execution);
  weights[3] = 0x1p-1074;
  weights[4] = 0x1p500;
  const std::uint64_t needed = narrow + std::uint64_t{50 - 2} * 8 * 10002;
  EXPECT_LE(needed, wide);
  execution.memory_limit = needed - 1;
  refused<OutOfMemoryError>(points, options, {std::to_string(needed)}, execution);
  execution.memory_limit = needed;
  run(points, options, execution);
}

TEST(Histogram, CountsPastTheLimitOf32BitsAddUp) {
  room::Histogram total(3, 2);
  room::Histogram part(3, 2);
  part.counts = {1, (std::uint64_t{1} << 32) - 1, std::uint64_t{1} << 61};
  part.sum(1)[0] = ~std::uint64_t{4};  // the sum is now 2^100 - 5
  part.sum(1)[1] = (std::uint64_t{1} << 36) - 1;
  part.rechecked = 7;
  total.add(part);
  total.add(part);
  EXPECT_EQ(total.counts, (std::vector<std::uint64_t>{2, (std::uint64_t{1} << 33) - 2, std::uint64_t{1} << 62}));
  EXPECT_EQ(total.weights, (std::vector<std::uint64_t>{0, 0, ~std::uint64_t{9}, (std::uint64_t{1} << 37) - 1, 0, 0}));
  EXPECT_EQ(total.rechecked, 14u);
}

TEST(Accumulate, AddsFramesOfTheSameBins) {
  const Matrix<double> points = uniform(30, 2);
  PairHistogramJob<double> options;
  options.bins = {1, 6, {}, 0};
  PairHistogramResult sum = run(points, options);
  const PairHistogramResult one = sum;
  pair_histogram_accumulate(sum, one);
  EXPECT_EQ(sum.pairs, 2 * one.pairs);
  EXPECT_EQ(sum.beyond, 2 * one.beyond);
  for (std::size_t bin = 0; bin < one.counts.size(); ++bin) EXPECT_EQ(sum.counts[bin], 2 * one.counts[bin]);
  EXPECT_EQ(sum.report.rechecked, one.report.rechecked);
  options.bins.bins = 5;
  EXPECT_THROW(pair_histogram_accumulate(sum, run(points, options)), UsageError);
}

TEST(Accumulate, RefusesWhatWouldOverflow) {
  PairHistogramResult sum;
  sum.edges = {0, 1, 2};
  sum.counts = {3, 4};
  sum.weighted = {1, 0x1p1023};
  sum.pairs = 7;
  const PairHistogramResult next = sum;
  EXPECT_THROW(pair_histogram_accumulate(sum, next), InputError);
  EXPECT_EQ(sum.weighted, next.weighted);
  EXPECT_EQ(sum.counts, next.counts);
  sum.weighted = {1, 2};
  sum.pairs = std::numeric_limits<std::uint64_t>::max() - 6;
  EXPECT_THROW(pair_histogram_accumulate(sum, next), InputError);
  sum.pairs = 1;
  pair_histogram_accumulate(sum, next);
  EXPECT_EQ(sum.pairs, 8u);
}

class Published : public tests::WithRow<room::Variant> {};

TEST_P(Published, table_of_10000_points) {
  const std::vector<std::uint64_t> counts = room::published_counts(10000);
  ASSERT_EQ(counts.size(), 80u);
  const Matrix<double> points = make(core::Generator::lab_atoms, 10000, 3);
  Execution execution;
  execution.variant = GetParam()->name;
  const PairHistogramResult result = run(points, bins_of(500, 80), execution);
  EXPECT_EQ(result.counts, counts);
  EXPECT_EQ(result.beyond, 0u);
}

INSTANTIATE_TEST_SUITE_P(pair_histogram, Published, testing::ValuesIn(tests::rows_that(room::variants(), tests::any)),
                         tests::RowName());

TEST(PairHistogramRadialDistribution, OfACubicLattice) {
  // In a periodic lattice, each point has 6 neighbours at distance 1, 12 at sqrt(2) and 8 at sqrt(3).
  constexpr std::int64_t side = 8;
  Matrix<double> points(side * side * side, 3);
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    points(row, 0) = static_cast<double>(row % side);
    const std::int64_t layer = row / (side * side);
    const std::int64_t line = row / side % side;
    points(row, 1) = static_cast<double>(line);
    points(row, 2) = static_cast<double>(layer);
  }
  PairHistogramJob<double> options = between({0.5, 1.2, 1.5, 1.9});
  options.box = {side, side, side};
  const PairHistogramResult result = run(points, options);
  const double volume = side * side * side;
  const PairHistogramRadialDistribution radial =
      pair_histogram_radial_distribution(result, 3, points.rows(), 0, volume);
  EXPECT_EQ(radial.coordination, (std::vector<double>{6, 18, 26}));
  const double shell = 4.0 / 3 * std::numbers::pi * (1.2 * 1.2 * 1.2 - 0.5 * 0.5 * 0.5);
  EXPECT_NEAR(radial.density[0], 6 / shell, 1e-12);
  EXPECT_NEAR(radial.g[0], 6 / shell * volume / (volume - 1), 1e-12);

  PairHistogramResult twice = result;
  for (std::uint64_t& count : twice.counts) count *= 2;
  const PairHistogramRadialDistribution frames =
      pair_histogram_radial_distribution(twice, 3, points.rows(), 0, volume, 2);
  EXPECT_EQ(frames.coordination, radial.coordination);
  EXPECT_EQ(frames.g, radial.g);
}

TEST(PairHistogramRadialDistribution, OfAnIdealGasIsOne) {
  for (const std::int64_t d : {1, 2, 3}) {
    const Matrix<double> points = uniform(2000, d);
    const Matrix<double> others = make(core::Generator::uniform, 1500, d, 0, 10, 6);
    PairHistogramJob<double> options = between({1, 2, 3, 4});
    options.box.assign(static_cast<std::size_t>(d), 10);
    const PairHistogramRadialDistribution radial =
        pair_histogram_radial_distribution(run(points, options), d, 2000, 0, std::pow(10.0, static_cast<double>(d)));
    for (const double g : radial.g) EXPECT_NEAR(g, 1, 0.02);
    options.others = others.view();
    const PairHistogramRadialDistribution cross =
        pair_histogram_radial_distribution(run(points, options), d, 2000, 1500, std::pow(10.0, static_cast<double>(d)));
    for (const double g : cross.g) EXPECT_NEAR(g, 1, 0.02);
    EXPECT_NEAR(cross.density[0], 1500 / std::pow(10.0, static_cast<double>(d)), 0.02 * cross.density[0]);
  }
}

TEST(PairHistogramRadialDistribution, OfNothingIsZero) {
  PairHistogramResult empty;
  empty.edges = {0, 1};
  empty.counts = {0};
  for (const std::int64_t n : {0, 1}) {
    const PairHistogramRadialDistribution radial = pair_histogram_radial_distribution(empty, 3, n, 0, 1);
    EXPECT_EQ(radial.g, std::vector<double>{0});
    EXPECT_EQ(radial.density, std::vector<double>{0});
    EXPECT_EQ(radial.coordination, std::vector<double>{0});
  }
}

TEST(PairHistogramRadialDistribution, RefusesTheImpossible) {
  PairHistogramResult result;
  result.edges = {0, 1};
  result.counts = {5};
  for (const double volume : {0.0, -1.0, nan, infinity})
    EXPECT_THROW(pair_histogram_radial_distribution(result, 3, 10, 0, volume), UsageError);
  EXPECT_THROW(pair_histogram_radial_distribution(result, 0, 10, 0, 1), UsageError);
  EXPECT_THROW(pair_histogram_radial_distribution(result, 4, 10, 0, 1), UsageError);
  EXPECT_THROW(pair_histogram_radial_distribution(result, 3, -1, 0, 1), UsageError);
  EXPECT_THROW(pair_histogram_radial_distribution(result, 3, 10, 0, 1, 0), UsageError);
  result.edges = {0};
  EXPECT_THROW(pair_histogram_radial_distribution(result, 3, 10, 0, 1), UsageError);
}

TEST(PairHistogramCompleteBins, GoUpToTheCutoffOrHalfTheBox) {
  const auto complete = [](double width, double cutoff, const std::vector<double>& box) {
    return pair_histogram_complete_bins({.bin_width = width, .cutoff = cutoff}, box);
  };
  EXPECT_EQ(complete(0.5, 2, {}).bins, 4);
  EXPECT_EQ(complete(0.5, 2, {10, 10, 10}).cutoff, 2);
  EXPECT_EQ(complete(0.5, 2.1, {}).bins, 5);
  EXPECT_EQ(complete(0.5, 0, {20, 10}).bins, 10);
  EXPECT_EQ(complete(0.5, 0, {20, 10}).cutoff, 5);
  // The cutoff is half of the least height of the reduced cell, which is a cube here.
  EXPECT_EQ(complete(0.5, 0, {8, 0, 0, 80, 8, 0, -24, 88, 8}).cutoff, 4);
  // The least height of this cell is its depth, 4.
  EXPECT_EQ(complete(0.5, 0, {10, 0, 0, 3, 8, 0, 0, 0, 4}).cutoff, 2);
  // The quotient is rounded down to 285, but 285 times the width is below the cutoff.
  constexpr double width = 1.67678017156852;
  constexpr double cutoff = 477.88234889702824;
  static_assert(cutoff / width == 285 && 285 * width < cutoff);
  EXPECT_EQ(complete(width, cutoff, {}).bins, 286);
  Matrix<double> points(2, 1);
  points(1, 0) = std::nextafter(cutoff, 0);
  PairHistogramJob<double> options;
  options.bins = complete(width, cutoff, {});
  EXPECT_EQ(run(points, options).beyond, 0U) << "a pair nearer than the cutoff";

  const PairHistogramBins given = bins_of(1, 7).bins;
  EXPECT_EQ(pair_histogram_complete_bins(given, {4, 4, 4}).bins, 7);
  EXPECT_EQ(pair_histogram_complete_bins(between({1, 2}).bins, {}).edges, (std::vector<double>{1, 2}));
  for (const double wrong : {nan, -1.0, 0.0}) EXPECT_EQ(complete(wrong, 2, {}).bins, 0);
  EXPECT_THROW(complete(1, 0, {}), UsageError);
  EXPECT_THROW(complete(1, nan, {}), UsageError);
  EXPECT_THROW(complete(1e-9, 1, {}), UsageError);
  EXPECT_THROW(complete(1, 0, {nan}), UsageError);
  EXPECT_THROW(complete(1, 0, {1, 2, 3, 4}), UsageError);
}

TEST(PairHistogramVolume, IsThatOfTheBox) {
  EXPECT_EQ(pair_histogram_volume({4}), 4);
  EXPECT_EQ(pair_histogram_volume({4, 3}), 12);
  EXPECT_EQ(pair_histogram_volume({4, 3, 2}), 24);
  EXPECT_EQ(pair_histogram_volume({10, 0, 0, 3, 8, 0, 1, 2, 4}), 320);
  EXPECT_EQ(pair_histogram_volume({0, 4, 0, 4, 0, 0, 0, 0, 4}), 64) << "left-handed";
  const std::vector<std::vector<double>> impossible = {{}, {0}, {-1, 1}, {nan, 1, 1}, {1, 2, 3, 4}};
  for (const std::vector<double>& box : impossible) EXPECT_THROW(pair_histogram_volume(box), UsageError);
}

}  // namespace
}  // namespace gradus
