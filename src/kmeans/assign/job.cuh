// The data of cuda_tensor's filter: what its kernels are given, and the lists that they leave behind.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kmeans/assign/tensor_limits.hpp"
#include "kmeans/means/cuda_exact_update.cuh"

namespace gradus::kmeans_detail::tensor {

inline constexpr unsigned int everyone = 0xffffffffu;
inline constexpr int candidate_room =
    tensor_candidates;  // clusters noted for a doubtful point: as many lanes compare them
inline constexpr int row_bytes = 2 * tensor_chunk;
inline constexpr int cluster_tile_bytes = tensor_clusters * row_bytes;

/// The filter's data, and what it leaves behind.
struct FilterJob {
  const __half* points;     ///< n x stride
  const __half* centroids;  ///< clusters to a multiple of a tile x stride; their negatives
  const float* half_squares;
  const TensorLengths* point_lengths;
  const TensorLengths* cluster_lengths;
  const TensorLengths* largest;  ///< of all clusters
  std::int64_t n;
  std::int64_t first_point;  ///< of a launch of find_nearest
  int k;
  int stride;  ///< columns of a row, padded
  int cluster_tiles;
  std::int32_t* labels;
  std::int32_t* moved_points;
  std::int32_t* moved_from;
  PassCounters* counters;
  std::int32_t* doubtful;    ///< points
  float* reaches;            ///< no candidate's score lies above
  float* limits;             ///< what the winner's score cannot exceed by more than its own bound
  unsigned int* noted;       ///< candidates of each doubtful point
  std::int32_t* candidates;  ///< candidate_room for each
  unsigned int* crowded;     ///< indices into `doubtful`
};

/// Makes room in a list for every lane that wants it, by one atomic addition a warp. All lanes take part.
inline __device__ unsigned int append(bool wanted, unsigned int* length) {
  const unsigned int lanes = __ballot_sync(everyone, wanted);
  const unsigned int lane = threadIdx.x % 32;
  unsigned int first = 0;
  if (lane == 0 && lanes != 0) first = atomicAdd(length, static_cast<unsigned int>(__popc(lanes)));
  return __shfl_sync(everyone, first, 0) + static_cast<unsigned int>(__popc(lanes & ((1u << lane) - 1)));
}

/// A label that changed, the `entry`-th.
inline __device__ void set_label(const FilterJob& job, unsigned int entry, std::int32_t point, std::int32_t before,
                                 std::int32_t label) {
  job.labels[point] = label;
  job.moved_points[entry] = point;
  job.moved_from[entry] = before;
}

/// Writes labels that changed, and notes which did. All lanes take part; `certain`: this lane has a label to set.
inline __device__ void settle(const FilterJob& job, bool certain, std::int32_t point, std::int32_t label) {
  const std::int32_t before = certain ? job.labels[point] : label;
  const bool moved = before != label;
  const unsigned int place = append(moved, &job.counters->changed);
  if (moved) set_label(job, place, point, before, label);
}

}  // namespace gradus::kmeans_detail::tensor
