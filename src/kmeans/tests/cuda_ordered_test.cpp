// Tests two parts of cuda_ordered: the bound over a box, which makes the result exact, and the order of cells along a
// space-filling curve, which makes the variant fast.
#include "kmeans/persistent/ordered_limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/philox.hpp"
#include "kmeans/order/hilbert.hpp"

namespace gradus::kmeans_detail {
namespace {

/// A generator of uniform numbers in [-1, 1].
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : random_(seed) {}
  double operator()() { return 2 * random_.uniform(next_++) - 1; }

 private:
  core::Philox random_;
  std::uint64_t next_ = 0;
};

double canonical(const double* x, const double* c, int columns) {
  double sum = 0;
  for (int dim = 0; dim < columns; ++dim) sum = std::fma(x[dim] - c[dim], x[dim] - c[dim], sum);
  return sum;
}

template <int Columns>
struct Centroid {
  double at[Columns];
  float entry[Columns + 1];
};

template <int Columns>
Centroid<Columns> centroid_near(Uniform& uniform, const double* middle, double spread) {
  Centroid<Columns> result;
  double squares = 0;
  for (int dim = 0; dim < Columns; ++dim) {
    result.at[dim] = std::clamp(middle[dim] + spread * uniform(), -1.0, 1.0);
    result.entry[1 + dim] = -static_cast<float>(result.at[dim]);
    squares += static_cast<double>(result.entry[1 + dim]) * static_cast<double>(result.entry[1 + dim]);
  }
  result.entry[0] = static_cast<float>(0.5 * squares);
  return result;
}

template <int Columns>
void expect_ruled_out_is_farther() {
  Uniform uniform(Columns);
  int ruled_out = 0;
  int kept = 0;
  for (int trial = 0; trial < 200000; ++trial) {
    const double width = std::ldexp(1.0, -(trial % 24));
    double middle[Columns];
    double corner[Columns];  // a corner of the box, not rounded to float, like the original points
    Box<Columns> box;
    for (int dim = 0; dim < Columns; ++dim) {
      middle[dim] = (1 - width) * uniform();
      const double half = width * std::abs(uniform());
      corner[dim] = middle[dim] + (uniform() < 0 ? -half : half);
      const auto low = static_cast<float>(middle[dim] - half);
      const auto high = static_cast<float>(middle[dim] + half);
      box.middle[dim] = 0.5f * low + 0.5f * high;
      box.half[dim] = std::nextafter(std::max(high - box.middle[dim], box.middle[dim] - low), 2.0f);
    }
    // The two centroids are very close together. Therefore, only a tight bound can decide between them.
    const auto one = centroid_near<Columns>(uniform, middle, 4 * width);
    const auto other = centroid_near<Columns>(uniform, one.at, std::ldexp(1.0, -(trial % 29)));
    const bool out = least_gap(one.entry, other.entry, box) > 2 * filter_bound(Columns);
    ++(out ? ruled_out : kept);
    if (!out) continue;
    ASSERT_GT(canonical(corner, one.at, Columns), canonical(corner, other.at, Columns));
  }
  EXPECT_GT(ruled_out, 10000);
  EXPECT_GT(kept, 10000);
}

TEST(BoxBound, WhatIsRuledOutIsFarther) {
  expect_ruled_out_is_farther<1>();
  expect_ruled_out_is_farther<2>();
  expect_ruled_out_is_farther<3>();
  expect_ruled_out_is_farther<4>();
}

/// Checks that cells at consecutive places of the curve are neighbours in a coarse grid of `side`^Columns cells.
template <int Columns>
void expect_neighbours_follow(int side_bits) {
  const int side = 1 << side_bits;
  std::vector<std::pair<std::uint32_t, std::array<int, Columns>>> cells;
  for (int index = 0; index < 1 << (side_bits * Columns); ++index) {
    std::array<int, Columns> cell;
    std::uint32_t scaled[Columns];
    for (int dim = 0, rest = index; dim < Columns; ++dim, rest /= side) {
      cell[dim] = rest % side;
      scaled[dim] = static_cast<std::uint32_t>(cell[dim]) << (curve_bits<Columns> - side_bits);
    }
    cells.emplace_back(place_on_curve<Columns>(scaled), cell);
  }
  std::sort(cells.begin(), cells.end());
  for (std::size_t index = 1; index < cells.size(); ++index) {
    int steps = 0;
    for (int dim = 0; dim < Columns; ++dim) steps += std::abs(cells[index].second[dim] - cells[index - 1].second[dim]);
    ASSERT_EQ(steps, 1) << Columns << " columns, place " << index;
  }
}

TEST(HilbertCurve, NeighboursFollowEachOther) {
  expect_neighbours_follow<1>(10);
  expect_neighbours_follow<2>(5);
  expect_neighbours_follow<3>(4);
  expect_neighbours_follow<4>(3);
}

}  // namespace
}  // namespace gradus::kmeans_detail
