// Computes the bytes that the CUDA rungs need in shared and global memory. The table of variants and the allocations
// use these functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/simd/simd_pairs.hpp"

namespace gradus::pair_histogram_detail {

/// Sums of at most this number of words are kept in shared memory. Longer sums are in global memory, outside the job's
/// arena.
inline constexpr int words_in_shared = 3;

/// Returns the bytes of `copies` copies of the 32-bit counters and, with weights, of one sum per slot. The result is a
/// multiple of 8.
constexpr std::uint64_t block_histogram_bytes(std::int64_t slots, bool weighted, int copies) {
  const auto count = static_cast<std::uint64_t>(slots);
  return (count * (4 * static_cast<std::uint64_t>(copies) + (weighted ? 8 * words_in_shared : 0)) + 7) / 8 * 8;
}

/// Returns the bytes of one point per thread. A point has three coordinates and, if weighted, a 64-bit weight
/// (WeightSums).
constexpr std::uint64_t tile_bytes(int threads, int element_bytes, bool weighted) {
  return static_cast<std::uint64_t>(threads) * (3 * static_cast<std::uint64_t>(element_bytes) + (weighted ? 8 : 0));
}

/// Returns the number of copies of a block's histogram. Each lane of a warp gets a copy, unless that many copies would
/// leave too little memory for other blocks.
constexpr int histogram_copies(std::int64_t slots, bool weighted) {
  constexpr std::uint64_t room = 32 << 10;
  int copies = 32;
  while (copies > 1 && block_histogram_bytes(slots, weighted, copies) > room) copies /= 2;
  return copies;
}

/// To validate points and weights, a job needs this number of words of scratch memory.
inline constexpr std::int64_t scratch_words = cuda::column_range_words(dimension_limit);

/// Returns the device bytes of the points' columns, their weights, the edges, the histogram and the scratch.
inline std::uint64_t gpu_columns_bytes(const Shape& shape) {
  return cuda::part_bytes(dimension_limit * shape.points, static_cast<std::size_t>(shape.element_bytes)) +
         cuda::part_bytes(dimension_limit * shape.others, static_cast<std::size_t>(shape.element_bytes)) +
         cuda::part_bytes(shape.bins + 1, sizeof(double)) +
         cuda::part_bytes((shape.bins + 2) * (shape.weighted ? 1 + words_in_shared : 1), sizeof(std::uint64_t)) +
         (shape.weighted ? cuda::part_bytes(shape.points, sizeof(std::int64_t)) +
                               cuda::part_bytes(shape.others, sizeof(std::int64_t))
                         : 0) +
         cuda::part_bytes(scratch_words, sizeof(std::uint64_t));
}

/// The number of points in a group of cuda_filter. Float points are padded to a multiple of this number.
constexpr int filter_group_points = 128;

constexpr std::int64_t filter_places(std::int64_t points) {
  return (points + filter_group_points - 1) / filter_group_points * filter_group_points;
}

/// If there are at least this many points and few pairs are in reach, cuda_filter sorts the points into compact groups.
constexpr std::int64_t fewest_grouped = 16384;

/// Returns an upper limit of the scratch bytes for sorting this number of points.
constexpr std::uint64_t sort_room(std::int64_t points) {
  return (std::uint64_t{1} << 20) + static_cast<std::uint64_t>(points) / 2;
}

constexpr std::uint64_t group_bytes(std::int64_t points) {
  constexpr std::size_t place = 4 * sizeof(float);
  return 2 * cuda::part_bytes(2 * points, sizeof(std::uint32_t)) +
         cuda::part_bytes(static_cast<std::int64_t>(sort_room(points)), 1) +
         cuda::part_bytes(filter_places(points), place) +
         cuda::part_bytes(filter_places(points) / filter_group_points, 2 * place);
}

/// Returns the device bytes that cuda_filter needs in addition to gpu_columns_bytes(). Weighted pairs are not filtered.
inline std::uint64_t gpu_filter_bytes(const Shape& shape) {
  if (shape.weighted) return 0;
  constexpr std::size_t place = 4 * sizeof(float);
  const bool grouped = std::max(shape.points, shape.others) >= fewest_grouped;
  return (grouped ? group_bytes(shape.points) + group_bytes(shape.others) : 0) +
         cuda::part_bytes(filter_places(shape.points), place) + cuda::part_bytes(filter_places(shape.others), place) +
         cuda::part_bytes(shape.bins + 1, sizeof(double)) +
         cuda::part_bytes(filter_cells_limit, sizeof(std::uint16_t)) +
         cuda::part_bytes(1, sizeof(std::uint64_t));  // number of doubtful pairs
}

inline constexpr const char* gpu_variants_with_cells = "cuda_filter and cuda_tiled_privatized support";

inline core::Support along_axes_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = execution::supported_on_gpu(machine); !gpu) return gpu;
  return along_axes(shape, gpu_variants_with_cells);
}

// Returns yes if a block with the largest number of threads has enough shared memory, otherwise the reason why not.
inline core::Support histogram_of_cells_in_shared(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = execution::supported_on_gpu(machine); !gpu) return gpu;
  const core::Support fits = execution::fits_shared(
      tile_bytes(1024, shape.element_bytes, shape.weighted) + block_histogram_bytes(shape.bins + 2, shape.weighted, 1),
      "a tile of points and a histogram", machine);
  return fits ? fits : core::Support::no(fits.reason + "; cuda_naive and cuda_tiled count in global memory");
}

inline core::Support histogram_in_shared(const Shape& shape, const execution::Machine& machine) {
  if (core::Support fits = histogram_of_cells_in_shared(shape, machine); !fits) return fits;
  return along_axes(shape, gpu_variants_with_cells);
}

// Host memory holds the staging area for transfers and the received histogram.
inline core::Memory gpu_memory(const Shape& shape, int) {
  return {.host = 2 * Histogram::bytes(shape) + cuda::staging_bytes, .device = gpu_columns_bytes(shape)};
}

}  // namespace gradus::pair_histogram_detail
