// cuda_tensor: the filter is a matrix product on the tensor cores; doubtful points in double; exact sums. The oracle's
// bits.
//
// What changes from `cuda_small_dim`: many columns or clusters. Then the scores s_c = |c|^2 / 2 - x.c of all points and
// clusters are a matrix product, and a GPU has units that multiply matrices of 16-bit floating-point numbers ten
// times as fast as its other units multiply and add floats. The product is never written: as soon as a tile of scores
// is in registers, each thread folds it into the best score, its cluster and the runner-up's score of its points.
//
// * Points and centroids are shifted by the columns' middles, scaled by a power of two and rounded to FP16, once a fit
//   and once an iteration. Of each row, its length and the length of what the rounding took away are kept: from them
//   follows how wrong a score can be (tensor_bound). No statistics: a proven bound.
// * Where the runner-up is farther from the best than twice the bound, the best is the label. The other points, a few
//   in a hundred, go through the same product a second time, gathered, and this time every cluster whose score comes
//   within the bounds of the best is noted: two, mostly. These are compared by the canonical chain, eight lanes to a
//   point; where more than eight are noted, a block walks over all clusters. The lowest cluster wins ties.
// * A thread need not carry a cluster's number beside each score: of the 128 clusters of a tile, it holds 32 for each
// of
//   its two points, and which of the 32 it was overwrites the last five bits of the score. So five operations a score,
//   one addition, one logical and three minima and maxima, keep best, runner-up and which.
// * The update (cuda_exact_update.cuh) sums integers, only for points that changed cluster, and stays on the GPU, so
//   that an iteration ends with one small copy to the host.
//
// Tiles. A block has 128 points (256 where they stream) and takes 128 clusters at a time, 64 columns after another. The
// product is Hopper's own, of four warps together (elsewhere each warp's alone): 64 points by 128 clusters, 64 sums a
// thread; it runs on by itself, so that some warps multiply while others fold. Up to 256 columns the block's points
// stay in shared memory while all centroids stream by, and two blocks share a multiprocessor. With more columns the
// points stream too, in blocks of 512 threads, and a product may still run while the next one's tiles are waited for.
// A row of a tile is 128 bytes, all banks; its 16-byte units are permuted by the row's number, as the instruction
// expects it, so that eight rows read at once lie in different banks.
//
// Bytes of an iteration: the FP16 points once, and the centroids once for each 128 points, which come from the
// second-level cache. Operations: n k d multiply-adds on the tensor cores, some 5 n k others. Limits: fewer than 2^31
// points, at most 2^24 columns and 2^26 clusters. Source: certified filters: J. R. Shewchuk, "Adaptive precision
// floating-point arithmetic and fast robust geometric predicates" (1997). How tensor cores round: Fasi, Higham,
// Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores" (2021). Fused product and minimum: Johnson, Douze
// and Jegou, "Billion-scale similarity search with GPUs" (2017).
#include "kmeans/cuda_tensor.hpp"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kmeans/cuda_common.hpp"
#include "kmeans/cuda_exact_update.cuh"
#include "kmeans/variants.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr unsigned int everyone = 0xffffffffu;
constexpr int candidate_room = tensor_candidates;  // clusters noted for a doubtful point: as many lanes compare them
constexpr int row_bytes = 2 * tensor_chunk;
constexpr int cluster_tile_bytes = tensor_clusters * row_bytes;

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
__device__ unsigned int append(bool wanted, unsigned int* length) {
  const unsigned int lanes = __ballot_sync(everyone, wanted);
  const unsigned int lane = threadIdx.x % 32;
  unsigned int first = 0;
  if (lane == 0 && lanes != 0) first = atomicAdd(length, static_cast<unsigned int>(__popc(lanes)));
  return __shfl_sync(everyone, first, 0) + static_cast<unsigned int>(__popc(lanes & ((1u << lane) - 1)));
}

/// Writes labels that changed, and notes which did. All lanes take part; `certain`: this lane has a label to set.
__device__ void settle(const FilterJob& job, bool certain, std::int32_t point, std::int32_t label) {
  const std::int32_t before = certain ? job.labels[point] : label;
  const bool moved = before != label;
  const unsigned int place = append(moved, &job.counters->changed);
  if (!moved) return;
  job.labels[point] = label;
  job.moved_points[place] = point;
  job.moved_from[place] = before;
}

// ------------------------------------------------------------------------------------------------ to FP16

struct Conversion {
  const double* middle;
  double scale;  ///< a power of two
  int d;
  int stride;
};

/// One row by one warp. `sign`: -1 leaves its negative. The lengths are rounded up.
template <class T>
__device__ TensorLengths convert_row(const T* row, const Conversion& by, double sign, __half* halves) {
  double squares = 0;
  double rests = 0;
  for (int dim = static_cast<int>(threadIdx.x) % 32; dim < by.stride; dim += 32) {
    const double value = dim < by.d ? sign * (static_cast<double>(row[dim]) - by.middle[dim]) * by.scale : 0.0;
    const __half rounded = __double2half(value);
    const double rest = value - static_cast<double>(__half2float(rounded));
    halves[dim] = rounded;
    squares += value * value;
    rests += rest * rest;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    squares += __shfl_xor_sync(everyone, squares, lanes);
    rests += __shfl_xor_sync(everyone, rests, lanes);
  }
  return {__double2float_ru(sqrt(squares) * (1 + 0x1p-30)), __double2float_ru(sqrt(rests) * (1 + 0x1p-30))};
}

