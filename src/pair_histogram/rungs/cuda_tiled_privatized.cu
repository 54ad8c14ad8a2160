// cuda_tiled_privatized: both the tile of second points and the block's histogram are in shared memory.
//
// What changes from `cuda_tiled`: the block's histogram joins the tile in shared memory, as in `cuda_privatized`. While
// a thread counts the pairs of a tile, it accesses global memory neither for points nor for counts.
//
// This is the fastest of the four kernels of the published experiment. Arithmetic now determines the time per pair: the
// square root and the division in double take longer than everything else together.
//
// Three places need barriers. The first tile is filled after the histogram is cleared. (This order is not essential,
// since tile and histogram do not overlap.) A tile is overwritten only when no thread reads it any more. The histogram
// is flushed only when all threads have added their last pair. BlockHistogram has the first and the last barrier, Tile
// has the others. A thread without a first point must not return early, because the other threads wait for it at the
// barriers.
//
// Work per pair: 8 operations, a square root and a division in double, and an addition in shared memory. Shared memory
// per block: 4 elements per thread and 4 bytes per bin (28 with weights).
// Limits: tile and histogram must fit in shared memory.
// Source: as `cuda_tiled` and `cuda_privatized`.
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread per first point. No thread returns early, because all must reach the barriers.
template <class T, Space space, bool weighted>
__global__ void count_tiled_privatized(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  Tile<T> tile(memory);
  BlockHistogram<weighted> histogram(memory + tile_bytes(blockDim.x, sizeof(T), weighted), job.bins.slots(), 1,
                                     job.histogram);
  const FirstPoint<T, weighted> first(job);
  const std::int64_t block_begin = job.first_partner(std::int64_t{blockIdx.x} * blockDim.x);
  const std::int64_t own_begin = job.first_partner(first.number);
  for (std::int64_t begin = block_begin; begin < job.end; begin += blockDim.x) {
    tile.load(job.second, begin, job.end);
    if (!first.exists) continue;
    for (int place = own_begin > begin ? static_cast<int>(own_begin - begin) : 0; place < tile.count(); ++place) {
      const double squared = job.template squared_distance_in<space>(first.place, tile[place]);
      const std::int64_t weight = weighted ? tile.weight(place) : 0;
      histogram.add(job.bins.slot(squared), 0, job.template weight<weighted>(first.weight, weight));
    }
  }
  histogram.flush(job.histogram);
}

}  // namespace

template <class T>
Histogram cuda_tiled_privatized(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, 256);
  CudaPairs<T> pairs(problem, execution, phases);
  with_space(problem, [&](auto space, auto weighted) {
    pairs.count("count_tiled_privatized", count_tiled_privatized<T, space, weighted>, threads,
                tile_bytes(threads, sizeof(T), weighted) + block_histogram_bytes(problem.bins.slots(), weighted, 1));
  });
  return pairs.histogram();
}

}  // namespace gradus::pair_histogram_detail
#endif

namespace gradus::pair_histogram_detail {

extern constinit const Variant cuda_tiled_privatized_rung{
    .name = "cuda_tiled_privatized",
    .summary = "tiles of second points and a histogram for each block in shared memory",
    .change = "no global memory while a tile is counted",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = histogram_of_cells_in_shared,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_tiled_privatized<float>, cuda_tiled_privatized<double>),
};

}  // namespace gradus::pair_histogram_detail
