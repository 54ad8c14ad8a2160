// Kernels that run after the persistent kernel. They compute the statistics of the fit's steps, the labels in the
// caller's order and type, and the inertia.
//
// If the persistent kernel computed the inertia and the squared movement of an iteration, the next iteration would be
// delayed. Therefore, it only stores the sums and centroids of all iterations. Afterwards, another kernel computes the
// statistics, with one block per iteration.
#pragma once

#include <cuda_runtime.h>

#include "kmeans/persistent/kernel.cuh"

namespace gradus::kmeans_detail {

// Computes the statistics of the completed steps. Launch shape: one block per step.
template <class T>
__global__ void judge_steps(const __grid_constant__ SmallDimJob<T> job) {
  const auto step = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t area = std::int64_t{job.k} * job.d;
  const JobSums<T> sums{job, job.past_sums + step * sum_words(job)};
  const T* const before = job.past_centroids + step * area;
  double* const parts = job.parts + step * 2 * job.k;
  for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x)) {
    const T* const row = before + std::int64_t{cluster} * job.d;
    const double weight = sums.weight(cluster);
    double sum = 0;
    if (weight > 0)
      for (int dim = 0; dim < job.d; ++dim) {
        const double centroid = (static_cast<double>(row[dim]) - job.low[dim]) * job.coordinate_scale;
        sum += centroid * (2 * (sums.mean_from_middle(cluster, dim) * job.coordinate_scale) - centroid);
      }
    parts[cluster] = movement(row, row + area, job.d);
    parts[job.k + cluster] = weight > 0 ? weight * sum : 0.0;
  }
  __syncthreads();  // every cluster's part is stored
  if (threadIdx.x == 0) job.records[step].shift = ordered_sum(parts, job.k);
  if (threadIdx.x == 32) job.records[step].explained = ordered_sum(parts + job.k, job.k);
}

template <class T>
__device__ int settled_label_of(const SmallDimJob<T>& job, std::int64_t point) {
  if (job.tiles.points > 0) {
    const unsigned short label = job.tiles.states[static_cast<unsigned int>(point) / job.tiles.points].label;
    if (label != mixed_tile) return label;
  }
  return label_of(job, point);
}

// Writes the labels in the order of the caller's points. Launch shape: one thread per point.
template <class T, class Label>
__global__ void place_labels(const SmallDimJob<T> job, Label* labels) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= job.n) return;
  labels[job.tiles.points > 0 ? job.tiles.order[point] : point] = static_cast<Label>(settled_label_of(job, point));
}

// Computes the inertia. Launch shape: grid-stride loop over the points; blocks of whole warps.
template <class T>
__global__ void exact_inertia(const SmallDimJob<T> job, core::TotalGrid grid, SharedTotal* total) {
  core::TotalLimbs limbs;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; point < job.n; point += stride) {
    const T* row = job.points + point * job.d;
    const T* centroid = job.centroids + settled_label_of(job, point) * job.d;
    double distance = 0;
    for (int dim = 0; dim < job.d; ++dim) {
      const double difference = static_cast<double>(row[dim]) - static_cast<double>(centroid[dim]);
      distance = fma(difference, difference, distance);
    }
    if (job.weights)
      add_weighted(grid, static_cast<double>(job.weights[point]), job.weight_scale, distance, limbs, *total);
    else add_value(grid, distance, limbs, *total);
  }
  add_limbs_of_warp(*total, limbs);
}

}  // namespace gradus::kmeans_detail
