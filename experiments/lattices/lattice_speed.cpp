// Compares the time of pair histograms in triclinic cells of many shapes with the time in a cube. All cells have the
// same volume, density and cutoff, and are timed in turn in one process.
//
// usage: lattice_speed POINTS REPEATS [VARIANT [THREADS]]
//
// For each shape, prints the median wall time of a call, the median CPU time with minimum and maximum, and the ratio of
// the median CPU time to the cube's median CPU time. Also prints the number of pairs in reach, and the time that the
// filter alone would need for these pairs. This time is computed from the filter's rate in a cube of 20,000 points
// (200,000 on a GPU).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "gradus/pair_histogram.hpp"

namespace {

constexpr double density = 0.1;
constexpr double width = 0.1;
constexpr std::int64_t bins = 100;

struct Shape {
  std::string name;
  std::vector<double> box;
  gradus::Matrix<double> points;
  std::vector<double> wall{};
  std::vector<double> busy{};
  std::uint64_t counted = 0;
  std::string variant{};
};

/// Scales the vectors so that their cell has the given volume, and fills the cell with uniformly random points.
Shape make_shape(std::string name, std::vector<double> vectors, double volume, std::int64_t points) {
  const double factor = std::cbrt(volume / gradus::pair_histogram_volume(vectors));
  for (double& number : vectors) number *= factor;
  Shape shape{std::move(name), vectors, gradus::Matrix<double>(points, 3)};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform;
  for (std::int64_t row = 0; row < points; ++row) {
    const double shares[3] = {uniform(random), uniform(random), uniform(random)};
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      double sum = 0;
      for (std::int64_t vector = 0; vector < 3; ++vector)
        sum += shares[vector] * vectors[static_cast<std::size_t>(3 * vector + axis)];
      shape.points(row, axis) = sum;
    }
  }
  return shape;
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

gradus::PairHistogramResult timed(Shape& shape, double bin_width, const gradus::Execution& execution) {
  gradus::PairHistogramOptions options;
  options.bins = {.bin_width = bin_width, .bins = bins};
  options.box = shape.box;
  const double start = seconds_now();
  const std::clock_t used = std::clock();
  gradus::PairHistogramResult result = gradus::pair_histogram(shape.points, options, execution);
  shape.busy.push_back(static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC);
  shape.wall.push_back(seconds_now() - start);
  return result;
}

/// Returns the best rate of the filter alone, in counted pairs per second. The rate is measured in a cube. The number
/// of bins is the same as in the comparison. The bins reach nearly half of the cube's side.
double filter_rate(gradus::Execution execution) {
  const bool on_gpu = execution.variant == "cuda_filter";
  const std::int64_t points = on_gpu ? 200'000 : 20'000;
  const double side = std::cbrt(static_cast<double>(points) / density);
  Shape cube = make_shape("", {1, 0, 0, 0, 1, 0, 0, 0, 1}, side * side * side, points);
  cube.box = std::vector<double>(3, cube.box.front());
  if (!on_gpu) execution.variant = "simd_filter";
  std::uint64_t pairs = 0;
  for (int repeat = 0; repeat < 5; ++repeat)
    pairs = timed(cube, 0.45 * side / static_cast<double>(bins), execution).pairs;
  return static_cast<double>(pairs) / *std::min_element(cube.busy.begin(), cube.busy.end());
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: lattice_speed POINTS REPEATS [VARIANT [THREADS]]\n");
    return 2;
  }
  const std::int64_t points = std::strtoll(words[1], nullptr, 10);
  const int repeats = static_cast<int>(std::strtol(words[2], nullptr, 10));
  gradus::Execution execution;
  if (count > 3) execution.variant = words[3];
  execution.threads = count > 4 ? static_cast<int>(std::strtol(words[4], nullptr, 10)) : 1;
  const double volume = static_cast<double>(points) / density;
  const double root = std::sqrt(0.75);
  std::vector<Shape> shapes;
  const auto add = [&](const char* name, std::vector<double> vectors) {
    shapes.push_back(make_shape(name, std::move(vectors), volume, points));
  };
  add("cube", {1, 0, 0, 0, 1, 0, 0, 0, 1});
  shapes.front().box = std::vector<double>(3, shapes.front().box.front());
  add("cube, by vectors", {1, 0, 0, 0, 1, 0, 0, 0, 1});
  add("rhombic dodecahedron", {1, 0, 0, 0.5, root, 0, 0.5, root / 3, std::sqrt(2.0 / 3)});
  add("truncated octahedron", {3, 0, 0, 1, std::sqrt(8.0), 0, -1, std::sqrt(2.0), std::sqrt(6.0)});
  add("hexagonal", {1, 0, 0, 0.5, root, 0, 0, 0, 1});
  add("long vectors", {10, 0, 0, 37, 10, 0, -55, 23, 10});
  add("flat", {10, 0, 0, 4, 9, 0, 1, 1, 2.2});
  add("elongated", {2, 0, 0, 0.8, 2, 0, 0.7, -0.9, 16});
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (Shape& shape : shapes) {
      const gradus::PairHistogramResult result = timed(shape, width, execution);
      shape.counted = 0;
      for (const std::uint64_t of_bin : result.counts) shape.counted += of_bin;
      shape.variant = result.report.variant;
    }
  const double rate = filter_rate(execution);
  std::printf("%lld points, density %g, %lld bins of %g, %d threads, medians of %d; filter alone %.2f G pairs/s\n",
              static_cast<long long>(points), density, static_cast<long long>(bins), width, execution.threads, repeats,
              rate * 1e-9);
  std::printf("%-22s %-12s %9s %9s %19s %7s %12s %9s %7s\n", "shape", "variant", "wall ms", "CPU ms", "CPU range",
              "ratio", "in reach", "floor ms", "share");
  for (const Shape& shape : shapes) {
    const auto [least, greatest] = std::minmax_element(shape.busy.begin(), shape.busy.end());
    const double floor = static_cast<double>(shape.counted) / rate;
    std::printf("%-22s %-12s %9.2f %9.2f %9.2f-%9.2f %7.2f %12llu %9.2f %6.0f%%\n", shape.name.c_str(),
                shape.variant.c_str(), 1e3 * middle(shape.wall), 1e3 * middle(shape.busy), 1e3 * *least,
                1e3 * *greatest, middle(shape.busy) / middle(shapes.front().busy),
                static_cast<unsigned long long>(shape.counted), 1e3 * floor, 100 * floor / middle(shape.busy));
  }
}
