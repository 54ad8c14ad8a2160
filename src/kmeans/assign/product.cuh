// Computes the scores of a block's points with all clusters on tensor cores. Finds the two best scores of each point.
#pragma once

#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

#include "cuda/warpgroup.cuh"
#include "kmeans/assign/job.cuh"

namespace gradus::kmeans_detail::tensor {

using cuda::shared_address;
using cuda::swizzled;

inline __device__ void copy_async(unsigned int to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Each warp multiplies 16 points. (On Hopper, warpgroups multiply: see pipeline.cuh.)

/// Scores in registers. scores[c][2 h + e] is the score of point 8 h + lane / 4 of the warp and cluster 8 c + 2 (lane %
/// 4) + e of the tile.
using Scores = cuda::WarpgroupSums;

inline __device__ void load_matrices(unsigned int address, unsigned int (&parts)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
               : "r"(address)
               : "memory");
}

inline __device__ void multiply_add(float (&sums)[4], const unsigned int (&points)[4], unsigned int centroids_low,
                                    unsigned int centroids_high) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(points[0]), "r"(points[1]), "r"(points[2]), "r"(points[3]), "r"(centroids_low), "r"(centroids_high));
}

/// The shape of a block in which each warp handles 16 points and all clusters of a tile.
template <bool Resident>
struct Tile {
  static constexpr int points = Resident ? 128 : 256;
  static constexpr int threads = 2 * points;
  static constexpr int stages = Resident ? tensor_resident_stages : tensor_streamed_stages;
  static constexpr int ahead = stages - 1;  ///< number of steps for which copies are in flight
  static constexpr int point_bytes = points * row_bytes;
};

/// Multiplies a block's points with the clusters. `fold(tile, scores)` receives the products -x.c of each tile in
/// registers.
template <bool Resident>
class Product {
 public:
  using Shape = Tile<Resident>;

  __device__ Product(const FilterJob& job, unsigned char* memory)
      : job_(job), chunks_((job.stride + tensor_chunk - 1) / tensor_chunk), points_(shared_address(memory)),
        clusters_(points_ + static_cast<unsigned int>((Resident ? chunks_ : Shape::stages) * Shape::point_bytes)) {}

  /// `row_of(index)` must return the FP16 row of the block's point with this index.
  template <class RowOf, class Fold>
  __device__ void run(int first_tile, int last_tile, const RowOf& row_of, const Fold& fold) {
    const int steps = (last_tile - first_tile) * chunks_;
    next_tile_ = first_tile;
    next_chunk_ = 0;
    next_stage_ = 0;
    for (int step = 0; step < Shape::ahead; ++step) load_next(step < steps, next_tile_ == first_tile, row_of);
    int step = 0;
    int stage = 0;
    Scores scores = {};
    for (int tile = first_tile; tile < last_tile; ++tile) {
      for (int chunk = 0; chunk < chunks_; ++chunk, ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(Shape::ahead - 1) : "memory");
        // At this barrier, the copies of all threads for this step have arrived, and no warp uses the stage that is
        // filled next.
        __syncthreads();
        load_next(step + Shape::ahead < steps, next_tile_ == first_tile, row_of);
        const unsigned int points =
            points_ + static_cast<unsigned int>((Resident ? chunk : stage) * Shape::point_bytes);
        const unsigned int clusters = clusters_ + static_cast<unsigned int>(stage * cluster_tile_bytes);
        multiply(points, clusters, chunk, scores);
        if (++stage == Shape::stages) stage = 0;
      }
      fold(tile, scores);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // all warps are done with the tiles, so the memory is free
  }

