// Exact sums (core/exact_sum.hpp) in the fit that stays on the GPU. A block records the changes of the sums in shared
// memory. There are several copies of this record. Each word is stored as two 32-bit halves.
#pragma once

#include <cuda_runtime.h>

#include "kmeans/persistent/job.cuh"

namespace gradus::kmeans_detail {

/// Adds to a word of the recorded changes. `copy` is the copy of this lane. If the addition of a thread overflows the
/// lower half, this thread adds the carry to the upper half. The number of carries does not depend on the order.
template <class T>
__device__ void add_to_word(const SmallDimJob<T>& job, unsigned int* moved, int copy, int word, Word addend) {
  unsigned int* const half = moved + word * job.copies + copy;
  const auto low = static_cast<unsigned int>(addend);
  const unsigned int carry = atomicAdd(half, low) > ~low ? 1 : 0;
  atomicAdd(half + sum_words(job) * job.copies, static_cast<unsigned int>(addend >> 32) + carry);
}

/// Returns the limbs of a coordinate on its column's grid, including the bits of the magic number. `weight` must be
/// scaled.
template <class T>
__device__ core::RawLimbs raw_limbs(const SmallDimJob<T>& job, int dim, T coordinate, double weight) {
  const double on_grid = static_cast<double>(coordinate) * job.columns[dim].to_high;
  if (!job.weights) return core::raw_limbs(on_grid, job.columns[dim].to_low);
  return core::raw_limbs(weight, on_grid, job.columns[dim].to_low);
}

template <class T>
__device__ double scaled_weight(const SmallDimJob<T>& job, std::int64_t point) {
  return job.weights ? static_cast<double>(job.weights[point]) * job.weight_scale : 1.0;
}

/// Adds a point to the sums of cluster `now`. If the point had a cluster `before`, subtracts the point from the sums of
/// that cluster. `copy` is the copy of the record that this lane uses.
template <class T, int Columns, bool Exact>
__device__ void move_in_sums(const SmallDimJob<T>& job, unsigned int* moved, int copy, int before, int now,
                             const T (&row)[Columns], double weight) {
  const int d = columns_of<T, Columns, Exact>(job);
  const bool leaves = before < job.k;
  const auto move = [&](int first, int stride, std::int64_t addend) {
    add_to_word(job, moved, copy, first + now * stride, static_cast<Word>(addend));
    if (leaves) add_to_word(job, moved, copy, first + before * stride, Word{0} - static_cast<Word>(addend));
  };
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    if (dim < d) {
      const core::RawLimbs raw = raw_limbs(job, dim, row[dim], weight);
      move(dim, 2 * d, static_cast<std::int64_t>(raw.high));
      move(d + dim, 2 * d, static_cast<std::int64_t>(raw.low));
    }
  int word = job.k * 2 * d;
  if (job.weights) {
    const core::Limbs limbs = job.weight.split(weight);
    move(word, 2, limbs.high);
    move(word + 1, 2, limbs.low);
    word += 2 * job.k;
  }
  move(word, 1, 1);
}

/// Returns a limb of a sum without the bits of the magic number, which every addend includes.
__device__ inline std::int64_t plain(Word raw, Word count) {
  return static_cast<std::int64_t>(raw - count * static_cast<Word>(core::integer_magic_bits));
}

/// Gives access to the sums of a job, one cluster after another, as the update reads them.
template <class T>
struct JobSums {
  const SmallDimJob<T>& job;
  const Word* sums;

  __device__ Word count(int cluster) const { return sums[sum_words(job) - job.k + cluster]; }
  __device__ core::Int128 total_weight(int cluster) const {
    if (!job.weights) return static_cast<core::Int128>(count(cluster));
    const Word* limbs = sums + job.k * 2 * job.d + 2 * cluster;
    return job.weight.total({static_cast<std::int64_t>(limbs[0]), static_cast<std::int64_t>(limbs[1])});
  }
  /// Returns the scaled weight. The history needs it.
  __device__ double weight(int cluster) const {
    if (!job.weights) return static_cast<double>(static_cast<std::int64_t>(count(cluster)));
    return core::round_quotient<double>(total_weight(cluster), 1, job.weight.unit);
  }
  __device__ core::TwoDoubles weight_parts(int cluster) const {
    if (!job.weights) return {static_cast<double>(static_cast<std::int64_t>(count(cluster))), 0};
    const Word* limbs = sums + job.k * 2 * job.d + 2 * cluster;
    return core::two_doubles(job.weight, {static_cast<std::int64_t>(limbs[0]), static_cast<std::int64_t>(limbs[1])});
  }
  __device__ std::int64_t weight_slack(int cluster) const {
    return !job.weights || job.weights_on_grid ? 0 : static_cast<std::int64_t>(count(cluster));
  }
  /// Returns the presence as ExactSums::presence() defines it.
  __device__ Presence presence(int cluster) const {
    if (count(cluster) == 0) return Presence::none;
    return total_weight(cluster) > weight_slack(cluster) ? Presence::some : Presence::unknown;
  }
  __device__ core::Limbs limbs(int cluster, int dim) const {
    const Word* raw = sums + cluster * 2 * job.d + dim;
    return {plain(raw[0], count(cluster)), plain(raw[job.d], count(cluster))};
  }
  __device__ core::Int128 total(int cluster, int dim) const { return job.columns[dim].total(limbs(cluster, dim)); }
  __device__ int unit_of_mean(int dim) const { return job.columns[dim].unit - (job.weights ? job.weight.unit : 0); }
  __device__ core::Certified<T> mean(int cluster, int dim) const {
    const std::int64_t slack = job.on_grid[dim] ? 0 : static_cast<std::int64_t>(count(cluster));
    return core::certified_quotient<T>(total(cluster, dim), slack, total_weight(cluster), weight_slack(cluster),
                                       unit_of_mean(dim));
  }
  /// Returns the mean minus the middle of the column, accurate to a few rounding errors. The history needs this
  /// difference.
  __device__ double mean_from_middle(int cluster, int dim) const {
    return core::quotient_less(core::two_doubles(job.columns[dim], limbs(cluster, dim)), weight_parts(cluster),
                               unit_of_mean(dim), job.low[dim]);
  }
};

}  // namespace gradus::kmeans_detail
