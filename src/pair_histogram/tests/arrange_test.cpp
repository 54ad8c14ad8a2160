// Tests open directions, dimensions and folding. The expected results are computed from the nearest of many images.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/ladder.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus {
namespace {

namespace room = pair_histogram_detail;

using Vector = std::array<double, 3>;
using Vectors = std::vector<Vector>;

/// Returns random points whose fractions of the vectors are between `low` and `high`. Coordinates are rounded to
/// multiples of 1/4096, which float represents exactly.
template <class T>
Matrix<T> points_in(const Vectors& vectors, std::int64_t count, double low = 0, double high = 1, unsigned seed = 1) {
  std::mt19937_64 numbers(seed);
  Matrix<T> points(count, 3);
  for (std::int64_t row = 0; row < count; ++row) {
    Vector place{};
    for (const Vector& vector : vectors) {
      const double share = low + (high - low) * std::ldexp(static_cast<double>(numbers() >> 11), -53);
      for (std::size_t axis = 0; axis < 3; ++axis) place[axis] += share * vector[axis];
    }
    for (std::size_t axis = 0; axis < 3; ++axis)
      points(row, static_cast<std::int64_t>(axis)) = static_cast<T>(std::rint(place[axis] * 4096) / 4096);
  }
  return points;
}

/// Counts pairs in bins of equal width, by their distance in the given columns. Uses the nearest image among shifts by
/// -within to +within times each vector.
template <class T>
std::vector<std::uint64_t> counts_of(const Matrix<T>& points, const Vectors& vectors, double width, std::size_t bins,
                                     const std::string& columns = "xyz", int within = 3) {
  std::vector<std::uint64_t> counts(bins);
  const auto nearest = [&](std::int64_t first, std::int64_t second) {
    double least = std::numeric_limits<double>::infinity();
    std::vector<int> times(vectors.size(), -within);
    for (;;) {
      double square = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (columns.find("xyz"[axis]) == std::string::npos) continue;
        const auto column = static_cast<std::int64_t>(axis);
        double apart = static_cast<double>(points(first, column)) - static_cast<double>(points(second, column));
        for (std::size_t vector = 0; vector < vectors.size(); ++vector) apart += times[vector] * vectors[vector][axis];
        square += apart * apart;
      }
      least = std::min(least, square);
      std::size_t place = 0;
      while (place < times.size() && times[place] == within) times[place++] = -within;
      if (place == times.size()) return std::sqrt(least);
      ++times[place];
    }
  };
  for (std::int64_t first = 0; first < points.rows(); ++first)
    for (std::int64_t second = first + 1; second < points.rows(); ++second)
      if (const auto bin = static_cast<std::size_t>(nearest(first, second) / width); bin < bins) ++counts[bin];
  return counts;
}

void expect_error(const std::string& says, const std::function<void()>& act) {
  try {
    act();
    ADD_FAILURE() << "nothing was thrown: " << says;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

constexpr Vector a{10, 0, 0};
constexpr Vector b{4, 9, 0};
constexpr Vector c{-2, 3, 12};

struct Case {
  std::vector<double> box;
  std::string periodic;
  Vectors vectors;
};

std::vector<Case> cases() {
  return {{{10, 11, 12}, "xyz", {{10, 0, 0}, {0, 11, 0}, {0, 0, 12}}},
          {{10, 11, 12}, "xz", {{10, 0, 0}, {0, 0, 12}}},
          {{10, 11, 12}, "y", {{0, 11, 0}}},
          {{10, -1, 12}, "zx", {{10, 0, 0}, {0, 0, 12}}},  // the vectors of open directions do not matter
          {{10, 11, 12}, "none", {}},
          {{10, 0, 0, 4, 9, 0, -2, 3, 12}, "xyz", {a, b, c}},
          {{10, 0, 0, 4, 9, 0, -2, 3, 12}, "xy", {a, b}},
          {{10, 0, 0, 4, 9, 0, 0, 0, 0}, "xy", {a, b}},
          {{10, 0, 0, 4, 9, 0, -2, 3, 12}, "yz", {b, c}},
          {{10, 0, 0, 4, 9, 0, -2, 3, 12}, "xz", {a, c}},
          {{10, 0, 0, 4, 9, 0, -2, 3, 12}, "z", {c}},
          {{10, 0, 0, 4, 9, 0, -2, 3, 12}, "none", {}}};
}

template <class T>
class PairHistogramArrange : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(PairHistogramArrange, Elements);

TYPED_TEST(PairHistogramArrange, EveryVariantCountsInBoxesWithOpenDirections) {
  using T = TypeParam;
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.periodic + " of " + std::to_string(one.box.size()));
    const Matrix<T> points = points_in<T>({a, b, c}, 90);
    PairHistogramOptions options{.bins = {.bin_width = 1, .bins = 4}, .box = one.box, .periodic = one.periodic};
    options.fold = true;
    if (one.periodic == "none") options.fold = false;
    const std::vector<std::uint64_t> right = counts_of(points, one.vectors, 1, 4);
    int ran = 0;
    for (const room::Variant& variant : room::variants()) {
      try {
        const PairHistogramResult result =
            pair_histogram(points, options, {.variant = std::string(variant.name), .threads = 2});
        EXPECT_EQ(result.counts, right) << variant.name;
        ++ran;
      } catch (const UnsupportedError&) {
      }
    }
    EXPECT_GT(ran, 2);
  }
}

