// Tests triclinic cells of every shape, with exact integer arithmetic over every image that can be in reach. The
// reference knows the short vectors from which a lattice was made. It shares no code with the library.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cpu/forced_target.hpp"
#include "execution/machine.hpp"
#include "pair_histogram/fold.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tests/job.hpp"

namespace gradus {
namespace {

namespace room = pair_histogram_detail;

using Integers = std::array<std::int64_t, 3>;
using Vectors = std::array<Integers, 3>;

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::mt19937_64 bits_;
};

std::int64_t determinant(const Vectors& v) {
  return v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) - v[0][1] * (v[1][0] * v[2][2] - v[1][2] * v[2][0]) +
         v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
}

Integers cross(const Integers& a, const Integers& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

long double length(const Integers& v) {
  return std::sqrt(static_cast<long double>(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
}

long double least_height(const Vectors& v) {
  long double least = std::numeric_limits<long double>::infinity();
  for (std::size_t i = 0; i < 3; ++i)
    least = std::min(
        least, std::abs(static_cast<long double>(determinant(v))) / length(cross(v[(i + 1) % 3], v[(i + 2) % 3])));
  return least;
}

constexpr std::array<const char*, 8> shapes = {"any",       "along the axes", "face-centred", "hexagonal",
                                               "elongated", "flat",           "nearly flat",  "body-centred"};

Vectors short_vectors(Random& random, std::size_t shape) {
  const std::int64_t s = 4 * random.between(5, 30);
  const auto some = [&](std::int64_t most) { return random.between(-most, most); };
  switch (shape) {
    case 1: return {{{s, 0, 0}, {0, s + 4 * random.between(0, 9), 0}, {0, 0, s + 4 * random.between(0, 9)}}};
    case 2: return {{{0, s, s}, {s, 0, s}, {s, s, 0}}};
    case 3: return {{{2 * s, 0, 0}, {s, s * 1732 / 1000, 0}, {0, 0, s + some(9)}}};
    case 4: return {{{s, some(9), some(9)}, {some(9), s + 7, some(9)}, {some(s), some(s), s * random.between(10, 90)}}};
    case 5: return {{{s * 8, some(s), some(9)}, {some(s), s * 9, some(9)}, {some(9), some(9), s}}};
    case 6: return {{{s, s / 2, some(3)}, {s / 3, -s, some(3)}, {some(s), some(s), random.between(4, 9)}}};
    case 7: return {{{-s, s, s}, {s, -s, s}, {s, s, -s}}};
    default: return {{{some(90), some(90), some(90)}, {some(90), some(90), some(90)}, {some(90), some(90), some(90)}}};
  }
}

/// Returns long vectors that span the same lattice. Their order is arbitrary, and they are left- or right-handed.
Vectors skewed(Vectors v, Random& random) {
  constexpr std::int64_t most = 20000;
  for (int step = 0; step < 4; ++step) {
    const auto to = static_cast<std::size_t>(random.between(0, 2));
    const std::size_t from = (to + static_cast<std::size_t>(random.between(1, 2))) % 3;
    const std::int64_t factor = random.chance(70) ? random.between(-3, 3) : random.between(-60, 60);
    Integers sum = v[to];
    for (std::size_t axis = 0; axis < 3; ++axis) sum[axis] += factor * v[from][axis];
    if (std::ranges::all_of(sum, [](std::int64_t number) { return std::abs(number) <= most; })) v[to] = sum;
  }
  return v;
}

struct Lattice {
  std::string shape;
  Vectors short_ones{};
  Vectors given{};
};

Lattice make_lattice(Random& random) {
  for (;;) {
    const auto shape = static_cast<std::size_t>(random.between(0, shapes.size() - 1));
    Lattice lattice{shapes[shape], short_vectors(random, shape), {}};
    const std::int64_t volume = determinant(lattice.short_ones);
    if (volume == 0) continue;
    // This limit keeps the number of images small, because the reference visits all of them.
    long double longest = 0;
    for (const Integers& one : lattice.short_ones) longest = std::max(longest, length(one));
    if (shape == 0 && longest > 6 * least_height(lattice.short_ones)) continue;
    lattice.given = random.chance(60) ? skewed(lattice.short_ones, random) : lattice.short_ones;
    const long double lengths = length(lattice.given[0]) * length(lattice.given[1]) * length(lattice.given[2]);
    // The library requires vectors that are clearly not coplanar. This limit rejects all other vectors.
    if (std::abs(static_cast<long double>(volume)) < lengths * 0x1.01p-20L) continue;
    for (std::size_t i = 2; i > 0; --i)
      std::swap(lattice.given[i],
                lattice.given[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
    if (random.chance(30))
      for (std::int64_t& number : lattice.given[0]) number = -number;
    return lattice;
  }
}

/// Returns the least squared distance of all images, or -1 if no squared distance is below the square of `reach`.
/// Visits the images whose fractions differ by at most reach / height.
std::int64_t nearest(const Vectors& v, const Integers& apart, long double reach) {
  const auto volume = static_cast<long double>(determinant(v));
  std::array<std::int64_t, 3> low{};
  std::array<std::int64_t, 3> high{};
  for (std::size_t i = 0; i < 3; ++i) {
    const Integers face = cross(v[(i + 1) % 3], v[(i + 2) % 3]);
    const long double share =
        static_cast<long double>(apart[0] * face[0] + apart[1] * face[1] + apart[2] * face[2]) / volume;
    const long double most = reach * length(face) / std::abs(volume) + 1e-9L;
    low[i] = static_cast<std::int64_t>(std::ceil(share - most));
    high[i] = static_cast<std::int64_t>(std::floor(share + most));
  }
  std::int64_t least = -1;
  for (std::int64_t a = low[0]; a <= high[0]; ++a)
    for (std::int64_t b = low[1]; b <= high[1]; ++b)
      for (std::int64_t c = low[2]; c <= high[2]; ++c) {
        std::int64_t square = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const std::int64_t left = apart[axis] - a * v[0][axis] - b * v[1][axis] - c * v[2][axis];
          square += left * left;
        }
        if (least < 0 || square < least) least = square;
      }
  return least;
}

/// Returns points at corners, faces and quarters of the cell. Further points are in the box around the cell or, if
/// `unfolded` is true, far outside.
std::vector<Integers> make_points(const Vectors& v, std::int64_t count, bool unfolded, Random& random) {
  std::vector<Integers> points;
  for (std::int64_t row = 0; row < count; ++row) {
    Integers point{};
    const bool anywhere = random.chance(30);
    for (std::size_t vector = 0; vector < 3; ++vector) {
      const std::int64_t quarters = random.chance(50) ? random.between(0, 4) : random.between(0, 1) * 4;
      const std::int64_t per_mille = random.between(0, 1000);
      for (std::size_t axis = 0; axis < 3; ++axis)
        point[axis] += random.chance(anywhere ? 0 : 100) && row % 2 == 0 ? v[vector][axis] * quarters / 4
                                                                         : v[vector][axis] * per_mille / 1000;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::int64_t low = 0;
      std::int64_t high = 0;
      for (const Integers& one : v) (one[axis] < 0 ? low : high) += one[axis];
      if (anywhere) point[axis] = random.between(low, high);
      point[axis] = std::clamp(point[axis], low, high);
    }
    if (unfolded)
      for (const Integers& one : v) {
        const std::int64_t whole = random.between(-9, 9);
        for (std::size_t axis = 0; axis < 3; ++axis) point[axis] += whole * one[axis];
      }
    points.push_back(point);
  }
  return points;
}

template <class T>
void check(std::uint64_t number) {
  Random random(number);
  const Lattice lattice = make_lattice(random);
  const double scale = std::ldexp(1.0, static_cast<int>(random.between(-30, 30)));
  const bool unfolded = random.chance(40);
  const std::int64_t n = random.chance(2) ? 300 : random.between(2, 30);
  const std::vector<Integers> places = make_points(lattice.given, n, unfolded, random);

  PairHistogramOptions options;
  for (const Integers& one : lattice.given)
    for (const std::int64_t component : one) options.box.push_back(static_cast<double>(component) * scale);
  const std::string what = "lattice " + std::to_string(number) + ", " + lattice.shape + ", " +
                           std::to_string(sizeof(T)) + " bytes, " + std::to_string(n) + " points";
  const double limit = pair_histogram_complete_bins({.bin_width = scale}, options.box).cutoff;
  const auto half = [&](const Vectors& v) { return static_cast<double>(least_height(v)) / 2 * scale; };
  EXPECT_GE(limit, std::max(half(lattice.given), half(lattice.short_ones)) * (1 - 0x1p-9))
      << what << ": the reduced cell is the highest";

  const std::array<double, 4> shares = {1 - 0x1p-30, 0.9, 0.3, 0.1};
  options.bins.cutoff = limit * shares[static_cast<std::size_t>(random.between(0, 3))];
  options.bins.bins = random.between(1, 40);
  options.bins.bin_width = options.bins.cutoff / static_cast<double>(options.bins.bins);
  if (random.chance(20))
    options.bins.bin_width = std::max(scale, std::exp2(std::rint(std::log2(options.bins.bin_width))));
  Matrix<T> points(n, 3);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t axis = 0; axis < 3; ++axis)
      points(row, axis) = static_cast<T>(
          static_cast<double>(places[static_cast<std::size_t>(row)][static_cast<std::size_t>(axis)]) * scale);
  if (unfolded) points = room::fold<T>(points.view(), "points", options.box, {}, {});

  Execution execution;
  execution.variant = "sequential";
  const PairHistogramResult plain = pair_histogram(points, options, execution);
  std::vector<std::uint64_t> right(plain.counts.size());
  const auto reach = static_cast<long double>(options.bins.cutoff) / static_cast<long double>(scale);
  for (std::size_t first = 0; first < places.size(); ++first)
    for (std::size_t second = first + 1; second < places.size(); ++second) {
      Integers apart{};
      for (std::size_t axis = 0; axis < 3; ++axis) apart[axis] = places[first][axis] - places[second][axis];
      const std::int64_t square = nearest(lattice.short_ones, apart, reach);
      const double distance = std::sqrt(static_cast<double>(square) * scale * scale);
      if (square < 0 || distance >= options.bins.cutoff) continue;
      const double bin = std::floor(distance / options.bins.bin_width);
      if (bin < static_cast<double>(right.size())) ++right[static_cast<std::size_t>(bin)];
    }
  EXPECT_EQ(plain.counts, right) << what;

  room::Shape shape;
  shape.points = n;
  shape.bins = static_cast<std::int64_t>(right.size());
  shape.element_bytes = sizeof(T);
  shape.periodic = shape.triclinic = true;
  execution.threads = number % 32 < 2 ? 3 : 1;
  for (const room::Variant& variant : room::variants()) {
    if (variant.name == "sequential" || !variant.supports(shape, execution::this_machine())) continue;
    execution.variant = variant.name;
    EXPECT_EQ(pair_histogram(points, options, execution).counts, right) << what << " by " << variant.name;
  }
}

/// Compares the tree, and the cells that pass jobs to the tree, with integer arithmetic. There are enough points for
/// several nodes, and many of them are at fractions whose differences are exactly half a turn.
template <class T>
void check_tree(std::uint64_t number) {
  Random random(number);
  const Lattice lattice = make_lattice(random);
  const std::int64_t n = random.between(1024, 1300);
  const std::int64_t half = random.chance(30) ? n / 2 : 0;  // if not 0, pairs with the later points
  const std::vector<Integers> places = make_points(lattice.given, n, false, random);
  PairHistogramOptions options;
  for (const Integers& one : lattice.given)
    for (const std::int64_t component : one) options.box.push_back(static_cast<double>(component));
  const std::array<double, 4> shares = {1, 1 - 0x1p-30, 0.9, 0.4};
  const double share = shares[number % 4];
  options.bins.cutoff = share * pair_histogram_complete_bins({.bin_width = 1}, options.box).cutoff;
  options.bins.bins = random.between(1, 12);
  options.bins.bin_width = options.bins.cutoff / static_cast<double>(options.bins.bins);
  Matrix<T> points(n, 3);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t axis = 0; axis < 3; ++axis)
      points(row, axis) = static_cast<T>(places[static_cast<std::size_t>(row)][static_cast<std::size_t>(axis)]);
  const MatrixView<const T> all = std::as_const(points).view();
  const MatrixView<const T> first_set = half > 0 ? all.slice(0, half) : all;
  PairHistogramMemory<T> memory;
  if (half > 0) memory.others = all.slice(half, n - half);

  Execution execution;
  execution.variant = "sequential";
  const PairHistogramResult plain = pair_histogram(first_set, options, memory, execution);
  const std::string what = "tree " + std::to_string(number) + ", " + lattice.shape;
  // At exactly half of the least height, rounding decides which pairs are in reach.
  if (share < 1) {
    std::vector<std::uint64_t> right(plain.counts.size());
    for (std::int64_t first = 0; first < first_set.rows(); ++first)
      for (std::int64_t second = half > 0 ? half : first + 1; second < n; ++second) {
        Integers apart{};
        for (std::size_t axis = 0; axis < 3; ++axis)
          apart[axis] = places[static_cast<std::size_t>(first)][axis] - places[static_cast<std::size_t>(second)][axis];
        const std::int64_t square = nearest(lattice.short_ones, apart, static_cast<long double>(options.bins.cutoff));
        const double distance = std::sqrt(static_cast<double>(square));
        if (square < 0 || distance >= options.bins.cutoff) continue;
        const double bin = std::floor(distance / options.bins.bin_width);
        if (bin < static_cast<double>(right.size())) ++right[static_cast<std::size_t>(bin)];
      }
    EXPECT_EQ(plain.counts, right) << what;
  }
  for (const std::int64_t target : cpu::compiled_targets()) {
    const cpu::ForcedTarget forced(target);
    for (const char* const variant : {"simd_dual_tree", "simd_cells", "simd_filter"}) {
      execution.variant = variant;
      execution.threads = number % 8 < 2 ? 3 : 1;
      const PairHistogramResult ours = pair_histogram(first_set, options, memory, execution);
      EXPECT_EQ(ours.counts, plain.counts) << what << " by " << variant << ", target " << target;
      EXPECT_EQ(ours.beyond, plain.beyond) << what << " by " << variant << ", target " << target;
    }
  }
}

TEST(Lattice, TreesCountAsIntegersDo) {
  for (std::uint64_t number = 0; number < 40 && !testing::Test::HasFailure(); number += 2) check_tree<float>(number);
  for (std::uint64_t number = 1; number < 40 && !testing::Test::HasFailure(); number += 2) check_tree<double>(number);
}

/// Returns the name of the phase in which simd_cells prepared the points: "sort", or "build" if it used the tree.
std::string prepared_in(const std::vector<double>& box, double share, std::int64_t bins, std::int64_t n,
                        bool is_weighted = false) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  Matrix<double> points(n, 3);
  for (std::int64_t row = 0; row < n; ++row) {
    const std::array<double, 3> fractions = {uniform(random), uniform(random), uniform(random)};
    for (std::size_t axis = 0; axis < 3; ++axis)
      points(row, static_cast<std::int64_t>(axis)) =
          fractions[0] * box[axis] + fractions[1] * box[3 + axis] + fractions[2] * box[6 + axis];
  }
  points = room::fold<double>(points.view(), "points", box, {}, {});
  PairHistogramOptions options;
  options.box = box;
  options.bins.cutoff = share * pair_histogram_complete_bins({.bin_width = 1e-3}, box).cutoff;
  options.bins.bins = bins;
  options.bins.bin_width = options.bins.cutoff / static_cast<double>(bins);
  const std::vector<double> weights(static_cast<std::size_t>(n), 1);
  PairHistogramMemory<double> memory;
  if (is_weighted) memory.weights = weights;
  Execution execution{.variant = "simd_cells", .threads = 2};
  const PairHistogramResult ours = pair_histogram(points, options, memory, execution);
  execution.variant = "simd_brute_force";
  EXPECT_EQ(ours.counts, pair_histogram(points, options, memory, execution).counts) << n << ' ' << share << ' ' << bins;
  std::string name = "count";
  for (const Phase& phase : ours.report.phases)
    if (phase.name == "sort" || phase.name == "build") name = phase.name;
  return name;
}

TEST(Lattice, CellsPassJobsToTheTree) {
  const std::vector<double> compact = {1, 0, 0, 0.5, std::sqrt(0.75), 0, 0.5, std::sqrt(0.75) / 3, std::sqrt(2.0 / 3)};
  const std::vector<double> flat = {10, 0, 0, 4, 9, 0, 1, 1, 2.2};
  EXPECT_EQ(prepared_in(compact, 0.9, 1, 6000), "build");
  EXPECT_EQ(prepared_in(compact, 0.9, 10, 6000), "sort");
  EXPECT_EQ(prepared_in(compact, 1, 10, 6000), "count");
  EXPECT_EQ(prepared_in(compact, 1, 10, 30000), "build");
  EXPECT_EQ(prepared_in(flat, 1, 10, 6000), "build");
  EXPECT_EQ(prepared_in(flat, 1, 10, 6000, true), "count");
  EXPECT_EQ(prepared_in(flat, 0.9, 10, 6000), "sort");
}

TEST(Lattice, FloatsCountAsIntegersDo) {
  for (std::uint64_t number = 0; number < 2000 && !testing::Test::HasFailure(); number += 2) check<float>(number);
}

TEST(Lattice, DoublesCountAsIntegersDo) {
  for (std::uint64_t number = 1; number < 2000 && !testing::Test::HasFailure(); number += 2) check<double>(number);
}

TEST(Lattice, VectorsThatAreReducedStayAsTheyAre) {
  const double half = 0.5;
  const std::vector<std::vector<double>> cells = {
      {10, 0, 0, 0, 12, 0, 0, 0, 9},
      {9, 0, 0, 0, 0, 12, 0, 10, 0},
      {1, 0, 0, half, std::sqrt(0.75), 0, half, std::sqrt(0.75) / 3, std::sqrt(2.0 / 3)},  // a rhombic dodecahedron
      {3, 0, 0, 1, std::sqrt(8.0), 0, -1, std::sqrt(2.0), std::sqrt(6.0)},                 // a truncated octahedron
      {40, 0, 0, 40 * std::cos(std::acos(-1.0) / 3), 40 * std::sin(std::acos(-1.0) / 3), 0, 0, 0, 40}};
  for (const std::vector<double>& box : cells) {
    const room::Cell given(box);
    const room::Cell reduced = room::Cell::reduced(box);
    for (int vector = 0; vector < 3; ++vector)
      for (int axis = 0; axis < 3; ++axis)
        EXPECT_EQ(reduced.vectors[vector][axis], given.vectors[vector][axis]) << box[0] << ' ' << vector;
  }
}

TEST(Lattice, ReducedVectorsAreRoundedOnce) {
  // The expected numbers are the exact sums of these doubles, for example 0.7 + 1/3 - 10 * 0.1, rounded once.
  const room::Cell cell = room::Cell::reduced({0.1, 0, 0, 0.7 + 1.0 / 3, 11, 0, 0, 0, 7});
  EXPECT_EQ(cell.vectors[0][0], 0.1);
  EXPECT_EQ(cell.vectors[1][0], std::fma(-10.0, 0.1, 0.7 + 1.0 / 3));
  EXPECT_EQ(cell.vectors[1][1], 11);
}

TEST(Lattice, AlmostInAPlaneIsRefused) {
  EXPECT_THROW(pair_histogram_volume({1, 0, 0, 1, 1e-7, 0, 0, 0, 1}), UsageError);
  EXPECT_THROW(pair_histogram_volume({1, 0, 0, 0, 1, 0, 1, 1, 0}), UsageError);
  EXPECT_EQ(pair_histogram_volume({1, 0, 0, 4096, 1, 0, 0, 0, 1}), 1);
}

}  // namespace
}  // namespace gradus
