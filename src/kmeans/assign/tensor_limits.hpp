// The error bound of cuda_tensor's filter, and the widths of its tiles: plain C++, so that both can be tested without a
// GPU.
#pragma once

#include <cstdint>

#include "core/host_device.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// The kernels count threads, 32 for each cluster, and the elements of the rows of a tile in 32 bits.
inline constexpr std::int64_t cuda_tensor_columns = std::int64_t{1} << 24;   ///< at most
inline constexpr std::int64_t cuda_tensor_clusters = std::int64_t{1} << 26;  ///< at most

inline constexpr int tensor_columns = 16;       ///< a step of the matrix instruction: rows are padded to a multiple
inline constexpr int tensor_chunk = 64;         ///< columns of a tile in shared memory: 128 bytes, all banks
inline constexpr int tensor_clusters = 128;     ///< clusters of a tile
inline constexpr int tensor_exponent = 14;      ///< scaled coordinates stay below 2^14; FP16 ends at 65504
inline constexpr float tensor_nowhere = 1e30f;  ///< half square of the clusters that fill up the last tile
inline constexpr int tensor_resident_columns = 256;  ///< columns up to which a tile of points stays in shared memory
inline constexpr int tensor_pipeline_columns = 128;  ///< the same on Hopper, where two tiles do

constexpr std::int64_t tensor_padded(std::int64_t count, std::int64_t step) { return (count + step - 1) / step * step; }

inline constexpr int tensor_resident_stages = 3;  ///< tiles of clusters under way beside resident points
inline constexpr int tensor_streamed_stages = 4;  ///< tiles of clusters and of twice as many points

/// Bytes of shared memory of a block.
constexpr std::uint64_t cuda_tensor_shared(std::int64_t columns) {
  constexpr std::uint64_t tile = std::uint64_t{2} * tensor_chunk * tensor_clusters;
  const std::int64_t padded = tensor_padded(columns, tensor_columns);
  if (padded > tensor_resident_columns) return 3 * tile * tensor_streamed_stages;
  return (static_cast<std::uint64_t>(tensor_padded(padded, tensor_chunk)) / tensor_chunk + tensor_resident_stages) *
         tile;
}

inline constexpr int tensor_list_words = 8;  ///< lists of points, four bytes for each
inline constexpr int tensor_candidates = 8;  ///< clusters noted for a doubtful point

/// Bytes on the GPU beside points and weights. On Hopper; elsewhere there are no scores beside the candidates.
constexpr std::uint64_t cuda_tensor_bytes(const Shape& shape) {
  const auto n = static_cast<std::uint64_t>(shape.points);
  const auto d = static_cast<std::uint64_t>(tensor_padded(shape.dimensions, tensor_columns));
  const auto k = static_cast<std::uint64_t>(tensor_padded(shape.clusters, std::int64_t{2} * tensor_clusters));
  const auto area = static_cast<std::uint64_t>(shape.clusters * shape.dimensions * shape.element_bytes);
  const int possible = d > tensor_pipeline_columns ? 2 * tensor_candidates : tensor_candidates;
  return n * (2 * d + 8 + std::uint64_t{4} * (tensor_list_words + tensor_candidates) + std::uint64_t{8} * possible) +
         n / 32 + 4096 + k * (2 * d + 12 + 8 + 16) + 2 * area + 8 * k * (2 * d + 3) + 28 * d;
}

/// What is kept of a row beside its FP16 copy, both rounded up.
struct TensorLengths {
  float length;   ///< Euclidean norm of the shifted and scaled row
  float residue;  ///< norm of what rounding to FP16 took away
};

/// How far a score |c|^2 / 2 - x.c from the tensor cores, even with its last five bits overwritten, and half the
/// canonical distance less |x|^2 / 2 lie apart at most. `columns`: padded. With x = x_h + dx and c = c_h + dc:
///
/// * x.c - x_h.c_h = x.dc + dx.c_h, by Cauchy and Schwarz at most |x| |dc| + |dx| |c_h|.
/// * A tensor core multiplies FP16 exactly. It aligns b products and the accumulator to the largest of them, cuts off
///   what lies below 24 bits, adds, and cuts the sum off again: b = 4, 8 or 16 by generation. All partial sums are at
///   most |x_h| |c_h|, so that b products lose at most (b + 2) 2^-23 of that, and all columns 1.5 columns 2^-23.
/// * Rounding |c|^2 / 2, adding it and overwriting the five bits cost 33 * 2^-23 of |x_h| |c_h| + |c|^2 / 2.
/// * Shifting in double, and the canonical chain of columns + 2 roundings in double, of a sum of at most
///   2 (|x|^2 + |c|^2): (columns + 16) 2^-51 (|x|^2 + |c|^2).
///
/// The second and third are taken a little larger, for what they lose is itself part of the sums; each of the few
/// operations here rounds by 2^-24, which the last factor covers. 1e-30 is for what underflows.
GRADUS_HOST_DEVICE inline float tensor_bound(TensorLengths x, TensorLengths c, int columns) {
  const float rounded_c = c.length + c.residue;
  const float product = (x.length + x.residue) * rounded_c;
  const float residues = x.length * c.residue + x.residue * rounded_c;
  const float cut_off = 0x1p-23f * (1.5f * static_cast<float>(columns) + 4) * product;
  const float overwritten = 0x1p-23f * 36 * (product + 0.5f * c.length * c.length);
  const float canonical = 0x1p-51f * static_cast<float>(columns + 16) * (x.length * x.length + c.length * c.length);
  return (residues + cut_off + overwritten + canonical) * (1 + 0x1p-18f) + 1e-30f;
}

}  // namespace gradus::kmeans_detail
