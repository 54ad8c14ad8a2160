// Tests that every public function of pair-distance histograms rejects malformed views.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pair_histogram/tests/job.hpp"
#include "tests/lies.hpp"

namespace gradus {
namespace {

using tests::expect_usage;
using tests::impossible_executions;
using tests::lies;
using tests::most;
using tests::vector_lies;

template <class T>
using Views = tests::Views<T>;
TYPED_TEST_SUITE(Views, tests::ViewTypes);

TYPED_TEST(Views, RefusesLies) {
  using T = TypeParam;
  PairHistogramJob<T> fine;
  fine.bins.bin_width = 1;
  fine.bins.bins = 5;
  const auto refused = [&](MatrixView<const T> points, const PairHistogramJob<T>& options, const std::string& says) {
    expect_usage([&] { pair_histogram(points, options); }, says);
  };
  for (const auto& [view, says] : lies<const T>(this->elements_)) {
    refused(view, fine, says);
    PairHistogramJob<T> cross = fine;
    cross.others = view;
    refused(this->points(), cross, says);
  }
  for (const auto& [view, says] : vector_lies<const T>(this->elements_)) {
    PairHistogramJob<T> weighted = fine;
    weighted.weights = view;
    refused(this->points(), weighted, says);
    weighted.others = this->points();
    weighted.weights = {this->elements_, 10};
    weighted.other_weights = view;
    refused(this->points(), weighted, says);
  }
  for (const std::vector<double>& box : std::vector<std::vector<double>>{
           {20}, {20, 20, 20}, {20, -1}, {20, 0}, {20, std::numeric_limits<double>::quiet_NaN()}}) {
    PairHistogramJob<T> boxed = fine;
    boxed.box = box;
    expect_usage([&] { pair_histogram_memory({10, 0, 2, sizeof(T)}, boxed); }, "box");
    refused(this->points(), boxed, "box");
  }
  for (const Execution& impossible : impossible_executions()) {
    expect_usage([&] { pair_histogram(this->points(), fine, impossible); }, "");
    expect_usage([&] { pair_histogram_memory({10, 0, 2, sizeof(T)}, fine, impossible); }, "");
  }
  PairHistogramJob<T> bins = fine;
  bins.bins.bins = most;
  refused(this->points(), bins, "bins");
  bins.bins.bins = -1;
  refused(this->points(), bins, "bins");
  expect_usage([&] { pair_histogram_memory({10, 0, 2, sizeof(T)}, bins); }, "bins");
  for (const PairHistogramShape& shape : std::vector<PairHistogramShape>{
           {-1, 0, 2}, {10, -1, 2}, {std::int64_t{1} << 31, 0, 2}, {10, 0, 0}, {10, 0, 4}, {10, 0, 2, 2}})
    expect_usage([&] { pair_histogram_memory(shape, fine); }, "");
  EXPECT_GT(pair_histogram_memory({10, 0, 2, sizeof(T)}, fine).host, 0u);
  EXPECT_EQ(pair_histogram_memory({10, 0, 2, sizeof(T)}, fine, {.device = Device::cpu}).device, 0u);
}

TYPED_TEST(Views, EmptyOnesNeedNoMemory) {
  using T = TypeParam;
  PairHistogramJob<T> options;
  options.bins.bin_width = 1;
  options.bins.bins = 5;
  EXPECT_EQ(pair_histogram(MatrixView<const T>(nullptr, 0, 3), options).pairs, 0u);
  options.others = MatrixView<const T>(nullptr, 0, 2);
  options.weights = VectorView<const T>(nullptr, 0);
  EXPECT_EQ(pair_histogram(this->points(), options).pairs, 0u);
}

TEST(Histograms, OfSizesThatDoNotAgreeAreRefused) {
  PairHistogramResult good;
  good.edges = {0, 1, 2};
  good.counts = {3, 4};
  good.weighted = {0.5, 0.25};
  PairHistogramResult sum = good;
  pair_histogram_accumulate(sum, good);
  EXPECT_EQ(sum.counts, (std::vector<std::uint64_t>{6, 8}));
  for (const auto& spoil : std::vector<std::function<void(PairHistogramResult&)>>{
           [](auto& result) { result.counts = {3}; }, [](auto& result) { result.counts = {}; },
           [](auto& result) {
             result.counts = {3, 4, 5};
           },
           [](auto& result) { result.weighted = {1}; },
           [](auto& result) {
             result.weighted = {1, 2, 3};
           },
           [](auto& result) { result.edges = {}; }}) {
    PairHistogramResult bad = good;
    spoil(bad);
    PairHistogramResult same = bad;
    expect_usage([&] { pair_histogram_accumulate(bad, good); }, "");
    expect_usage([&] { pair_histogram_accumulate(sum, bad); }, "");
    expect_usage([&] { pair_histogram_accumulate(bad, same); }, "");
    if (bad.edges.size() != bad.counts.size() + 1)
      expect_usage([&] { pair_histogram_radial_distribution(bad, 3, 10, 0, 1.0); }, "edge");
  }
  EXPECT_EQ(sum.counts, (std::vector<std::uint64_t>{6, 8}));
  expect_usage([&] { pair_histogram_radial_distribution(good, 4, 10, 0, 1.0); }, "dimensions");
  expect_usage([&] { pair_histogram_radial_distribution(good, 3, -1, 0, 1.0); }, "negative");
  expect_usage([&] { pair_histogram_radial_distribution(good, 3, 10, 0, 0.0); }, "volume");
  expect_usage([&] { pair_histogram_radial_distribution(good, 3, 10, 0, 1.0, 0); }, "frames");
}

}  // namespace
}  // namespace gradus