// Launch shape: a warp for each row, the grid's stride.
template <class T>
__global__ void convert_points(const T* points, std::int64_t n, Conversion by, __half* halves, TensorLengths* lengths) {
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / 32;
  for (std::int64_t point = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; point < n; point += warps) {
    const TensorLengths own = convert_row(points + point * by.d, by, 1.0, halves + point * by.stride);
    if (threadIdx.x % 32 == 0) lengths[point] = own;
  }
}

__device__ void raise(float* largest, float value) {
  // Floats that are not negative have the order of their bits.
  atomicMax(reinterpret_cast<int*>(largest), __float_as_int(value));
}

// Launch shape: a warp for each centroid, those that fill up the last tile included.
template <class T>
__global__ void convert_centroids(const T* centroids, int k, int padded, Conversion by, __half* halves,
                                  float* half_squares, TensorLengths* lengths, TensorLengths* largest) {
  const int cluster = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (cluster >= padded) return;
  __half* row = halves + static_cast<std::int64_t>(cluster) * by.stride;
  if (cluster >= k) {
    for (int dim = lane; dim < by.stride; dim += 32) row[dim] = __float2half(0.0f);
    if (lane == 0) half_squares[cluster] = tensor_nowhere;
    return;
  }
  const T* centroid = centroids + static_cast<std::int64_t>(cluster) * by.d;
  const TensorLengths own = convert_row(centroid, by, -1.0, row);
  double squares = 0;
  for (int dim = lane; dim < by.d; dim += 32) {
    const double value = (static_cast<double>(centroid[dim]) - by.middle[dim]) * by.scale;
    squares += value * value;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) squares += __shfl_xor_sync(everyone, squares, lanes);
  if (lane != 0) return;
  half_squares[cluster] = static_cast<float>(0.5 * squares);
  lengths[cluster] = own;
  raise(&largest->length, own.length);
  raise(&largest->residue, own.residue);
}

// ------------------------------------------------------------------------------------------------ the product

__device__ unsigned int shared_address(const void* pointer) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(pointer));
}

__device__ void copy_async(unsigned int to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// The warpgroup's own matrix instructions are Hopper's alone; elsewhere each warp multiplies its 16 points by itself.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(GRADUS_NO_WARPGROUP_PRODUCT)
#define GRADUS_WARPGROUP_PRODUCT
#endif

/// Scores in registers: scores[c][2 h + e] is that of the warp's point 8 h + lane / 4 and the tile's cluster
/// 8 c + 2 (lane % 4) + e.
using Scores = float[16][4];

#ifdef GRADUS_WARPGROUP_PRODUCT
/// What the instruction is told of a tile: where it begins, 1024 bytes from eight rows to the next eight, and that its
/// 16-byte units are permuted within 128 bytes.
__device__ std::uint64_t tile_descriptor(unsigned int address) {
  return std::uint64_t{1} << 62 | std::uint64_t{1024 / 16} << 32 | std::uint64_t{1} << 16 | (address & 0x3ffffu) >> 4;
}

/// 64 points by 128 clusters by 16 columns, by four warps; runs on by itself until it is waited for.
__device__ void multiply_by_warpgroup(Scores& scores, std::uint64_t points, std::uint64_t clusters, int adds) {
#define GRADUS_FOUR(c) "+f"(scores[c][0]), "+f"(scores[c][1]), "+f"(scores[c][2]), "+f"(scores[c][3])
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, adds, 1, 1, 0, 0;\n}\n"
      : GRADUS_FOUR(0), GRADUS_FOUR(1), GRADUS_FOUR(2), GRADUS_FOUR(3), GRADUS_FOUR(4), GRADUS_FOUR(5), GRADUS_FOUR(6),
        GRADUS_FOUR(7), GRADUS_FOUR(8), GRADUS_FOUR(9), GRADUS_FOUR(10), GRADUS_FOUR(11), GRADUS_FOUR(12),
        GRADUS_FOUR(13), GRADUS_FOUR(14), GRADUS_FOUR(15)
      : "l"(points), "l"(clusters), "r"(adds));
#undef GRADUS_FOUR
}

/// Keeps the compiler from moving what it does with the scores across the wait for the product.
__device__ void pin(Scores& scores) {
#pragma unroll
  for (int column = 0; column < 16; ++column)
#pragma unroll
    for (int index = 0; index < 4; ++index) asm volatile("" : "+f"(scores[column][index])::"memory");
}
#else
__device__ void load_matrices(unsigned int address, unsigned int (&parts)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
               : "r"(address)
               : "memory");
}

__device__ void multiply_add(float (&sums)[4], const unsigned int (&points)[4], unsigned int centroids_low,
                             unsigned int centroids_high) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(points[0]), "r"(points[1]), "r"(points[2]), "r"(points[3]), "r"(centroids_low), "r"(centroids_high));
}
#endif

