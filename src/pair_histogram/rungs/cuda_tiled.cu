// cuda_tiled: second points come tile by tile into the shared memory of a block; one histogram in the GPU's memory.
//
// What changes from `cuda_naive`: the threads of a block walk over the same second points. So they fetch them together,
// a tile of as many points as there are threads, each thread one point, and then every thread reads the whole tile from
// shared memory. A point is fetched once for each block instead of once for each warp, and its fetch is a coalesced
// one: 32 neighbours in one request.
//
// On early GPUs, without a cache for global memory, this was what made the difference; on those of today the
// first-level cache, which is the same memory, does nearly as well by itself, and the atomic additions hide what is
// left. The rung shows it, and prepares the next one.
//
// Two barriers for each tile: one before it is overwritten, one after it is there.
//
// Work for each pair: as `cuda_naive`. Bytes: a fetch from global memory for each block and second point. Shared memory
// of a block: 3 elements for each thread; weights, which are not this rung's matter, are read where they lie. Limits:
// none beyond the GPU's memory.
// Source: tiling of the n-body problem: L. Nyland, M. Harris, J. Prins, "Fast n-body simulation with CUDA" (2007).
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread for each first point. All threads of a block stay for its barriers.
// Dynamic shared memory: three elements for each thread.
template <class T, bool periodic, bool weighted>
__global__ void count_tiled(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* const x = reinterpret_cast<T*>(memory);
  T* const y = x + blockDim.x;
  T* const z = y + blockDim.x;
  const FirstPoint<T, weighted> first(job);
  const std::int64_t own_begin = job.first_partner(first.number);
  const std::int64_t block_begin = job.first_partner(std::int64_t{blockIdx.x} * blockDim.x);  // the least of the block
  for (std::int64_t begin = block_begin; begin < job.end; begin += blockDim.x) {
    const int count = static_cast<int>(min(job.end - begin, std::int64_t{blockDim.x}));
    const int mine = static_cast<int>(threadIdx.x);
    __syncthreads();  // no thread still reads the tile before
    if (mine < count) {
      x[mine] = job.second.x[begin + mine];
      y[mine] = job.second.y[begin + mine];
      z[mine] = job.second.z[begin + mine];
    }
    __syncthreads();  // the whole tile is there
    if (!first.exists) continue;
    // Of the tile in which a thread's own partners begin it leaves out those before them.
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
