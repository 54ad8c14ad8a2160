// Labels the points that the filter left undecided. Computes the canonical distances from each point to its candidates
// or, if there are too many candidates, to all clusters.
#pragma once

#include <cmath>
#include <cstdint>

#include "kmeans/assign/job.cuh"

namespace gradus::kmeans_detail::tensor {

/// Sixteen bytes of coordinates.
template <class T>
struct alignas(16) Quad {
  static constexpr int count = 16 / static_cast<int>(sizeof(T));
  T values[count];
};

/// Returns the canonical squared distance.
template <class T>
inline __device__ double canonical(const T* point, const T* centroid, int d) {
  double sum = 0;
  const auto add = [&sum](T a, T b) {
    const double difference = static_cast<double>(a) - static_cast<double>(b);
    sum = fma(difference, difference, sum);
  };
  int dim = 0;
  if (d % Quad<T>::count == 0) {
#pragma unroll 4
    for (; dim < d; dim += Quad<T>::count) {
      const Quad<T> a = *reinterpret_cast<const Quad<T>*>(point + dim);
      const Quad<T> b = *reinterpret_cast<const Quad<T>*>(centroid + dim);
#pragma unroll
      for (int index = 0; index < Quad<T>::count; ++index) add(a.values[index], b.values[index]);
    }
  } else {
#pragma unroll 4
    for (; dim < d; ++dim) add(point[dim], centroid[dim]);
  }
  return sum;
}

struct Nearest {
  double distance = INFINITY;
  std::int32_t cluster = 0x7fffffff;

  /// Replaces this cluster by another cluster if that one is nearer, or is equally near and has a lower number.
  __device__ void meet(double other_distance, std::int32_t other_cluster) {
    if (other_distance < distance || (other_distance == distance && other_cluster < cluster)) {
      distance = other_distance;
      cluster = other_cluster;
    }
  }
  __device__ void meet_lanes(int lanes) {
    meet(__shfl_xor_sync(everyone, distance, lanes), __shfl_xor_sync(everyone, cluster, lanes));
  }
};

template <class T>
struct ChainJob {
  const T* points;
  const T* centroids;
  int d;
};

// Compares the candidates of each doubtful point. Launch: eight lanes per point, a grid-stride loop over the points.
template <class T>
__global__ void compare_candidates(const __grid_constant__ FilterJob job, const ChainJob<T> rows) {
  static_assert(candidate_room == 8);
  const unsigned int count = job.counters->doubtful;
  const int lane = static_cast<int>(threadIdx.x) % 8;
  const unsigned int stride = gridDim.x * blockDim.x / 8;
  const unsigned int own = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
  for (unsigned int first = own & ~3u; first < count; first += stride) {  // `first` is the same in all lanes of a warp
    const unsigned int place = first + own % 4;
    const bool exists = place < count;
    const std::int32_t point = exists ? job.doubtful[place] : 0;
    const unsigned int noted = exists ? job.noted[place] : 1;
    const bool fits = noted > 0 && noted <= candidate_room;
    Nearest nearest;
    if (exists && fits && lane < static_cast<int>(noted)) {
      nearest.cluster = job.candidates[std::int64_t{place} * candidate_room + lane];
      nearest.distance = canonical(rows.points + std::int64_t{point} * rows.d,
                                   rows.centroids + std::int64_t{nearest.cluster} * rows.d, rows.d);
    }
    for (int lanes = 4; lanes > 0; lanes /= 2) nearest.meet_lanes(lanes);
    const unsigned int room = append(exists && !fits && lane == 0, &job.counters->crowded);
    if (exists && !fits && lane == 0) job.crowded[room] = place;
    settle(job, exists && fits && lane == 0, point, nearest.cluster);
  }
}

// Compares all clusters for each point that has too many candidates. Launch: blocks of 256 threads, a grid-stride loop.
template <class T>
__global__ void compare_all(const __grid_constant__ FilterJob job, const ChainJob<T> rows) {
  __shared__ Nearest near[8];
  const unsigned int count = job.counters->crowded;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (unsigned int index = blockIdx.x; index < count; index += gridDim.x) {
    const std::int32_t point = job.doubtful[job.crowded[index]];
    Nearest nearest;
    for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x))
      nearest.meet(canonical(rows.points + std::int64_t{point} * rows.d,
                             rows.centroids + std::int64_t{cluster} * rows.d, rows.d),
                   cluster);
    for (int lanes = 16; lanes > 0; lanes /= 2) nearest.meet_lanes(lanes);
    if (lane == 0) near[threadIdx.x / 32] = nearest;
    __syncthreads();  // every warp has written its nearest cluster
    if (threadIdx.x < 32) {
      nearest = near[lane % 8];
      for (int lanes = 4; lanes > 0; lanes /= 2) nearest.meet_lanes(lanes);
      settle(job, lane == 0, point, nearest.cluster);
    }
    __syncthreads();  // all values are read before the next point overwrites them
  }
}

}  // namespace gradus::kmeans_detail::tensor