/// How a block is made up: each warp has 16 points, and all clusters of a tile.
template <bool Resident>
struct Tile {
  static constexpr int points = Resident ? 128 : 256;
  static constexpr int threads = 2 * points;
  static constexpr int stages = Resident ? tensor_resident_stages : tensor_streamed_stages;
  /// Steps whose product may still run when the next one begins: with two blocks on a multiprocessor, the other block
  /// fills the gap.
  static constexpr int behind = Resident ? 0 : 1;
  static constexpr int ahead = stages - 1 - behind;  ///< steps whose copies are under way
  static constexpr int point_bytes = points * row_bytes;
};

/// The product of a block's points with the clusters, tile after tile; `fold(tile, scores)` is given each tile of x.c
/// with its sign turned, in registers.
template <bool Resident>
class Product {
 public:
  using Shape = Tile<Resident>;

  __device__ Product(const FilterJob& job, unsigned char* memory)
      : job_(job), chunks_((job.stride + tensor_chunk - 1) / tensor_chunk), points_(shared_address(memory)),
        clusters_(points_ + static_cast<unsigned int>((Resident ? chunks_ : Shape::stages) * Shape::point_bytes)) {}

  /// `row_of(index)`: the FP16 row of the block's point `index`.
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
#ifdef GRADUS_WARPGROUP_PRODUCT
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the matrix unit sees what this thread copied
#endif
        // This step's copies of all threads have arrived, and every warp is done with the stage that is filled next.
        __syncthreads();
        load_next(step + Shape::ahead < steps, next_tile_ == first_tile, row_of);
        const unsigned int points =
            points_ + static_cast<unsigned int>((Resident ? chunk : stage) * Shape::point_bytes);
        const unsigned int clusters = clusters_ + static_cast<unsigned int>(stage * cluster_tile_bytes);
        multiply(points, clusters, chunk, scores);
        if (++stage == Shape::stages) stage = 0;
      }
      finish(scores);
      fold(tile, scores);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // every warp is done with the tiles: the memory is free
  }

 private:
  // Starts the copies of the next tile; without one, an empty group keeps the count.
  template <class RowOf>
  __device__ void load_next(bool wanted, bool first_pass, const RowOf& row_of) {
    if (wanted) {
      const int first_column = next_chunk_ * tensor_chunk;
      const int units = (job_.stride - first_column) / 8;
      // Eight threads copy the 128 bytes of a row, each in each turn the same unit of another row.
      const int unit = static_cast<int>(threadIdx.x) % 8;
      const int row = static_cast<int>(threadIdx.x) / 8;
      constexpr int turn_rows = Shape::threads / 8;  // a multiple of 8, so that the permutation stays the same
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

  __device__ static unsigned int swizzled(int row, int unit) {
    return static_cast<unsigned int>(row * row_bytes + ((unit ^ (row % 8)) << 4));
  }

  // A chunk of columns. The first one of a tile begins the sums.
  __device__ void multiply(unsigned int points, unsigned int clusters, int chunk, Scores& scores) const {
    const int width = job_.stride - chunk * tensor_chunk;
    const int parts = width >= tensor_chunk ? tensor_chunk / tensor_columns : width / tensor_columns;
#ifdef GRADUS_WARPGROUP_PRODUCT
    const std::uint64_t own = tile_descriptor(points + threadIdx.x / 128 * 64 * row_bytes);
    const std::uint64_t all = tile_descriptor(clusters);
    // Where a product may still run when the next begins, its sums are not to be touched in between.
    if constexpr (Shape::behind == 0) pin(scores);
    if (parts == tensor_chunk / tensor_columns) {
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int part = 0; part < tensor_chunk / tensor_columns; ++part)
        multiply_by_warpgroup(scores, own + static_cast<unsigned int>(2 * part),
                              all + static_cast<unsigned int>(2 * part), chunk + part);
    } else {
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
      for (int part = 0; part < parts; ++part)
        multiply_by_warpgroup(scores, own + static_cast<unsigned int>(2 * part),
                              all + static_cast<unsigned int>(2 * part), chunk + part);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Shape::behind) : "memory");
    if constexpr (Shape::behind == 0) pin(scores);
#else
    const int lane = static_cast<int>(threadIdx.x) % 32;
    // A lane gives the address of one row of eight; which, the layout of the instruction's operands says.
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
      // Sixteen columns are two units; the units' permutation is an exclusive or, and so is the step.
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
#endif
  }

  __device__ static void finish(Scores& scores) {
#ifdef GRADUS_WARPGROUP_PRODUCT
    if constexpr (Shape::behind > 0) {
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      pin(scores);
    }
#endif
  }

  const FilterJob& job_;
  int chunks_;
  unsigned int points_;
  unsigned int clusters_;
  int next_tile_ = 0;
  int next_chunk_ = 0;
  int next_stage_ = 0;
};

/// The best score of a point so far, with which of a thread's 32 clusters in its last five bits, and the second best.
struct Leader {
  float best = INFINITY;
  float second = INFINITY;
  int cluster = 0;  ///< the tile, until the end

  __device__ void meet(float other_best, float other_second, int other_cluster) {
    second = fminf(fminf(second, other_second), fmaxf(best, other_best));
    if (other_best < best) {
      best = other_best;
      cluster = other_cluster;
    }
  }
};

