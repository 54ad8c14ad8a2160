// The error bound of cuda_tensor's filter and the sizes of its tiles. Plain C++, so that tests need no GPU.
#pragma once

#include <cstdint>

#include "core/host_device.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// The next two limits follow from 32-bit counts of threads (32 per cluster) and of elements in the rows of a tile.
inline constexpr std::int64_t cuda_tensor_columns = std::int64_t{1} << 24;   ///< maximum number of columns
inline constexpr std::int64_t cuda_tensor_clusters = std::int64_t{1} << 26;  ///< maximum number of clusters

inline constexpr int tensor_columns =
    16;  ///< columns per matrix instruction; rows are padded to multiples of this number
inline constexpr int tensor_chunk = 64;  ///< columns of a tile; a row of 128 bytes covers all banks of shared memory
inline constexpr int tensor_clusters = 128;     ///< number of clusters of a tile
inline constexpr int tensor_exponent = 14;      ///< scaled coordinates stay below 2^14 (FP16 ends at 65504)
inline constexpr float tensor_nowhere = 1e30f;  ///< |c|^2 / 2 of the padding clusters in the last tile
/// Maximum number of columns with which a tile of points stays in shared memory (resident points).
inline constexpr int tensor_resident_columns = 256;
/// The same maximum for Hopper, where shared memory holds two tiles of points.
inline constexpr int tensor_pipeline_columns = 128;

constexpr std::int64_t tensor_padded(std::int64_t count, std::int64_t step) { return (count + step - 1) / step * step; }

inline constexpr int tensor_resident_stages = 3;  ///< number of tiles of clusters in flight if points are resident
/// Number of stages in flight if points are streamed. A stage holds a tile of clusters and twice as many points.
inline constexpr int tensor_streamed_stages = 4;

/// Returns the bytes of shared memory per block.
constexpr std::uint64_t cuda_tensor_shared(std::int64_t columns) {
  constexpr std::uint64_t tile = std::uint64_t{2} * tensor_chunk * tensor_clusters;
  const std::int64_t padded = tensor_padded(columns, tensor_columns);
  if (padded > tensor_resident_columns) return 3 * tile * tensor_streamed_stages;
  return (static_cast<std::uint64_t>(tensor_padded(padded, tensor_chunk)) / tensor_chunk + tensor_resident_stages) *
         tile;
}

inline constexpr int tensor_list_words = 8;  ///< number of lists that have one 4-byte element per point
inline constexpr int tensor_candidates = 8;  ///< maximum number of clusters recorded per doubtful point

/// Returns the memory in bytes that depends on the clusters only.
constexpr std::uint64_t cuda_tensor_cluster_bytes(const Shape& shape) {
  const auto d = static_cast<std::uint64_t>(tensor_padded(shape.dimensions, tensor_columns));
  const auto k = static_cast<std::uint64_t>(tensor_padded(shape.clusters, std::int64_t{2} * tensor_clusters));
  const auto area = static_cast<std::uint64_t>(shape.clusters * shape.dimensions * shape.element_bytes);
  const std::uint64_t far_points = (std::uint64_t{160} << 10) + k * 28 + area;  // for empty clusters
  return 4096 + k * (2 * d + 12 + 8 + 16) + 2 * area + 8 * k * (2 * d + 3) + 32 * d + far_points;
}

/// Returns the bytes of a point's lists: the lists with one element per point, and the candidates with their scores.
constexpr std::uint64_t tensor_block_bytes(const Shape& shape) {
  const std::int64_t d = tensor_padded(shape.dimensions, tensor_columns);
  const int possible = d > tensor_pipeline_columns ? 2 * tensor_candidates : tensor_candidates;
  return std::uint64_t{4} * (tensor_list_words + tensor_candidates) + std::uint64_t{8} * possible;
}

/// Bytes per point that stay on the GPU if the points are in host memory: the label and the place in the order.
inline constexpr std::uint64_t tensor_kept_bytes = 8;

/// Returns the memory in bytes that a Hopper GPU needs in addition to points and weights. Other GPUs need less memory,
/// because they store the candidates without scores.
constexpr std::uint64_t cuda_tensor_bytes(const Shape& shape) {
  const auto n = static_cast<std::uint64_t>(shape.points);
  const auto d = static_cast<std::uint64_t>(tensor_padded(shape.dimensions, tensor_columns));
  return n * (2 * d + 8 + tensor_block_bytes(shape)) + n / 32 + cuda_tensor_cluster_bytes(shape);
}

/// Two lengths, both rounded up, that are stored with the FP16 copy of a row.
struct TensorLengths {
  float length;   ///< Euclidean norm of the shifted and scaled row
  float residue;  ///< norm of the FP16 rounding error
};

/// Returns an error bound of a tensor-core score |c|^2 / 2 - x.c: a bound of its difference from (canonical distance -
/// |x|^2) / 2. The bound holds even if the last five bits of the score are overwritten. `columns` is the padded number
/// of columns. Let x_h and c_h be the FP16 roundings of x and c, dx = x - x_h and dc = c - c_h. The error has these
/// parts:
///
/// * x.c - x_h.c_h = x.dc + dx.c_h, which is at most |x| |dc| + |dx| |c_h| by Cauchy-Schwarz.
/// * A tensor core multiplies FP16 exactly. It aligns b products and the accumulator to the largest of them, truncates
///   below 24 bits, adds, and truncates the sum again (b = 4, 8 or 16, depending on the generation). All partial sums
///   are at most |x_h| |c_h|. So b products lose at most (b + 2) 2^-23 |x_h| |c_h|, and the products of all columns
///   lose at most 1.5 columns 2^-23 |x_h| |c_h|.
/// * Rounding |c|^2 / 2, adding it to the product and overwriting five bits cost at most 33 * 2^-23 (|x_h| |c_h| +
///   |c|^2 / 2).
/// * The points and centroids are shifted in double. The canonical chain makes columns + 2 roundings in double, and its
///   sum is at most 2 (|x|^2 + |c|^2). Together these roundings cost at most (columns + 16) 2^-51 (|x|^2 + |c|^2).
///
/// The code uses greater factors for the second and the third part, because the partial sums include earlier losses.
/// Each of the few operations in this function has a rounding error of at most 2^-24, which the last factor covers. The
/// constant 1e-30 covers underflow.
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
