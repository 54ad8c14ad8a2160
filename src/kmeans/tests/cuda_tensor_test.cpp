// Compares the error bound of cuda_tensor's filter with the rounding errors of tensor cores, which are emulated in
// double.
#include "kmeans/assign/tensor_limits.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "core/philox.hpp"

namespace gradus::kmeans_detail {
namespace {

/// Rounds to FP16, with ties to even. The value must not overflow.
double to_half(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const double step = std::ldexp(1.0, std::max(exponent - 11, -24));
  return std::nearbyint(value / step) * step;
}

double cut_off(double value, double step) { return std::trunc(value / step) * step; }

/// Adds `products` to `sum` like a tensor core. The numbers of a block are aligned to the largest of them, and bits
/// below the 24th are truncated.
double accumulate(double sum, const std::vector<double>& products, std::size_t block) {
  for (std::size_t first = 0; first < products.size(); first += block) {
    double largest = std::abs(sum);
    for (std::size_t index = first; index < first + block; ++index)
      largest = std::max(largest, std::abs(products[index]));
    if (largest == 0) continue;
    const double step = std::ldexp(1.0, std::ilogb(largest) - 23);
    double total = cut_off(sum, step);
    for (std::size_t index = first; index < first + block; ++index) total += cut_off(products[index], step);
    sum = total == 0 ? 0 : cut_off(total, std::ldexp(1.0, std::ilogb(total) - 23));
  }
  return sum;
}

struct Row {
  std::vector<double> exact;
  std::vector<double> halves;
  TensorLengths lengths;
};

Row make_row(std::uint64_t seed, int d, int columns, double extent, bool one_sign) {
  const core::Philox random(seed, 3);
  Row row;
  double squares = 0;
  double rests = 0;
  for (int dim = 0; dim < columns; ++dim) {
    const double share = random.uniform(static_cast<std::uint64_t>(dim));
    row.exact.push_back(dim < d ? extent * (one_sign ? 0.5 + share / 2 : 2 * share - 1) : 0.0);
    row.halves.push_back(to_half(row.exact.back()));
    squares += row.exact.back() * row.exact.back();
    rests += (row.exact.back() - row.halves.back()) * (row.exact.back() - row.halves.back());
  }
  row.lengths = {static_cast<float>(std::sqrt(squares) * (1 + 1e-6)),
                 static_cast<float>(std::sqrt(rests) * (1 + 1e-6))};
  return row;
}

struct Scores {
  double exact;
  double filtered;
};

Scores scores(const Row& point, const Row& centroid, std::size_t block) {
  double half_square = 0;
  double exact = 0;
  std::vector<double> products;
  for (std::size_t dim = 0; dim < point.exact.size(); ++dim) {
    half_square += 0.5 * centroid.exact[dim] * centroid.exact[dim];
    exact -= point.exact[dim] * centroid.exact[dim];
    products.push_back(-point.halves[dim] * centroid.halves[dim]);
  }
  const float sum = static_cast<float>(half_square) + static_cast<float>(accumulate(0, products, block));
  const auto bits = std::bit_cast<std::uint32_t>(sum) | 31u;
  return {half_square + exact, static_cast<double>(std::bit_cast<float>(bits))};
}

TEST(cuda_tensor_bound, holds_for_every_block_of_products) {
  double closest = 0;
  for (const int d : {1, 2, 15, 16, 17, 64, 128, 300, 768, 2048})
    for (const double point_extent : {16000.0, 1.0, 1e-6})
      for (const double centroid_extent : {16000.0, 3.0, 1e-7})
        for (const bool one_sign : {false, true})
          for (std::uint64_t seed = 1; seed <= 8; ++seed)
            for (const std::size_t block : {4u, 8u, 16u}) {
              const int columns = static_cast<int>(tensor_padded(d, tensor_columns));
              const Row point = make_row(seed, d, columns, point_extent, one_sign);
              const Row centroid = make_row(seed + 100, d, columns, centroid_extent, one_sign);
              const Scores both = scores(point, centroid, block);
              const double bound = static_cast<double>(tensor_bound(point.lengths, centroid.lengths, columns));
              const double error = std::abs(both.exact - both.filtered);
              ASSERT_LE(error, bound) << "d " << d << ", extents " << point_extent << " and " << centroid_extent
                                      << ", blocks of " << block << ", seed " << seed;
              closest = std::max(closest, error / bound);
            }
  EXPECT_GT(closest, 0.05) << "a bound so far from any error would be met by errors in the imitation too";
}

TEST(cuda_tensor_bound, every_part_of_it_is_needed) {
  // The FP16 rounding error of one row may be parallel to the other row, which is the worst case.
  const TensorLengths coarse{1.0f, 0.01f};
  const TensorLengths fine{1.0f, 0.0f};
  EXPECT_GE(tensor_bound(coarse, fine, 16), 0.01f);
  EXPECT_GE(tensor_bound(fine, coarse, 16), 0.01f);
  // If a point is far from the middle, the rounding errors of the canonical chain are relative to its original
  // coordinates.
  EXPECT_GE(tensor_bound({1e6f, 0.0f}, {0.0f, 0.0f}, 16), 1e12f * 0x1p-50f);
  EXPECT_GT(tensor_bound({0.0f, 0.0f}, {0.0f, 0.0f}, 16), 0.0f);
}

TEST(cuda_tensor_bound, grows_with_every_length) {
  const TensorLengths x{3.0f, 1e-3f};
  const TensorLengths c{2.0f, 1e-3f};
  const float bound = tensor_bound(x, c, 128);
  EXPECT_GT(tensor_bound({3.1f, 1e-3f}, c, 128), bound);
  EXPECT_GT(tensor_bound({3.0f, 2e-3f}, c, 128), bound);
  EXPECT_GT(tensor_bound(x, {2.1f, 1e-3f}, 128), bound);
  EXPECT_GT(tensor_bound(x, {2.0f, 2e-3f}, 128), bound);
  EXPECT_GT(tensor_bound(x, c, 256), bound);
}

}  // namespace
}  // namespace gradus::kmeans_detail
