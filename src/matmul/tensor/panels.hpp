// Panels of FP16 for the tensor cores: how large they are, and how far a product made from them is from the exact one.
// Plain C++: also in builds without CUDA, for the estimate of memory and the stated bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda/sizes.hpp"
#include "matmul/gpu/panels.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail::tensor {

inline constexpr int tile_depth = 64;  ///< of k
inline constexpr int part_bytes = 2 * panel_lines * tile_depth;
/// Up to so many products in a sum all accuracies are `strict`, whose bound is the least there.
inline constexpr std::int64_t strict_depth = 16;

/// By which FP16 stands for a float: `high` its first 11 bits, `low` 2^11 times the rest, 11 bits of it.
constexpr int parts_of(MatmulAccuracy accuracy) { return accuracy == MatmulAccuracy::split ? 2 : 1; }

/// A tile has its parts behind each other.
inline Panels half_panels(std::int64_t matrices, std::int64_t lines, std::int64_t depth, int parts) {
  return {matrices, lines, depth, tile_depth, parts * part_bytes};
}

/// Of the GPU's memory: panels; for each row of A and column of B its lift, two extremes and a place in a list.
inline std::uint64_t bytes_of(const Shape& shape, int parts) {
  const Panels a = half_panels(shape.batches, shape.m, shape.k, parts);
  const Panels b = half_panels(shape.batches, shape.n, shape.k, parts);
  std::uint64_t bytes = cuda::part_bytes(2, sizeof(int));
  for (const Panels& panels : {a, b}) {
    const std::int64_t lines = panels.matrices * panels.lines;
    bytes += cuda::part_bytes(panels.bytes(), 1) + cuda::part_bytes(lines, sizeof(int)) +
             cuda::part_bytes(2 * lines, sizeof(unsigned int)) + cuda::part_bytes(lines, sizeof(std::int64_t));
  }
  return bytes;
}

/// Roundings of 2^-24 that the sums of k products cost, as a share of the sum of their magnitudes.
///
/// * A tensor core multiplies FP16 exactly. It aligns b products and what they are added to by the largest of them,
///   cuts off what lies below 24 bits, adds, and cuts off again: b = 4, 8 or 16 by generation. So k products lose at
///   most 1.5 k 2^-23 of the bound of all partial sums (as in kmeans/assign/tensor_limits.hpp): over the 64 of a tile
///   192 2^-24.
/// * The sums of the tiles are added with one rounding each.
/// * High times low, twice, amounts to at most 2^-10 of it all, and is added up by the tensor core throughout:
///   1.5 (2 k) 2^-23 2^-10, less than k / 128 roundings.
/// * Two parts leave 2^-23 of each factor away, and low times low is 2^-22: 8 roundings. The end costs the rest.
inline double sum_roundings(std::int64_t k) {
  const auto depth = static_cast<double>(k);
  return 16 + 3 * std::min(depth, double{tile_depth}) + std::ceil(depth / tile_depth) + std::ceil(depth / 128);
}

/// The factor of matmul_error_bound() for sums from panels.
inline double error_bound(std::int64_t k, int parts) {
  const double of_sums = error_of(sum_roundings(k), unit_roundoff<float>);
  return parts == 2 ? of_sums : 0x1p-10 + 0x1p-22 + (1 + 0x1p-9) * of_sums;
}

}  // namespace gradus::matmul_detail::tensor
