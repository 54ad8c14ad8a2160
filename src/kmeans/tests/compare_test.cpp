// Tests that compare() accepts the oracle's result and rejects every kind of incorrect result.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "bench/problem.hpp"
#include "kmeans/cases.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/oracle.hpp"

namespace gradus::kmeans_detail {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
class Checker : public testing::Test {
 protected:
  Checker() {
    for (const Case& one : cases())
      if (one.name == "blobs") data_ = one.make(1);
    points_ = Matrix<T>(data_.points.rows(), data_.points.columns());
    for (std::int64_t index = 0; index < points_.rows() * points_.columns(); ++index)
      points_.data()[index] = static_cast<T>(data_.points.data()[index]);
    problem_.points = std::as_const(points_).view();
    problem_.initial_centroids = problem_.points.slice(0, data_.clusters);
    problem_.max_iterations = 4;
    problem_.statistics = examine<T>(problem_.points, {}, problem_.initial_centroids, 1);
    truth_ = oracle(problem_);
  }

  // Returns the result of compare() for the oracle's result, after `change` has modified it.
  std::string verdict(core::Contract::Kind contract, const std::function<void(KMeansResult<T>&)>& change) {
    KMeansResult<T> result = oracle(problem_);
    change(result);
    return compare(result, truth_, problem_, core::Contract{contract, 1e-4, "inertia"}, data_.well_conditioned);
  }

  void expect_both_reject(const std::function<void(KMeansResult<T>&)>& change) {
    EXPECT_NE(verdict(core::Contract::same_bits, change), "");
    EXPECT_NE(verdict(core::Contract::within, change), "");
  }

  CaseData data_;
  Matrix<T> points_;
  Problem<T> problem_;
  KMeansResult<T> truth_;
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Checker, Types);

TYPED_TEST(Checker, accepts_the_truth) {
  EXPECT_EQ(this->verdict(core::Contract::same_bits, [](auto&) {}), "");
  EXPECT_EQ(this->verdict(core::Contract::within, [](auto&) {}), "");
}

TYPED_TEST(Checker, rejects_nan_inertia) {
  this->expect_both_reject([](auto& result) { result.inertia = nan; });
}

TYPED_TEST(Checker, rejects_nan_centroid) {
  this->expect_both_reject([](auto& result) { result.centroids(3, 1) = static_cast<TypeParam>(nan); });
}

TYPED_TEST(Checker, rejects_missing_labels) {
  this->expect_both_reject([](auto& result) { result.labels = Buffer<std::int32_t>(result.labels.size() - 1, 0); });
}

TYPED_TEST(Checker, rejects_missing_centroid) {
  this->expect_both_reject([](auto& result) {
    result.centroids = Matrix<TypeParam>::copy_of(std::as_const(result.centroids).view().slice(0, 7));
  });
}

TYPED_TEST(Checker, rejects_missing_counts) {
  this->expect_both_reject([](auto& result) { result.counts.pop_back(); });
}

TYPED_TEST(Checker, rejects_off_by_one_counts) {
  this->expect_both_reject([](auto& result) { ++result.counts[0]; });
}

TYPED_TEST(Checker, rejects_wrong_inertia) {
  this->expect_both_reject([](auto& result) { result.inertia *= 1.001; });
}

TYPED_TEST(Checker, rejects_moved_centroid) {
  this->expect_both_reject([](auto& result) { result.centroids(0, 0) += TypeParam{1}; });
}

TYPED_TEST(Checker, rejects_swapped_labels) {
  const auto swap_two = [](auto& result) {
    std::int64_t other = 1;
    while (result.labels[other] == result.labels[0]) ++other;
    std::swap(result.labels[0], result.labels[other]);
  };
  EXPECT_NE(this->verdict(core::Contract::same_bits, swap_two), "");
}

TYPED_TEST(Checker, rejects_the_last_bit) {
  EXPECT_NE(this->verdict(core::Contract::same_bits,
                          [](auto& result) {
                            auto& value = result.centroids(7, 0);
                            value = std::nextafter(value, TypeParam{1000});
                          }),
            "");
  EXPECT_NE(this->verdict(core::Contract::same_bits,
                          [](auto& result) { result.inertia = std::nextafter(result.inertia, 0.0); }),
            "");
}

TYPED_TEST(Checker, rejects_wrong_iteration_count) {
  EXPECT_NE(this->verdict(core::Contract::same_bits, [](auto& result) { ++result.iterations; }), "");
}

TYPED_TEST(Checker, rejects_wrong_history) {
  EXPECT_NE(this->verdict(core::Contract::same_bits, [](auto& result) { result.history.pop_back(); }), "");
  EXPECT_NE(this->verdict(core::Contract::same_bits, [](auto& result) { ++result.history[1].changed; }), "");
  EXPECT_NE(this->verdict(core::Contract::same_bits, [](auto& result) { result.history[1].inertia = nan; }), "");
  EXPECT_NE(this->verdict(core::Contract::same_bits, [](auto& result) { result.history[2].shift = nan; }), "");
}

TYPED_TEST(Checker, rejects_another_stop_reason) {
  EXPECT_NE(this->verdict(core::Contract::same_bits, [](auto& result) { result.converged = !result.converged; }), "");
}

TEST(Verify, passes_what_is_right) {
  bench::VerifyOptions options;
  options.cases = {"blobs", "lattice_ties_2", "uniform_1x1_k1"};
  options.threads = {1, 3};
  const bench::VerifyReport report = bench::find_problem("kmeans").verify(options, {});
  EXPECT_TRUE(report.right());
  ASSERT_EQ(report.rows.size(), 2 * variants().size());
  EXPECT_EQ(report.rows.front().variant, "sequential");
  EXPECT_EQ(report.rows.front().cases, 2);  // the case in which ties decide is left out
  EXPECT_EQ(report.rows.front().cases_left_out, 1);
  EXPECT_EQ(report.rows.front().checks, 4);
}

}  // namespace
}  // namespace gradus::kmeans_detail