TYPED_TEST(PairHistogramArrange, FoldedPointsOthersAndWeightsCountAsBefore) {
  using T = TypeParam;
  for (const Case& one : cases()) {
    if (one.periodic == "none") continue;
    SCOPED_TRACE(one.periodic + " of " + std::to_string(one.box.size()));
    const Matrix<T> away = points_in<T>({a, b, c}, 80, -0.75, 1.5, 2);
    PairHistogramOptions options{.bins = {.bin_width = 1, .bins = 4}, .box = one.box, .periodic = one.periodic};
    options.fold = true;
    EXPECT_EQ(pair_histogram(away, options).counts, counts_of(away, one.vectors, 1, 4, "xyz", 5));
    const MatrixView<const T> view = away;
    PairHistogramMemory<T> memory;
    memory.others = view.slice(30, 50);
    const std::vector<T> weights(80, 2);
    memory.weights = {weights.data(), 30};
    memory.other_weights = {weights.data(), 50};
    const PairHistogramResult cross = pair_histogram(view.slice(0, 30), options, memory);
    const PairHistogramResult all = pair_histogram(away, options);
    const PairHistogramResult first = pair_histogram(view.slice(0, 30), options);
    const PairHistogramResult second = pair_histogram(view.slice(30, 50), options);
    for (std::size_t bin = 0; bin < 4; ++bin) {
      EXPECT_EQ(cross.counts[bin], all.counts[bin] - first.counts[bin] - second.counts[bin]);
      EXPECT_EQ(cross.weighted[bin], 4.0 * static_cast<double>(cross.counts[bin]));
    }
  }
}

TYPED_TEST(PairHistogramArrange, DistancesInSomeColumns) {
  using T = TypeParam;
  const Matrix<T> points = points_in<T>({a, {0, 11, 0}, {0, 0, 12}}, 80);
  const Vectors lengths{{10, 0, 0}, {0, 11, 0}, {0, 0, 12}};
  for (const std::string columns : {"x", "y", "z", "xy", "zx", "yz", "xyz"}) {
    SCOPED_TRACE(columns);
    PairHistogramOptions options{.bins = {.bin_width = 0.5, .bins = 8}, .dimensions = columns};
    EXPECT_EQ(pair_histogram(points, options).counts, counts_of(points, {}, 0.5, 8, columns));
    options.box = {10, 11, 12};
    options.box_origin = {0, 0, 0};
    EXPECT_EQ(pair_histogram(points, options).counts, counts_of(points, lengths, 0.5, 8, columns, 1));
    options.box = {10, 0, 0, 0, 11, 0, 0, 0, 12};
    EXPECT_EQ(pair_histogram(points, options).counts, counts_of(points, lengths, 0.5, 8, columns, 1));
    EXPECT_GE(pair_histogram_memory({.points = 80, .element_bytes = sizeof(T)}, options).host, 80 * columns.size());
  }
  PairHistogramOptions sheared{
      .bins = {.bin_width = 0.5, .bins = 8}, .box = {10, 0, 0, 4, 9, 0, 0, 0, 1}, .dimensions = "xy"};
  sheared.fold = true;
  EXPECT_EQ(pair_histogram(points, sheared).counts, counts_of(points, {a, b}, 0.5, 8, "xy"));
  sheared.bins.bins = 7;
  sheared.box = {10, 0, 4, 0, 1, 0, 3, 0, 9};
  sheared.dimensions = "xz";
  EXPECT_EQ(pair_histogram(points, sheared).counts, counts_of(points, {{10, 0, 4}, {3, 0, 9}}, 0.5, 7, "xz"));
  sheared.periodic = "x";
  EXPECT_EQ(pair_histogram(points, sheared).counts, counts_of(points, {{10, 0, 4}}, 0.5, 7, "xz"));
}

