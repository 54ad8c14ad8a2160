// cuda_tiled_privatized: tiles of second points and a histogram for each block, both in shared memory.
//
// What changes from `cuda_tiled`: the histogram of `cuda_privatized` beside the tile. No thread touches global memory
// while it counts the pairs of a tile, neither for points nor for counts.
//
// It is the fastest of the four kernels of the published experiment. What it does for each pair is now arithmetic: the
// square root and the division in double take longer than everything else together.
//
// A barrier is missed easily here: the first tile may be filled only after the histogram is empty (which does no harm,
// they lie apart), a tile may be overwritten only when no thread reads it any more, and the histogram may be flushed
// only when all threads have added their last pair. The first and the last are the histogram's barriers, the others the
// tile's. A thread without a point of its own must not leave early, since the others wait for it there.
//
// Work for each pair: 8 operations, a square root and a division in double, an addition in shared memory. Shared memory
// of a block: 4 elements for each thread and 4 bytes for each bin (28 with weights), which must fit.
// Source: as `cuda_tiled` and `cuda_privatized`.
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread for each first point. All threads of a block stay for its barriers.
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
