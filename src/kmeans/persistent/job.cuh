// The data of a fit that stays on the GPU (kernel.cuh): what its kernels are given and leave behind, and
// how a block lays out its shared memory.
#pragma once

#include <cuda_runtime.h>

#include "kmeans/means/cuda_exact_sums.hpp"
#include "kmeans/persistent/ordered_limits.hpp"

namespace gradus::kmeans_detail {

/// What a step leaves in the history.
struct Record {
  double explained;
  std::int64_t changed;
  double shift;
  Word nanoseconds;  ///< when the iteration ended
};

/// What the kernel leaves behind.
struct LoopOutcome {
  int steps;
  bool pass_only;  ///< the last pass was not followed by an update: it is the frame's
  bool same_centroids;
  Word changed;    ///< in the last pass
  Word rechecked;  ///< in all passes
  Word start_nanoseconds;
};

/// What is known of a tile's labels.
struct TileState {
  unsigned short label;  ///< of all its points; or one of the two below
  unsigned short hint;   ///< the cluster of a point in its middle
};
constexpr unsigned short mixed_tile = 0xffff;  ///< every point has its own label
constexpr unsigned short new_tile = 0xfffe;    ///< no point has a label yet

/// Where points are ordered so that neighbours in memory are neighbours in space (cuda_ordered): what is kept of every
/// tile of so many points. Null elsewhere.
struct Tiles {
  int points;
  unsigned int count;
  const float* boxes;  ///< middles, then half widths
  const Word* sums;    ///< what its points add to a cluster's sums, but for the count
  TileState* states;
  const unsigned int* order;  ///< where each point was before
};
template <class T>
struct SmallDimJob {
  const T* points;
  const T* weights;            ///< or null
  const float* filter_points;  ///< the points' copy in float, or null
  std::int64_t n;
  int d;
  int k;
  void* labels;  ///< unsigned char, or unsigned short where `wide_labels`
  bool wide_labels;
  T* centroids;       ///< k x d
  Word* sums;         ///< as ExactSums has them: k x 2 d raw limbs, 2 k weight limbs where there are weights, k counts
  Word* differences;  ///< three sets of: sums, and the number of labels that changed
  Record* records;
  Word* past_sums;    ///< of each step: one set of sums
  T* past_centroids;  ///< from before the first step on: k x d each
  double* parts;      ///< of each step: 2 k
  LoopOutcome* outcome;
  T middle[cuda_small_dim_columns];  ///< of the columns
  T scale;                           ///< a power of two
  float bound;
  core::Grid columns[cuda_small_dim_columns];
  bool on_grid[cuda_small_dim_columns];  ///< Statistics::is_on_grid
  core::Grid weight;
  bool weights_on_grid;
  double weight_scale;                 ///< see Statistics
  double coordinate_scale;             ///< likewise
  double low[cuda_small_dim_columns];  ///< half the sum of lowest and highest, for the history's inertia
  int iterations;                      ///< at most; 0: one pass without an update
  double shift_limit;
  std::int64_t changed_limit;
  bool relocates;
  bool to_unit_length;
  int copies;  ///< of the sums in shared memory; a power of two
  Tiles tiles;
};

/// Words of one set of sums.
template <class T>
__host__ __device__ int sum_words(const SmallDimJob<T>& job) {
  return job.k * (2 * job.d + (job.weights ? 2 : 0) + 1);
}

/// Floats of a cluster's entry in the filter: |c|^2 / 2, then -c, to a multiple of four.
template <int Columns>
constexpr int entry_floats = (Columns + 1 + 3) / 4 * 4;

/// The parts of a block's shared memory.
template <class T, int Columns>
struct Shared {
  float* filter;        ///< an entry for each cluster
  unsigned char* work;  ///< of the walk
  double* parts;        ///< k, for sums over the clusters in ascending order
  Word* sums;           ///< all clusters' sums so far
  unsigned int* moved;  ///< copies of the differences of this pass: lower halves, then upper ones
  T* centroids;
  T* next;

  static std::size_t bytes(const SmallDimJob<T>& job, int copies, int work_bytes) {
    const int padded = (job.k * job.d + 1) & ~1;
    return static_cast<std::size_t>(4 * job.k * entry_floats<Columns> + work_bytes + 8 * job.k +
                                    8 * sum_words(job) * (1 + copies) + 2 * static_cast<int>(sizeof(T)) * padded);
  }

  __device__ Shared(unsigned char* memory, const SmallDimJob<T>& job, int work_bytes) {
    const int words = sum_words(job);
    const int padded = (job.k * job.d + 1) & ~1;
    filter = reinterpret_cast<float*>(memory);
    work = memory + 4 * job.k * entry_floats<Columns>;
    parts = reinterpret_cast<double*>(work + work_bytes);
    sums = reinterpret_cast<Word*>(parts + job.k);
    moved = reinterpret_cast<unsigned int*>(sums + words);
    centroids = reinterpret_cast<T*>(moved + 2 * words * job.copies);
    next = centroids + padded;
  }
};

}  // namespace gradus::kmeans_detail