/// Calls act(box, periodic) with the three vectors in each order. The first two vectors repeat.
void in_each_order(const Vectors& vectors,
                   const std::function<void(const std::vector<double>&, const std::string&)>& act) {
  std::array<std::size_t, 3> order{0, 1, 2};
  do {
    std::vector<double> box;
    std::string letters;
    for (std::size_t place = 0; place < 3; ++place) {
      box.insert(box.end(), vectors[order[place]].begin(), vectors[order[place]].end());
      if (order[place] < 2) letters += "xyz"[place];
    }
    SCOPED_TRACE(testing::PrintToString(box));
    act(box, letters);
  } while (std::next_permutation(order.begin(), order.end()));
}

TYPED_TEST(PairHistogramArrange, DimensionsOfACellInAnyOrderOfItsVectors) {
  using T = TypeParam;
  for (const Vectors& plane : {Vectors{a, b}, Vectors{{10, 0, 0}, {0, 9, 0}}}) {
    const Matrix<T> points = points_in<T>({plane[0], plane[1], {0, 0, 12}}, 80);
    const std::vector<std::uint64_t> right = counts_of(points, plane, 0.5, 8, "xy", 2);
    PairHistogramOptions options{.bins = {.bin_width = 0.5, .bins = 8}, .dimensions = "xy"};
    options.fold = true;
    in_each_order({plane[0], plane[1], {0, 0, 12}}, [&](const std::vector<double>& box, const std::string&) {
      options.box = box;
      EXPECT_EQ(pair_histogram(points, options).counts, right);
      EXPECT_EQ(pair_histogram_volume(box, "xyz", "xy"), 90);
      EXPECT_EQ(pair_histogram_complete_bins({.bins = {.bin_width = 0.5}, .box = box, .dimensions = "z"}).cutoff, 6);
    });
    for (const Vector& open : {Vector{-1, 3, 11}, Vector{3, 1, 0}, Vector{}})
      in_each_order({plane[0], plane[1], open}, [&](const std::vector<double>& box, const std::string& periodic) {
        options.box = box;
        options.periodic = periodic;
        EXPECT_EQ(pair_histogram(points, options).counts, right);
        EXPECT_EQ(pair_histogram_volume(box, periodic, "xy"), 90);
      });
    options.periodic = "xyz";
  }
}

TEST(PairHistogramDirections, FlatPointsHaveNoShells) {
  Matrix<double> points = points_in<double>({a, {0, 11, 0}, {0, 0, 12}}, 50);
  for (std::int64_t row = 0; row < points.rows(); ++row) points(row, 1) = 0.25;
  PairHistogramOptions options{.bins = {.bin_width = 0.25, .bins = 2}, .box = {10, 1, 12}};
  const PairHistogramResult flat = pair_histogram(points, options);
  EXPECT_EQ(flat.flat, "y");
  expect_error("the same y", [&] { pair_histogram_radial_distribution(flat, 3, 50, 0, 120); });
  EXPECT_NO_THROW(pair_histogram_radial_distribution(flat, 2, 50, 0, 120));
  PairHistogramResult sum = flat;
  pair_histogram_accumulate(sum, flat);
  EXPECT_EQ(sum.flat, "y");
  options.dimensions = "xyz";
  EXPECT_EQ(pair_histogram(points, options).flat, "");
  options.dimensions = "xz";
  EXPECT_EQ(pair_histogram(points, options).flat, "");
  options.dimensions = "";
  // the shortest length is more than half of every other length, so the points are not a layer
  options.box = {10, 6, 12};
  EXPECT_EQ(pair_histogram(points, options).flat, "");
  options.box = {};
  EXPECT_EQ(pair_histogram(points, options).flat, "");
}

