// Exact sums (core/exact_sum.hpp) in the fit that stays on the GPU: in shared memory a block notes by how much they
// change, as pairs of 32-bit halves in several copies; what the sums of a cluster come to.
#pragma once

#include <cuda_runtime.h>

#include "kmeans/cuda_resident_job.cuh"

namespace gradus::kmeans_detail {

/// Adds to a word of the differences. Whoever makes the lower half overflow carries: in whatever order, the carries are
/// as many as in one long addition. `copy`: this lane's among the copies.
template <class T>
__device__ void add_to_word(const SmallDimJob<T>& job, unsigned int* moved, int copy, int word, Word addend) {
  unsigned int* const half = moved + word * job.copies + copy;
  const auto low = static_cast<unsigned int>(addend);
  const unsigned int carry = atomicAdd(half, low) > ~low ? 1 : 0;
  atomicAdd(half + sum_words(job) * job.copies, static_cast<unsigned int>(addend >> 32) + carry);
}

/// A coordinate on its column's grid, with the magic number's own bits.
struct RawLimbs {
  Word high;
  Word low;
};

template <class T>
__device__ RawLimbs raw_limbs(const SmallDimJob<T>& job, int dim, T coordinate, double weight) {
  const double value = job.weights ? weight * static_cast<double>(coordinate) : static_cast<double>(coordinate);
  const double scaled = value * job.columns[dim].to_high;
  const double rounded = scaled + core::integer_magic;
  const double rest = (scaled - (rounded - core::integer_magic)) * job.columns[dim].to_low + core::integer_magic;
  return {static_cast<Word>(__double_as_longlong(rounded)), static_cast<Word>(__double_as_longlong(rest))};
}

/// Moves a point in the sums from the cluster `before`, if it is one, to `now`. `copy`: this lane's among the copies.
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
      const RawLimbs raw = raw_limbs(job, dim, row[dim], weight);
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

/// A sum limb without the magic number's own bits, which every summand carries.
__device__ inline std::int64_t plain(Word raw, Word count) {
  return static_cast<std::int64_t>(raw - count * static_cast<Word>(core::integer_magic_bits));
}

/// The sums of one cluster as the update needs them.
template <class T>
struct ClusterSums {
  const SmallDimJob<T>& job;
  const Word* sums;

  __device__ Word count(int cluster) const { return sums[sum_words(job) - job.k + cluster]; }
  __device__ core::Int128 total_weight(int cluster) const {
    if (!job.weights) return static_cast<core::Int128>(count(cluster));
    const Word* limbs = sums + job.k * 2 * job.d + 2 * cluster;
    return job.weight.total({static_cast<std::int64_t>(limbs[0]), static_cast<std::int64_t>(limbs[1])});
  }
  __device__ double weight(int cluster) const {
    if (!job.weights) return static_cast<double>(static_cast<std::int64_t>(count(cluster)));
    return core::round_quotient<double>(total_weight(cluster), 1, job.weight.unit);
  }
  template <class Real>
  __device__ Real mean(int cluster, int dim) const {
    const core::Grid& grid = job.columns[dim];
    const Word* limbs = sums + cluster * 2 * job.d + dim;
    const core::Int128 sum = grid.total({plain(limbs[0], count(cluster)), plain(limbs[job.d], count(cluster))});
    return core::round_quotient<Real>(sum, static_cast<core::UInt128>(total_weight(cluster)),
                                      grid.unit - (job.weights ? job.weight.unit : 0));
  }
};

}  // namespace gradus::kmeans_detail