/// The cluster of a thread's score `which` of a point in a tile.
__device__ int cluster_of(int tile, int which) {
  return tile * tensor_clusters + which / 2 * 8 + static_cast<int>(threadIdx.x) % 4 * 2 + which % 2;
}

/// |c|^2 / 2 of clusters 8 c + 2 (lane % 4) and the next one of a tile.
__device__ float2 half_squares_of(const FilterJob& job, int tile, int column) {
  return reinterpret_cast<const float2*>(job.half_squares + tile * tensor_clusters)[4 * column + threadIdx.x % 4];
}

// The label of each point, or its place among the doubtful ones.
// Launch shape: Tile::threads, a block for each Tile::points points; cuda_tensor_shared() of shared memory.
template <bool Resident>
__global__ __launch_bounds__(Tile<Resident>::threads,
                             Resident ? 2 : 1) void find_nearest(const __grid_constant__ FilterJob job) {
  using Shape = Tile<Resident>;
  extern __shared__ __align__(1024) unsigned char memory[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first = job.first_point + std::int64_t{blockIdx.x} * Shape::points;
  const auto row_of = [&](int index) {
    const std::int64_t point = first + index < job.n ? first + index : job.n - 1;  // repeated, and ignored at the end
    return job.points + point * job.stride;
  };
  Leader leaders[2];  // of the warp's points lane / 4 and 8 + lane / 4
  Product<Resident> product(job, memory);
  product.run(0, job.cluster_tiles, row_of, [&](int tile, const Scores& scores) {
    float best[2] = {INFINITY, INFINITY};
    float second[2] = {INFINITY, INFINITY};
#pragma unroll
    for (int column = 0; column < 16; ++column) {
      const float2 half_squares = half_squares_of(job, tile, column);
#pragma unroll
      for (int row = 0; row < 2; ++row)
#pragma unroll
        for (int next = 0; next < 2; ++next) {
          const float sum = scores[column][2 * row + next] + (next ? half_squares.y : half_squares.x);
          const unsigned int bits = __float_as_uint(sum) & ~31u;
          const float score = __uint_as_float(bits | static_cast<unsigned int>(2 * column + next));
          second[row] = fminf(second[row], fmaxf(best[row], score));
          best[row] = fminf(best[row], score);
        }
    }
    leaders[0].meet(best[0], second[0], tile);
    leaders[1].meet(best[1], second[1], tile);
  });

  // A point's clusters lie with four lanes. From here on, a thread for each point.
  Leader* const of_points = reinterpret_cast<Leader*>(memory);
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    Leader& leader = leaders[row];
    leader.cluster = cluster_of(leader.cluster, static_cast<int>(__float_as_uint(leader.best) & 31u));
#pragma unroll
    for (int lanes = 1; lanes <= 2; lanes *= 2)
      leader.meet(__shfl_xor_sync(everyone, leader.best, lanes), __shfl_xor_sync(everyone, leader.second, lanes),
                  __shfl_xor_sync(everyone, leader.cluster, lanes));
    if (lane % 4 == 0) of_points[static_cast<int>(threadIdx.x) / 32 * 16 + row * 8 + lane / 4] = leader;
  }
  __syncthreads();  // all leaders are there
  const int index = static_cast<int>(threadIdx.x);
  if (index >= Shape::points) return;  // whole warps
  const Leader leader = of_points[index];
  const auto point = static_cast<std::int32_t>(first + index);
  const bool exists = first + index < job.n;
  bool certain = false;
  float bound = 0;
  float limit = 0;
  if (exists) {
    const TensorLengths own = job.point_lengths[point];
    bound = tensor_bound(own, *job.largest, job.stride);
    certain = __fsub_rd(leader.second, leader.best) > 2 * bound;
    limit = __fadd_ru(leader.best, tensor_bound(own, job.cluster_lengths[leader.cluster], job.stride));
  }
  const unsigned int place = append(exists && !certain, &job.counters->doubtful);
  if (exists && !certain) {
    job.doubtful[place] = point;
    job.reaches[place] = __fadd_ru(limit, bound);
    job.limits[place] = limit;
    job.noted[place] = 0;
  }
  settle(job, certain, point, leader.cluster);
}

