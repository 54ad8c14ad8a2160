// Compares the time of pair histograms in triclinic cells of many shapes with the time in a cube. All cells have the
// same volume, density and cutoff, and are timed in turn in one process.
//
// usage: lattice_speed POINTS REPEATS [VARIANT|- [THREADS [JOB]]]
//
// JOB is one or more of these words, separated by commas:
//   float     points in single precision
//   weights   a weight for each point
//   cross     pairs of the first half of the points with the second half
//   whole=N   N bins, which reach as far as the cell permits, in place of 100 bins of 0.1
//   cut=N     the same with bins 1.03 times as wide, the last of which is cut off
//   share=S   with whole or cut: the bins reach S of this distance
//   few       only the cube, as a box and by its vectors
//   same=N    N bins up to 0.499 of the least height of all shapes
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
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/pair_histogram.hpp"

namespace {

constexpr double density = 0.1;

struct Job {
  bool is_float = false;
  bool is_weighted = false;
  bool is_cross = false;
  std::int64_t bins = 100;
  double width = 0.1;    ///< 0: the bins reach as far as the cell permits
  double share = 1;      ///< the reach as a share of half of the least height
  bool is_cut = false;   ///< the last bin is cut off
  bool is_few = false;   ///< only two shapes
  bool is_same = false;  ///< the bins reach as far as all cells permit
};

struct Shape {
  std::string name;
  std::vector<double> box;
  gradus::Matrix<double> points;
  gradus::Matrix<float> singles{};
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

template <class T>
gradus::PairHistogramResult count(const gradus::Matrix<T>& points, const gradus::PairHistogramOptions& options,
                                  const Job& job, const gradus::Execution& execution) {
  const std::int64_t half = job.is_cross ? points.rows() / 2 : points.rows();
  const std::vector<T> weights(static_cast<std::size_t>(points.rows()), T(1.5));
  gradus::PairHistogramMemory<T> memory;
  if (job.is_cross) memory.others = {points.row(half), points.rows() - half, points.columns()};
  if (job.is_weighted) memory.weights = {weights.data(), half};
  if (job.is_weighted && job.is_cross) memory.other_weights = {weights.data(), points.rows() - half};
  return gradus::pair_histogram(gradus::MatrixView<const T>(points.row(0), half, points.columns()), options, memory,
                                execution);
}

/// Returns half of the least height.
double half_of(const std::vector<double>& box) {
  gradus::PairHistogramBins bins;
  bins.bin_width = 1e-3;
  return gradus::pair_histogram_complete_bins(bins, box).cutoff;
}

gradus::PairHistogramResult timed(Shape& shape, const Job& job, const gradus::Execution& execution) {
  gradus::PairHistogramOptions options;
  options.box = shape.box;
  options.bins = {.bin_width = job.width, .bins = job.bins};
  if (job.width == 0) {
    const double reach = job.share * half_of(shape.box);
    double width = reach / static_cast<double>(job.bins);
    while (width * static_cast<double>(job.bins) > reach) width = std::nextafter(width, 0.0);
    options.bins.bin_width = width;
    if (job.is_cut) {
      options.bins = {.bin_width = 1.03 * width, .cutoff = reach};
      options.bins = gradus::pair_histogram_complete_bins(options);
    }
  }
  const double start = seconds_now();
  const std::clock_t used = std::clock();
  gradus::PairHistogramResult result =
      job.is_float ? count(shape.singles, options, job, execution) : count(shape.points, options, job, execution);
  shape.busy.push_back(static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC);
  shape.wall.push_back(seconds_now() - start);
  return result;
}

/// Returns the best rate of the filter alone, in counted pairs per second. The rate is measured in a cube. The number
/// of bins is the same as in the comparison. The bins reach nearly half of the cube's side.
double filter_rate(gradus::Execution execution, const Job& job) {
  const bool on_gpu = execution.variant == "cuda_filter";
  const std::int64_t points = on_gpu ? 200'000 : 20'000;
  const double side = std::cbrt(static_cast<double>(points) / density);
  Shape cube = make_shape("", {1, 0, 0, 0, 1, 0, 0, 0, 1}, side * side * side, points);
  cube.box = std::vector<double>(3, cube.box.front());
  if (!on_gpu) execution.variant = "simd_filter";
  std::uint64_t pairs = 0;
  for (int repeat = 0; repeat < 5; ++repeat)
    pairs = timed(cube, {.bins = job.bins, .width = 0.45 * side / static_cast<double>(job.bins)}, execution).pairs;
  return static_cast<double>(pairs) / *std::min_element(cube.busy.begin(), cube.busy.end());
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: lattice_speed POINTS REPEATS [VARIANT|- [THREADS [JOB]]]\n");
    return 2;
  }
  const std::int64_t points = std::strtoll(words[1], nullptr, 10);
  const int repeats = static_cast<int>(std::strtol(words[2], nullptr, 10));
  gradus::Execution execution;
  if (count > 3 && std::string(words[3]) != "-") execution.variant = words[3];
  execution.threads = count > 4 ? static_cast<int>(std::strtol(words[4], nullptr, 10)) : 1;
  Job job;
  std::stringstream list(count > 5 ? words[5] : "");
  for (std::string word; std::getline(list, word, ',');) {
    const auto bins = [&] { return std::strtoll(word.c_str() + word.find('=') + 1, nullptr, 10); };
    if (word == "float") job.is_float = true;
    else if (word == "weights") job.is_weighted = true;
    else if (word == "cross") job.is_cross = true;
    else if (word.starts_with("whole=")) job.bins = bins(), job.width = 0;
    else if (word.starts_with("cut=")) job.bins = bins(), job.width = 0, job.is_cut = true;
    else if (word.starts_with("share=")) job.share = std::strtod(word.c_str() + 6, nullptr);
    else if (word == "few") job.is_few = true;
    else if (word.starts_with("same=")) job.bins = bins(), job.is_same = true;
    else return std::fprintf(stderr, "unknown word: %s\n", word.c_str()), 2;
  }
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
  if (job.is_few) shapes.erase(shapes.begin() + 2, shapes.end());
  for (Shape& shape : shapes) {
    shape.singles = gradus::Matrix<float>(points, 3);
    std::copy_n(shape.points.row(0), 3 * points, shape.singles.row(0));
  }
  if (job.is_same) {
    double reach = std::numeric_limits<double>::infinity();
    for (const Shape& shape : shapes) reach = std::min(reach, 2 * 0.499 * half_of(shape.box));
    job.width = reach / static_cast<double>(job.bins);
  }
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (Shape& shape : shapes) {
      const gradus::PairHistogramResult result = timed(shape, job, execution);
      shape.counted = 0;
      for (const std::uint64_t of_bin : result.counts) shape.counted += of_bin;
      shape.variant = result.report.variant;
    }
  const double rate = filter_rate(execution, job);
  std::printf("%lld points, %s, density %g, %lld bins of %g, %d threads, medians of %d; filter alone %.2f G pairs/s\n",
              static_cast<long long>(points), count > 5 ? words[5] : "double", density,
              static_cast<long long>(job.bins), job.width, execution.threads, repeats, rate * 1e-9);
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