 private:
  // Starts the copies of the next tile. After the last tile, commits an empty group instead, so that the number of
  // groups in flight stays the same.
  template <class RowOf>
  __device__ void load_next(bool wanted, bool first_pass, const RowOf& row_of) {
    if (wanted) {
      const int first_column = next_chunk_ * tensor_chunk;
      const int units = (job_.stride - first_column) / 8;
      // Eight threads copy the 128 bytes of a row, one unit each. In each turn, a thread copies a unit of another row.
      // The unit's position within its row is the same in every turn.
      const int unit = static_cast<int>(threadIdx.x) % 8;
      const int row = static_cast<int>(threadIdx.x) / 8;
      // Number of rows per turn. It is a multiple of 8, so that the permutation is the same in each turn.
      constexpr int turn_rows = Shape::threads / 8;
      if (unit < units) {
        const __half* centroid = job_.centroids +
                                 (static_cast<std::int64_t>(next_tile_) * tensor_clusters + row) * job_.stride +
                                 first_column + unit * 8;
        const unsigned int to_cluster =
            clusters_ + static_cast<unsigned int>(next_stage_ * cluster_tile_bytes) + swizzled(row, unit);
#pragma unroll
        for (int turn = 0; turn < tensor_clusters / turn_rows; ++turn)
          copy_async(to_cluster + turn * turn_rows * row_bytes, centroid + turn * turn_rows * job_.stride);
        if (!Resident || first_pass) {
          const unsigned int to_point =
              points_ + static_cast<unsigned int>((Resident ? next_chunk_ : next_stage_) * Shape::point_bytes) +
              swizzled(row, unit);
#pragma unroll
          for (int turn = 0; turn < Shape::points / turn_rows; ++turn)
            copy_async(to_point + turn * turn_rows * row_bytes,
                       row_of(row + turn * turn_rows) + first_column + unit * 8);
        }
      }
      if (++next_chunk_ == chunks_) {
        next_chunk_ = 0;
        ++next_tile_;
      }
      if (++next_stage_ == Shape::stages) next_stage_ = 0;
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }

  // Multiplies a chunk of columns. In the first chunk of a tile, the sums start at zero.
  __device__ void multiply(unsigned int points, unsigned int clusters, int chunk, Scores& scores) const {
    const int width = job_.stride - chunk * tensor_chunk;
    const int parts = width >= tensor_chunk ? tensor_chunk / tensor_columns : width / tensor_columns;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    // Each lane supplies the address of one row of eight elements, as the operand layout of the instruction requires.
    const unsigned int own = points + swizzled(static_cast<int>(threadIdx.x) / 32 * 16 + lane % 16, lane / 16);
    const unsigned int all = clusters + swizzled(lane / 16 * 8 + lane % 8, lane / 8 % 2);
    if (chunk == 0)
#pragma unroll
      for (int column = 0; column < 16; ++column)
#pragma unroll
        for (int index = 0; index < 4; ++index) scores[column][index] = 0;
#pragma unroll
    for (int part = 0; part < tensor_chunk / tensor_columns; ++part) {
      if (part >= parts) break;
      // A part has sixteen columns, which are two 16-byte units. The unit numbers are permuted by an exclusive or.
      // Therefore, the exclusive or of an address and `step` is the address of this part's columns.
      const unsigned int step = static_cast<unsigned int>(part) * 32;
      unsigned int rows[4];
      load_matrices(own ^ step, rows);
#pragma unroll
      for (int pair = 0; pair < 8; ++pair) {
        unsigned int columns[4];
        load_matrices((all ^ step) + pair * 16 * row_bytes, columns);
        multiply_add(scores[2 * pair], rows, columns[0], columns[1]);
        multiply_add(scores[2 * pair + 1], rows, columns[2], columns[3]);
      }
    }
  }

  const FilterJob& job_;
  int chunks_;
  unsigned int points_;
  unsigned int clusters_;
  int next_tile_ = 0;
  int next_chunk_ = 0;
  int next_stage_ = 0;
};

/// The best and the second-best score of a point. The last five bits of a score hold the cluster's index among the
/// thread's 32 clusters.
struct Leader {
  float best = INFINITY;
  float second = INFINITY;
  int cluster = 0;  ///< during the search: the tile of the best score; afterwards: the cluster of the best score

  __device__ void meet(float other_best, float other_second, int other_cluster) {
    second = fminf(fminf(second, other_second), fmaxf(best, other_best));
    if (other_best < best) {
      best = other_best;
      cluster = other_cluster;
    }
  }
};

/// Returns the cluster of the thread's score with the index `which`. The score is in the tile `tile`.
inline __device__ int cluster_of(int tile, int which) {
  return tile * tensor_clusters + which / 2 * 8 + static_cast<int>(threadIdx.x) % 4 * 2 + which % 2;
}

/// Returns |c|^2 / 2 of two adjacent clusters of a tile. The first of them is cluster 8 * column + 2 * (lane % 4) of
/// the tile.
inline __device__ float2 half_squares_of(const FilterJob& job, int tile, int column) {
  return reinterpret_cast<const float2*>(job.half_squares + tile * tensor_clusters)[4 * column + threadIdx.x % 4];
}

}  // namespace gradus::kmeans_detail::tensor