// The doubtful points once more, and every cluster that may be nearest.
// Launch shape: as find_nearest, but any number of blocks: they take tiles of points and, where there are few of these,
// parts of the clusters in turn.
template <bool Resident>
__global__ __launch_bounds__(Tile<Resident>::threads,
                             Resident ? 2 : 1) void note_candidates(const __grid_constant__ FilterJob job) {
  using Shape = Tile<Resident>;
  extern __shared__ __align__(1024) unsigned char memory[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t count = job.counters->doubtful;
  const std::int64_t tiles = (count + Shape::points - 1) / Shape::points;
  if (tiles == 0) return;
  const std::int64_t spare = gridDim.x / tiles;
  const int splits = spare < 1 ? 1 : spare < job.cluster_tiles ? static_cast<int>(spare) : job.cluster_tiles;
  Product<Resident> product(job, memory);
  for (std::int64_t task = blockIdx.x; task < tiles * splits; task += gridDim.x) {
    const std::int64_t first = task / splits * Shape::points;
    const int split = static_cast<int>(task % splits);
    const auto row_of = [&](int index) {
      const std::int64_t place = first + index < count ? first + index : count - 1;  // repeated, and not noted
      return job.points + static_cast<std::int64_t>(job.doubtful[place]) * job.stride;
    };
    const std::int64_t first_place = first + static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
    float reaches[2];  // of the warp's points lane / 4 and 8 + lane / 4: no candidate's score lies above
#pragma unroll
    for (int row = 0; row < 2; ++row)
      reaches[row] = first_place + 8 * row < count ? job.reaches[first_place + 8 * row] : -INFINITY;
    const int first_tile = static_cast<int>(std::int64_t{job.cluster_tiles} * split / splits);
    const int last_tile = static_cast<int>(std::int64_t{job.cluster_tiles} * (split + 1) / splits);
    product.run(first_tile, last_tile, row_of, [&](int tile, const Scores& scores) {
      unsigned int near[2] = {0, 0};  // a bit for each of the thread's 32 clusters
#pragma unroll
      for (int column = 0; column < 16; ++column) {
        const float2 half_squares = half_squares_of(job, tile, column);
#pragma unroll
        for (int row = 0; row < 2; ++row) {
          near[row] |= scores[column][2 * row] + half_squares.x <= reaches[row] ? 1u << 2 * column : 0u;
          near[row] |= scores[column][2 * row + 1] + half_squares.y <= reaches[row] ? 2u << 2 * column : 0u;
        }
      }
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        if (near[row] == 0) continue;
        float own[32];
#pragma unroll
        for (int which = 0; which < 32; ++which) own[which] = scores[which / 2][2 * row + which % 2];
        const std::int64_t place = first_place + 8 * row;
        const TensorLengths lengths = job.point_lengths[job.doubtful[place]];
        for (unsigned int rest = near[row]; rest != 0; rest &= rest - 1) {
          // Within the bound for all clusters; is it within this cluster's own?
          const int which = __ffs(static_cast<int>(rest)) - 1;
          const int cluster = cluster_of(tile, which);
          const float score = own[which] + job.half_squares[cluster];
          if (__fsub_rd(score, tensor_bound(lengths, job.cluster_lengths[cluster], job.stride)) > job.limits[place])
            continue;
          const unsigned int room = atomicAdd(&job.noted[place], 1u);
          if (room < candidate_room) job.candidates[place * candidate_room + room] = cluster;
        }
      }
    });
  }
}

// ------------------------------------------------------------------------------------------------ the chain

/// Sixteen bytes of coordinates at once.
template <class T>
struct alignas(16) Quad {
  static constexpr int count = 16 / static_cast<int>(sizeof(T));
  T values[count];
};

