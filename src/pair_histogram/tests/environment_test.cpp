// Tests that the caller's floating-point environment does not affect results, and that calls do not change it.
#include "tests/float_environments.hpp"

#include <gtest/gtest.h>

#include "gradus/pair_histogram.hpp"

namespace gradus {
namespace {

template <class T>
Matrix<T> points_of(std::int64_t rows, T unit) {
  Matrix<T> points(rows, 3);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < 3; ++column)
      points(row, column) = static_cast<T>((row * (7919 + 2 * column)) % 499) * T(0.1) * unit;
  return points;
}

template <class T>
std::string bytes_of_counts(const Matrix<T>& points, double width, const Execution& execution) {
  PairHistogramOptions options;
  options.bins.bin_width = width;
  options.bins.bins = 40;
  const PairHistogramResult found = pair_histogram(points, options, execution);
  return tests::bytes_of(found.counts.data(), std::ssize(found.counts)) +
         tests::bytes_of(found.edges.data(), std::ssize(found.edges)) + tests::bytes_of(&found.beyond, 1);
}

TEST(Environment, ChangesNoCount) {
  const Matrix<float> single = points_of<float>(600, 1);
  const Matrix<float> tiny = points_of<float>(600, 1e-41F);
  const Matrix<double> twice = points_of<double>(600, 1);
  tests::expect_same_in_all_environments("pair_histogram", [&](const Execution& execution) {
    return bytes_of_counts(single, 1, execution) + bytes_of_counts(tiny, 1e-41, execution) +
           bytes_of_counts(twice, 0.7, execution);
  });
}

TEST(Environment, ChangesNoHelper) {
  const Matrix<double> points = points_of<double>(200, 1);
  PairHistogramOptions options;
  options.bins.bin_width = 0.1;
  options.bins.bins = 30;
  const PairHistogramResult histogram = pair_histogram(points, options);
  tests::expect_same_in_all_environments("pair_histogram", [&](const Execution&) {
    const auto around = pair_histogram_radial_distribution(histogram, 3, 200, 0, 1e5, 1);
    const double volume = pair_histogram_volume({0.1, 0.3, 0.7});
    const PairHistogramBins bins = pair_histogram_complete_bins({.bin_width = 0.1, .cutoff = 0.3}, {});
    return tests::bytes_of(around.g.data(), std::ssize(around.g)) + tests::bytes_of(&volume, 1) +
           std::to_string(bins.bins);
  });
}

TEST(Environment, IsKeptByACallThatThrows) {
  Matrix<float> points(10, 3);
  points(3, 1) = std::numeric_limits<float>::quiet_NaN();
  PairHistogramOptions options;
  options.bins.bin_width = 1;
  options.bins.bins = 4;
  tests::expect_environment_kept_on_error(
      [&] { pair_histogram(points, options, {.device = Device::cpu, .threads = 2}); });
}

}  // namespace
}  // namespace gradus
