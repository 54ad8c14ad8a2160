// The data of cuda_tensor's filter: the inputs of its kernels and the lists that they produce.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kmeans/assign/tensor_limits.hpp"
#include "kmeans/means/cuda_exact_update.cuh"

namespace gradus::kmeans_detail::tensor {

inline constexpr unsigned int everyone = 0xffffffffu;
inline constexpr int candidate_room =
    tensor_candidates;  // maximum number of recorded clusters per doubtful point, one per comparing lane
inline constexpr int row_bytes = 2 * tensor_chunk;
inline constexpr int cluster_tile_bytes = tensor_clusters * row_bytes;

/// The inputs and outputs of the filter.
struct FilterJob {
  const __half* points;     ///< n x stride
  const __half* centroids;  ///< negated; `stride` elements per centroid; padded to whole tiles of clusters
  const float* half_squares;
  const TensorLengths* point_lengths;
  const TensorLengths* cluster_lengths;
  const TensorLengths* largest;  ///< maximum of each length over all clusters
  std::int64_t n;
  std::int64_t first_point;  ///< the first point of this launch of find_nearest
  int k;
  int stride;  ///< number of elements of a padded row
  int cluster_tiles;
  std::int32_t* labels;
  std::int32_t* moved_points;
  std::int32_t* moved_from;
  PassCounters* counters;
  std::int32_t* doubtful;  ///< indices of the doubtful points
  float* reaches;          ///< per doubtful point: upper bound of its candidates' scores
  /// Per doubtful point: the best score plus the error bound of this score. A cluster is excluded if its score minus
  /// its own error bound exceeds this limit.
  float* limits;
  unsigned int* noted;       ///< number of candidates of each doubtful point
  std::int32_t* candidates;  ///< one list per doubtful point, with space for candidate_room clusters
  unsigned int* crowded;     ///< indices into `doubtful` of points with too many candidates
};

/// Reserves one list entry for each lane whose `wanted` is true, and returns the entry's index to that lane. Uses one
/// atomic addition per warp. All lanes must call this function.
inline __device__ unsigned int append(bool wanted, unsigned int* length) {
  const unsigned int lanes = __ballot_sync(everyone, wanted);
  const unsigned int lane = threadIdx.x % 32;
  unsigned int first = 0;
  if (lane == 0 && lanes != 0) first = atomicAdd(length, static_cast<unsigned int>(__popc(lanes)));
  return __shfl_sync(everyone, first, 0) + static_cast<unsigned int>(__popc(lanes & ((1u << lane) - 1)));
}

/// Sets the label of a point, and records the change in entry number `entry` of the list of moves.
inline __device__ void set_label(const FilterJob& job, unsigned int entry, std::int32_t point, std::int32_t before,
                                 std::int32_t label) {
  job.labels[point] = label;
  job.moved_points[entry] = point;
  job.moved_from[entry] = before;
}

/// For each lane whose `certain` is true, sets the label of the lane's point. If this changes the label, records the
/// change. All lanes must call this function.
inline __device__ void settle(const FilterJob& job, bool certain, std::int32_t point, std::int32_t label) {
  const std::int32_t before = certain ? job.labels[point] : label;
  const bool moved = before != label;
  const unsigned int place = append(moved, &job.counters->changed);
  if (moved) set_label(job, place, point, before, label);
}

}  // namespace gradus::kmeans_detail::tensor
