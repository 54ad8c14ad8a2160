// cuda_tiled: each block loads the second points tile by tile into its shared memory. All blocks share a histogram in
// global memory.
//
// What changes from `cuda_naive`: the threads of a block need the same second points, so they load them together. A
// tile has as many points as the block has threads, and each thread loads one point. Every thread then reads the whole
// tile from shared memory. A point is loaded once per block instead of once per warp, and the loads are coalesced: one
// request for 32 consecutive points.
//
// On early GPUs, which did not cache global memory, tiling was essential. On today's GPUs the first-level cache is in
// the same memory as the tiles, so loads without tiling are nearly as fast. The atomic additions hide the remaining
// difference. The rung shows this and prepares the next one.
//
// Each tile needs two barriers: one before the tile is overwritten and one after it is filled.
//
// Work per pair: as in `cuda_naive`. Bytes: one load from global memory per block and second point. Shared memory per
// block: 3 elements per thread. Weights are not tiled; they are read from global memory. Limits: only the GPU's memory.
// Source: tiling of the n-body problem: L. Nyland, M. Harris, J. Prins, "Fast n-body simulation with CUDA" (2007).
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread per first point. No thread returns early, because all must reach the barriers.
// Dynamic shared memory: three elements per thread.
template <class T, bool periodic, bool weighted>
__global__ void count_tiled(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* const x = reinterpret_cast<T*>(memory);
  T* const y = x + blockDim.x;
  T* const z = y + blockDim.x;
  const FirstPoint<T, weighted> first(job);
  const std::int64_t own_begin = job.first_partner(first.number);
  // The first partner of the block's first point.
  const std::int64_t block_begin = job.first_partner(std::int64_t{blockIdx.x} * blockDim.x);
  for (std::int64_t begin = block_begin; begin < job.end; begin += blockDim.x) {
    const int count = static_cast<int>(min(job.end - begin, std::int64_t{blockDim.x}));
    const int mine = static_cast<int>(threadIdx.x);
    __syncthreads();  // no thread reads the previous tile any more
    if (mine < count) {
      x[mine] = job.second.x[begin + mine];
      y[mine] = job.second.y[begin + mine];
      z[mine] = job.second.z[begin + mine];
    }
    __syncthreads();  // the whole tile is filled
    if (!first.exists) continue;
    // Skips the points of the tile that precede this thread's first partner.
    for (int place = static_cast<int>(max(own_begin - begin, std::int64_t{0})); place < count; ++place) {
      const Place second{static_cast<double>(x[place]), static_cast<double>(y[place]), static_cast<double>(z[place])};
      const int slot = job.bins.slot(job.template squared_distance<periodic>(first.place, second));
      atomicAdd(&job.histogram.counts[slot], Word{1});
      if constexpr (weighted)
        job.histogram.sums.add(slot, job.sums.product(first.weight, job.second.weight(begin + place)));
    }
  }
}

}  // namespace

template <class T>
Histogram cuda_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, 256);
  CudaPairs<T> pairs(problem, execution, phases);
  with_constants(problem, [&](auto periodic, auto weighted) {
    pairs.count("count_tiled", count_tiled<T, periodic, weighted>, threads, tile_bytes(threads, sizeof(T), false));
  });
  return pairs.histogram();
}

}  // namespace gradus::pair_histogram_detail
#endif

namespace gradus::pair_histogram_detail {

extern constinit const Variant cuda_tiled_rung{
    .name = "cuda_tiled",
    .summary = "second points tile by tile in shared memory; one histogram in global memory",
    .change = "against `cuda_naive`: a point is fetched once for each block",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = along_axes_on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_tiled<float>, cuda_tiled<double>),
};

}  // namespace gradus::pair_histogram_detail