TEST(PairHistogramDirections, BinsAndVolumesFollowFromThem) {
  const auto reach = [](std::vector<double> box, const std::string& periodic, const std::string& dimensions) {
    return pair_histogram_complete_bins(
               {.bins = {.bin_width = 0.5}, .box = std::move(box), .periodic = periodic, .dimensions = dimensions})
        .cutoff;
  };
  EXPECT_EQ(reach({10, 6, 8}, "xyz", ""), 3);
  EXPECT_EQ(reach({10, 6, 8}, "xz", ""), 4);
  EXPECT_EQ(reach({10, 6, 8}, "xyz", "xz"), 4);
  EXPECT_EQ(reach({10, 8}, "xyz", "xz"), 4);  // the box has lengths only for the measured columns
  EXPECT_EQ(reach({10, 0, 0, 3, 8, 0, 1, 2, 4}, "x", ""), 5);
  EXPECT_EQ(reach({10, 0, 0, 0, 8, 0, 1, 2, 4}, "xy", ""), 4);
  EXPECT_EQ(pair_histogram_volume({10, 6, 8}, "xyz", "xz"), 80);
  EXPECT_EQ(pair_histogram_volume({10, 6, 8}, "xz", "xz"), 80);
  EXPECT_EQ(pair_histogram_volume({10, 8}, "xyz", "xz"), 80);
  EXPECT_EQ(pair_histogram_volume({10, 0, 0, 3, 8, 0, 0, 0, 4}, "xyz", "xy"), 80);
  EXPECT_EQ(pair_histogram_volume({10, 0, 0, 3, 8, 0, 1, 2, 4}), 320);
  expect_error("periodic in xz only", [] { pair_histogram_volume({10, 6, 8}, "xz"); });
  expect_error("open space", [] { pair_histogram_volume({}, "xyz", "xy"); });
  expect_error("neither within them nor perpendicular", [] {
    pair_histogram_volume({10, 0, 0, 3, 8, 0, 1, 2, 4}, "xyz", "xy");
  });
}

TEST(PairHistogramDirections, ImpossibleOnesAreRefused) {
  const Matrix<double> points = points_in<double>({a, b, c}, 5);
  const auto refused = [&](const std::string& says, PairHistogramOptions options) {
    options.bins = {.bin_width = 1, .bins = 1};
    expect_error(says, [&] { pair_histogram(points, options); });
  };
  for (const std::string text : {"", "xx", "w", "xyzz", "X"})
    refused("periodic: '" + text + "' must be some of the letters", {.box = {9, 9, 9}, .periodic = text});
  for (const std::string text : {"xx", "w", "none"})
    refused("dimensions: '" + text + "' must be some of the letters", {.dimensions = text});
  refused("no box that could repeat", {.periodic = "xy"});
  refused("no periodic box", {.fold = true});
  refused("repeats in no direction", {.box = {9, 9, 9}, .periodic = "none", .fold = true});
  refused("past half", {.box = {1.5, 90, 90}, .periodic = "xy"});
  refused("vector 1 of the cell", {.box = {10, 0, 0, 2, 9, 1, -1, 3, 11}, .periodic = "xy", .dimensions = "xy"});
  refused("3 vectors of the cell", {.box = {10, 0, 0, 2, 9, 0, 1, 3, 0}, .dimensions = "xy"});
  refused("4 lengths", {.box = {9, 9, 9, 9}, .periodic = "xy"});
  refused("nearly in a plane", {.box = {9, 0, 0, 18, 1e-6, 0, 0, 0, 9}, .periodic = "xy"});
  Matrix<double> plane(2, 2);
  expect_error("a column that the points do not have", [&] {
    pair_histogram(plane, PairHistogramOptions{.bins = {.bin_width = 1, .bins = 1}, .dimensions = "xz"});
  });
}

}  // namespace
}  // namespace gradus