/// The canonical squared distance.
template <class T>
__device__ double canonical(const T* point, const T* centroid, int d) {
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

  /// The lower cluster wins ties.
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

// The candidates of each doubtful point. Launch shape: eight lanes to a point, the grid's stride over the points.
template <class T>
__global__ void compare_candidates(const __grid_constant__ FilterJob job, const ChainJob<T> rows) {
  static_assert(candidate_room == 8);
  const unsigned int count = job.counters->doubtful;
  const int lane = static_cast<int>(threadIdx.x) % 8;
  const unsigned int stride = gridDim.x * blockDim.x / 8;
  const unsigned int own = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
  for (unsigned int first = own & ~3u; first < count; first += stride) {  // the same in all lanes of a warp
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

// Points with more candidates: all clusters. Launch shape: a block of 256 threads for each point, the grid's stride.
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
    __syncthreads();  // every warp's nearest is there
    if (threadIdx.x < 32) {
      nearest = near[lane % 8];
      for (int lanes = 4; lanes > 0; lanes /= 2) nearest.meet_lanes(lanes);
      settle(job, lane == 0, point, nearest.cluster);
    }
    __syncthreads();  // read, before the next point's are written
  }
}

// ------------------------------------------------------------------------------------------------ the engine

/// What an iteration leaves for the host.
struct StepOutcome {
  PassCounters counters;
  UpdateState update;
};

template <class T>
class TensorEngine {
 public:
  using LeavesLabelsOnGpu = void;

  explicit TensorEngine(CudaJob<T>& job)
      : job_(job), stride_(static_cast<int>(tensor_padded(job.problem().d(), tensor_columns))),
        padded_clusters_(static_cast<int>(tensor_padded(job.problem().k(), tensor_clusters))), sums_(job.problem()),
        half_points_(job.problem().n() * stride_), half_centroids_(std::int64_t{padded_clusters_} * stride_),
        half_squares_(padded_clusters_), point_lengths_(job.problem().n()), cluster_lengths_(padded_clusters_ + 1),
        columns_(3 * job.problem().d()), units_(2 * job.problem().d()), labels_(job.problem().n()),
        lists_(list_words * job.problem().n()), candidates_(candidate_room * job.problem().n()),
        cluster_counters_(2 * job.problem().k()), centroids_(job.problem().k() * job.problem().d()),
        next_(centroids_.size()), parts_(2 * job.problem().k()), outcome_(1), host_outcome_(1),
        portions_(job.problem().stop, 0x1p38) {
    describe();
    prepare_points();
  }

  static std::uint64_t bytes(const Problem<T>& problem) { return cuda_tensor_bytes(shape_of(problem)); }

  Steps advance(MatrixView<T> centroids, StopRules rules, std::vector<Phase>& phases) {
    const cuda::Stream& stream = job_.stream();
    job_.add_upload_phase(phases);
    core::PhaseTimer timer(phases, "iterate");
    centroids_.copy_from_host(centroids.data(), centroids_.size(), stream);
    stream.wait();
    Steps steps;
    steps.inertia_is_explained = true;
    const auto start = core::Clock::now();
    while (static_cast<int>(steps.records.size()) < rules.iterations) {
      const auto step_start = core::Clock::now();
      launch_pass();
      launch_update();
      fetch_outcome();
      const UpdateState& update = host_outcome_[0].update;
      steps.needs_frame = pass_is_pending_ = is_for_the_frame(update);
      if (pass_is_pending_) break;
      std::swap(centroids_, next_);
      steps.same_centroids = update.different == 0;
      const std::int64_t changed = host_outcome_[0].counters.changed;
      steps.records.push_back({update.explained, changed, update.shift, core::seconds_since(step_start)});
      if (changed == 0 || (rules.shift_limit > 0 && update.shift <= rules.shift_limit) ||
          (rules.changed_limit > 0 && changed <= rules.changed_limit))
        break;
      if (core::seconds_since(start) > look_seconds) break;
    }
    centroids_.copy_to_host(centroids.data(), centroids_.size(), stream);
    stream.wait();
    return steps;
  }

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) {
    if (!pass_is_pending_) run_pass(centroids);
    pass_is_pending_ = false;
    fetch(labels);
    return {static_cast<std::int64_t>(host_outcome_[0].counters.changed)};
  }

  const ExactSums<T>& sums() const { return sums_; }

  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool labels_are_current) {
    const cuda::Stream& stream = job_.stream();
    if (!labels_are_current) run_pass(centroids);
    fetch(labels);
    point_at_centroids();
    const Statistics& statistics = job_.problem().statistics;
    exact_inertia_by_rows<<<blocks(4), 128, 0, stream>>>(update_, statistics.inertia, inertia_.cleared(stream));
    cuda::check_launch("exact_inertia_by_rows");
    return inertia_.fetch(statistics.inertia, statistics.weight_exponent, stream).template round<double>();
  }

  double rechecked() const {
    return assignments_ > 0 ? static_cast<double>(rechecked_) / static_cast<double>(assignments_) : 0.0;
  }

 private:
  static constexpr std::int64_t list_words = tensor_list_words;  // of four bytes, for each point; see describe()
  static constexpr double look_seconds = 0.25;  // between two looks of the host at the progress and a stop request

  // The streamed kernels have 512 threads, the others 256.
  using Few = Tile<true>;
  using Many = Tile<false>;

  bool is_resident() const { return stride_ <= tensor_resident_columns; }

  unsigned int blocks(int per_multiprocessor) const {
    return static_cast<unsigned int>(per_multiprocessor * job_.gpu().multiprocessors);
  }

  void describe() {
    const Problem<T>& problem = job_.problem();
    const Statistics& statistics = problem.statistics;
    const std::int64_t n = problem.n();
    const std::int64_t d = problem.d();
    const std::int64_t k = problem.k();

    host_columns_.resize(static_cast<std::size_t>(2 * d));
    host_units_.resize(static_cast<std::size_t>(2 * d));
    double half = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const auto column = static_cast<std::size_t>(dim);
      const double middle = statistics.middle[column];
      half = std::max({half, statistics.highest[column] - middle, middle - statistics.lowest[column]});
      // Rows of unit length: a centroid may lie outside the points' own range, but not beyond 1.
      if (problem.metric == Metric::cosine) half = std::max(half, 1 + std::abs(middle));
      host_columns_[column] = middle;
      host_columns_[column + static_cast<std::size_t>(d)] = statistics.columns[column].to_high;
      host_units_[column] = statistics.columns[column].unit;
      host_units_[column + static_cast<std::size_t>(d)] = statistics.is_on_grid(dim) ? 1 : 0;
    }
    // Smaller data stay below the constant of tensor_bound(): their squares underflow in the canonical chain.
    constexpr int least_exponent = -400;
    conversion_ = {columns_.data(), std::ldexp(1.0, tensor_exponent - core::exponent_above(half, least_exponent)),
                   static_cast<int>(d), stride_};

    const auto list = [&](std::int64_t index) { return lists_.data() + index * n; };
    filter_.points = half_points_.data();
    filter_.centroids = half_centroids_.data();
    filter_.half_squares = half_squares_.data();
    filter_.point_lengths = point_lengths_.data();
    filter_.cluster_lengths = cluster_lengths_.data();
    filter_.largest = cluster_lengths_.data() + padded_clusters_;
    filter_.n = n;
    filter_.k = static_cast<int>(k);
    filter_.stride = stride_;
    filter_.cluster_tiles = padded_clusters_ / tensor_clusters;
    filter_.labels = labels_.data();
    filter_.moved_points = list(0);
    filter_.moved_from = list(1);
    filter_.counters = &outcome_.data()->counters;
    filter_.doubtful = list(2);
    filter_.reaches = reinterpret_cast<float*>(list(3));
    filter_.limits = reinterpret_cast<float*>(list(4));
    filter_.noted = reinterpret_cast<unsigned int*>(list(5));
    filter_.crowded = reinterpret_cast<unsigned int*>(list(6));
    filter_.candidates = candidates_.data();

    update_.points = job_.points();
    update_.weights = job_.weights();
    update_.n = n;
    update_.d = static_cast<int>(d);
    update_.k = static_cast<int>(k);
    update_.labels = labels_.data();
    update_.moved_points = filter_.moved_points;
    update_.moved_from = filter_.moved_from;
    update_.counters = filter_.counters;
    update_.middle = columns_.data();
    update_.to_high = columns_.data() + d;
    update_.units = units_.data();
    update_.on_grid = units_.data() + d;
    update_.to_low = statistics.columns.front().to_low;
    update_.bits = statistics.columns.front().bits;
    update_.weight = statistics.weight;
    update_.weights_on_grid = statistics.weights_are_on_grid();
    update_.weight_scale = statistics.weight_scale;
    update_.coordinate_scale = statistics.coordinate_scale;
    device_sums_ = cuda::DeviceBuffer<Word>(sum_words(update_));
    update_.sums = device_sums_.data();
    update_.sizes = cluster_counters_.data();
    update_.cursors = cluster_counters_.data() + k;
    update_.order = reinterpret_cast<unsigned int*>(list(7));
    update_.parts = parts_.data();
    update_.state = &outcome_.data()->update;
    update_.relocates = problem.empty != EmptyCluster::keep;
    update_.to_unit_length = problem.metric == Metric::cosine;
  }

  void prepare_points() {
    const cuda::Stream& stream = job_.stream();
    columns_.copy_from_host(host_columns_.data(), static_cast<std::int64_t>(host_columns_.size()), stream);
    units_.copy_from_host(host_units_.data(), units_.size(), stream);
    labels_.fill_bytes(0xff, stream);  // no cluster yet
    device_sums_.clear(stream);
    const auto shared = static_cast<std::size_t>(cuda_tensor_shared(stride_));
    cuda::allow_shared_memory(is_resident() ? reinterpret_cast<const void*>(find_nearest<true>)
                                            : reinterpret_cast<const void*>(find_nearest<false>),
                              shared);
    cuda::allow_shared_memory(is_resident() ? reinterpret_cast<const void*>(note_candidates<true>)
                                            : reinterpret_cast<const void*>(note_candidates<false>),
                              shared);
    convert_points<<<blocks(8), 256, 0, stream>>>(job_.points(), filter_.n, conversion_, half_points_.data(),
                                                  point_lengths_.data());
    cuda::check_launch("convert_points");
    stream.wait();
  }

  void point_at_centroids() {
    update_.centroids = centroids_.data();
    update_.next = next_.data();
  }

  /// New labels for the centroids on the GPU.
  void launch_pass() {
    const cuda::Stream& stream = job_.stream();
    outcome_.clear(stream);
    cuda::check(cudaMemsetAsync(cluster_lengths_.data() + padded_clusters_, 0, sizeof(TensorLengths), stream),
                "cudaMemsetAsync");
    convert_centroids<<<blocks_for(std::int64_t{padded_clusters_} * 32, 256), 256, 0, stream>>>(
        centroids_.data(), filter_.k, padded_clusters_, conversion_, half_centroids_.data(), half_squares_.data(),
        cluster_lengths_.data(), cluster_lengths_.data() + padded_clusters_);
    cuda::check_launch("convert_centroids");
    const std::int64_t tile = is_resident() ? Few::points : Many::points;
    const double operations = static_cast<double>(padded_clusters_) * stride_;
    earlier_doubtful_ = 0;
    portions_.run(filter_.n, operations, tile, stream, [&](std::int64_t first, std::int64_t count) {
      if (first > 0) forget_doubtful();
      launch_assignment(first, count);
    });
    launch_sums();
  }

  /// Before the next portion: the lists of doubtful points begin anew.
  void forget_doubtful() {
    outcome_.copy_to_host(host_outcome_.data(), 1, job_.stream());
    job_.stream().wait();
    earlier_doubtful_ += host_outcome_[0].counters.doubtful;
    PassCounters* counters = filter_.counters;
    for (unsigned int* counter : {&counters->doubtful, &counters->crowded})
      cuda::check(cudaMemsetAsync(counter, 0, sizeof *counter, job_.stream()), "cudaMemsetAsync");
  }

  /// New labels of `count` points from `first` on, which begins a tile.
  void launch_assignment(std::int64_t first, std::int64_t count) {
    const cuda::Stream& stream = job_.stream();
    filter_.first_point = first;
    const auto shared = static_cast<std::size_t>(cuda_tensor_shared(stride_));
    if (is_resident()) {
      find_nearest<true><<<blocks_for(count, Few::points), Few::threads, shared, stream>>>(filter_);
      cuda::check_launch("find_nearest");
      note_candidates<true><<<blocks(2), Few::threads, shared, stream>>>(filter_);
    } else {
      find_nearest<false><<<blocks_for(count, Many::points), Many::threads, shared, stream>>>(filter_);
      cuda::check_launch("find_nearest");
      note_candidates<false><<<blocks(1), Many::threads, shared, stream>>>(filter_);
    }
    cuda::check_launch("note_candidates");
    const ChainJob<T> rows{job_.points(), centroids_.data(), update_.d};
    compare_candidates<T><<<blocks(8), 256, 0, stream>>>(filter_, rows);
    cuda::check_launch("compare_candidates");
    compare_all<T><<<blocks(8), 256, 0, stream>>>(filter_, rows);
    cuda::check_launch("compare_all");
  }

  void launch_sums() {
    const cuda::Stream& stream = job_.stream();
    point_at_centroids();
    cluster_counters_.clear(stream);
    const std::size_t counters = update_.k <= counted_in_shared ? static_cast<std::size_t>(update_.k) * 4 : 0;
    count_entries<T><<<blocks(2), order_threads, counters, stream>>>(update_);
    cuda::check_launch("count_entries");
    place_clusters<T><<<1, 1024, 0, stream>>>(update_);
    cuda::check_launch("place_clusters");
    order_entries<T><<<blocks(2), order_threads, counters, stream>>>(update_);
    cuda::check_launch("order_entries");
    if (update_.weights) add_entries<T, true><<<blocks(8), add_threads, 0, stream>>>(update_);
    else add_entries<T, false><<<blocks(8), add_threads, 0, stream>>>(update_);
    cuda::check_launch("add_entries");
  }

  void launch_update() {
    const cuda::Stream& stream = job_.stream();
    find_empty<T><<<blocks_for(update_.k, 256), 256, 0, stream>>>(update_);
    cuda::check_launch("find_empty");
    new_centroids<T><<<blocks(8), 256, 0, stream>>>(update_);
    cuda::check_launch("new_centroids");
    judge_centroids<T><<<blocks_for(std::int64_t{update_.k} * 32, 256), 256, 0, stream>>>(update_);
    cuda::check_launch("judge_centroids");
    judge_step<T><<<1, 256, 0, stream>>>(update_);
    cuda::check_launch("judge_step");
  }

  void fetch_outcome() {
    outcome_.copy_to_host(host_outcome_.data(), 1, job_.stream());
    job_.stream().wait();
    rechecked_ += earlier_doubtful_ + host_outcome_[0].counters.doubtful;
    assignments_ += filter_.n;
  }

  void run_pass(MatrixView<const T> centroids) {
    centroids_.copy_from_host(centroids.data(), centroids_.size(), job_.stream());
    launch_pass();
    fetch_outcome();
  }

  // The sums and the labels for the frame; null: the labels stay on the GPU.
  void fetch(std::int32_t* labels) {
    const cuda::Stream& stream = job_.stream();
    fetch_sums(device_sums_, sums_, stream);
    if (labels) {
      cuda::download(labels_, labels, filter_.n, job_.staging(), job_.threads(), stream);
      return;
    }
    cuda::check(cudaMemcpyAsync(job_.problem().labels_on_gpu, labels_.data(), static_cast<std::size_t>(filter_.n) * 4,
                                cudaMemcpyDeviceToDevice, stream),
                "cudaMemcpyAsync");
  }

  CudaJob<T>& job_;
  int stride_;
  int padded_clusters_;
  FilterJob filter_{};
  ExactUpdateJob<T> update_{};
  Conversion conversion_{};
  ExactSums<T> sums_;
  std::vector<double> host_columns_;
  std::vector<int> host_units_;
  cuda::DeviceBuffer<__half> half_points_;
  cuda::DeviceBuffer<__half> half_centroids_;
  cuda::DeviceBuffer<float> half_squares_;
  cuda::DeviceBuffer<TensorLengths> point_lengths_;
  cuda::DeviceBuffer<TensorLengths> cluster_lengths_;  ///< and the largest of all, behind the last
  cuda::DeviceBuffer<double> columns_;                 ///< middles; what scales to the high limb
  cuda::DeviceBuffer<int> units_;                      ///< of the columns' grids; whether these hold all values
  cuda::DeviceBuffer<std::int32_t> labels_;
  cuda::DeviceBuffer<std::int32_t> lists_;  ///< list_words lists of n
  cuda::DeviceBuffer<std::int32_t> candidates_;
  cuda::DeviceBuffer<unsigned int> cluster_counters_;
  cuda::DeviceBuffer<T> centroids_;
  cuda::DeviceBuffer<T> next_;
  cuda::DeviceBuffer<double> parts_;
  cuda::DeviceBuffer<Word> device_sums_;
  cuda::DeviceBuffer<StepOutcome> outcome_;
  DeviceTotal inertia_;
  cuda::PinnedBuffer<StepOutcome> host_outcome_;
  cuda::Portions portions_;
  std::int64_t earlier_doubtful_ = 0;  ///< in portions of the pass before the last one
  bool pass_is_pending_ = false;
  std::int64_t assignments_ = 0;
  std::int64_t rechecked_ = 0;
};

}  // namespace

template <class T>
KMeansResult<T> cuda_tensor(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  block_threads(execution, Tile<true>::threads);  // checked; but the tiles fix the number of threads
  CudaJob<T> job(problem, execution, Layout::rows, TensorEngine<T>::bytes(problem));
  TensorEngine<T> engine(job);
  return lloyd(problem, execution, engine, phases);
}

template KMeansResult<float> cuda_tensor(const Problem<float>&, const Execution&, std::vector<Phase>&);
template KMeansResult<double> cuda_tensor(const Problem<double>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::kmeans_detail
