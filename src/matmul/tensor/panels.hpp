// Sizes of FP16 panels for the tensor cores, and error bounds of products computed from them. This file is plain C++,
// so that builds without CUDA can estimate memory and state the bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda/sizes.hpp"
#include "matmul/gpu/panels.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail::tensor {

inline constexpr int tile_depth = 64;  ///< length of a tile along k
inline constexpr int part_bytes = 2 * panel_lines * tile_depth;
/// Up to this k, every product is computed with the accuracy `strict`, even if another accuracy is requested. For such
/// small k, `strict` has the smallest error bound.
inline constexpr std::int64_t strict_depth = 16;

/// Returns the number of FP16 values per float. The first value, `high`, has the float's first 11 bits. The second
/// value, `low`, has the next 11 bits, multiplied by 2^11.
constexpr int parts_of(MatmulAccuracy accuracy) { return accuracy == MatmulAccuracy::split ? 2 : 1; }

/// Returns the panels of an operand. A tile stores its parts one after another.
inline Panels half_panels(std::int64_t matrices, std::int64_t lines, std::int64_t depth, int parts) {
  return {matrices, lines, depth, tile_depth, parts * part_bytes};
}

/// Returns the GPU memory for the panels, and for a lift, two extremes and a list entry per row of A and per column of
/// B.
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

/// Returns an error bound of the sum of k products, as a number of roundings. A rounding is an error of 2^-24 of the
/// sum of the magnitudes of the products. The bound has these parts:
///
/// * A tensor core multiplies FP16 exactly. It adds b products to the accumulator at a time; b is 4, 8 or 16, depending
///   on the generation. It aligns these products to the largest one, truncates below 24 bits, adds, and truncates
///   again. k products therefore lose at most 1.5 k 2^-23 times the bound of all partial sums (as in
///   kmeans/assign/tensor_limits.hpp). For the 64 products of a tile, this is 192 2^-24.
/// * Each addition of a tile's sum rounds once.
/// * The cross products, high times low and low times high, are together at most 2^-10 of the whole. The tensor core
///   alone accumulates them. The cross products therefore cost 1.5 (2 k) 2^-23 2^-10, which is less than k / 128
///   roundings.
/// * The representation of a factor by two parts omits up to 2^-23 of the factor. The omitted product of the low parts
///   is up to 2^-22 of the whole. Together these errors cost 8 roundings. The final operations cost another 8, which
///   gives the constant 16.
inline double sum_roundings(std::int64_t k) {
  const auto depth = static_cast<double>(k);
  return 16 + 3 * std::min(depth, double{tile_depth}) + std::ceil(depth / tile_depth) + std::ceil(depth / 128);
}

/// Returns the factor of matmul_error_bound() for results computed from panels.
inline double error_bound(std::int64_t k, int parts) {
  const double of_sums = error_of(sum_roundings(k), unit_roundoff<float>);
  return parts == 2 ? of_sums : 0x1p-10 + 0x1p-22 + (1 + 0x1p-9) * of_sums;
}

}  // namespace gradus::matmul_detail::tensor
