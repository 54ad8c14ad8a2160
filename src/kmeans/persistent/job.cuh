// The data of a fit that stays on the GPU (kernel.cuh): inputs, outputs, and the layout of a block's shared memory.
#pragma once

#include <cuda_runtime.h>

#include "kmeans/means/cuda_exact_sums.hpp"
#include "kmeans/persistent/ordered_limits.hpp"

namespace gradus::kmeans_detail {

/// The history entry of a step.
struct Record {
  double explained;
  std::int64_t changed;
  double shift;
  Word nanoseconds;  ///< end time of the iteration
};

struct LoopOutcome {
  int steps;
  bool pass_only;  ///< true if the last pass had no update, because the driver makes it
  bool same_centroids;
  Word changed;    ///< number of labels changed in the last pass
  Word rechecked;  ///< number of points rechecked in all passes together
  Word start_nanoseconds;
};

/// The labels of a tile.
struct TileState {
  unsigned short label;  ///< the common label of all points, or mixed_tile or new_tile
  unsigned short hint;   ///< the cluster of a point near the middle of the tile
};
constexpr unsigned short mixed_tile = 0xffff;  ///< the points have different labels
constexpr unsigned short new_tile = 0xfffe;    ///< no point has a label yet

/// Tiles of `points` points each. The points are ordered so that points close to each other in memory are close to each
/// other in space. The pointers are null except in cuda_ordered.
struct Tiles {
  int points;
  unsigned int count;
  const float* boxes;  ///< for each tile: the centre of its box, then half of each width
  const Word* sums;    ///< for each tile: the words that it adds to the sums of a cluster that contains the whole tile,
                       ///< without the count
  TileState* states;
  const unsigned int* order;  ///< the original index of each point
};
template <class T>
struct SmallDimJob {
  const T* points;
  const T* weights;            ///< null if there are no weights
  const float* filter_points;  ///< a float copy of the points; null if there is none
  std::int64_t n;
  int d;
  int k;
  void* labels;  ///< of type unsigned char or, with `wide_labels`, unsigned short
  bool wide_labels;
  T* centroids;       ///< k x d
  Word* sums;         ///< as in ExactSums: k x 2 d raw limbs, 2 k limbs of weights if there are any, k counts
  Word* differences;  ///< three sets; each has the changes of the sums, and then the number of changed labels
  Record* records;
  Word* past_sums;    ///< one set of sums per step
  T* past_centroids;  ///< k x d centroids before the first step and after each step
  double* parts;      ///< for each step, 2 k numbers: the movement of each centroid, then the explained inertia of each
                      ///< cluster
  LoopOutcome* outcome;
  T middle[cuda_small_dim_columns];  ///< for each column: the origin of the filter's coordinates
  T scale;                           ///< scale of the filter's coordinates; a power of two
  float bound;
  core::Grid columns[cuda_small_dim_columns];
  bool on_grid[cuda_small_dim_columns];  ///< Statistics::is_on_grid
  core::Grid weight;
  bool weights_on_grid;
  double weight_scale;                 ///< see Statistics
  double coordinate_scale;             ///< see Statistics
  double low[cuda_small_dim_columns];  ///< (lowest + highest) / 2 per column; the history's inertia is relative to it
  int iterations;                      ///< maximum number of iterations; 0 means one pass without an update
  double shift_limit;
  std::int64_t changed_limit;
  bool relocates;
  bool to_unit_length;
  int copies;  ///< number of copies of the sums in shared memory; a power of two
  Tiles tiles;
};

template <class T>
__host__ __device__ int sum_words(const SmallDimJob<T>& job) {
  return job.k * (2 * job.d + (job.weights ? 2 : 0) + 1);
}

/// Number of floats per cluster in the filter, a multiple of four. The floats are |c|^2 / 2, then the coordinates of
/// -c, then padding.
template <int Columns>
constexpr int entry_floats = (Columns + 1 + 3) / 4 * 4;

template <class T, int Columns>
struct Shared {
  float* filter;        ///< the filter's floats of all clusters
  unsigned char* work;  ///< scratch memory of the walk
  double* parts;        ///< k numbers, for sums over the clusters in ascending order
  Word* sums;           ///< the current sums of all clusters
  unsigned int* moved;  ///< copies of the block's changes of the sums in this pass: lower halves, then upper halves
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
