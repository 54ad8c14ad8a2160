// cuda_privatized: each block counts in a histogram in its shared memory and adds it to the result at the end.
//
// What changes from `cuda_naive`: shared memory is next to the arithmetic units of a multiprocessor, and only the
// threads of one block access it. An atomic addition there takes a few cycles and disturbs no other multiprocessor.
// When several threads of a warp increment the same counter, the hardware combines the increments. Global memory
// receives one addition per block and bin instead of one per pair.
//
// Counters in shared memory have 32 bits, because the hardware adds 32-bit words atomically. A 64-bit addition would be
// a loop of compare-and-swap operations. The counters cannot overflow: a block has at most 1024 points, and a launch
// pairs them with at most 2^21 other points. At the end of the launch the counters are added to the 64-bit counts.
//
// Work per pair: as before, but the atomic addition has 32 bits and is in shared memory. Shared memory per block: 4
// bytes per bin. Sums of weights stay in global memory; `cuda_tiled_privatized` privatises them too. Limits: the
// histogram must fit in shared memory. The check assumes that a block needs as much shared memory as in
// `cuda_tiled_privatized`, which is more. With 227 KiB per block, about 50,000 bins fit, or about 7,000 with weights.
// Source: privatisation of output; for 2-body statistics: N. Pitaksirianan, Z. Nouri, Y.-C. Tu, "Efficient 2-body
// statistics computation on GPUs" (2016).
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread per first point. No thread returns early, because all must reach the barriers.
// Dynamic shared memory: one counter per slot.
template <class T, bool periodic, bool weighted>
__global__ void count_privatized(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const counts = reinterpret_cast<unsigned int*>(memory);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);

  for (int slot = thread; slot < job.bins.slots(); slot += threads) counts[slot] = 0;
  __syncthreads();  // every counter is zero before the first addition

  const FirstPoint<T, weighted> first(job);
  const std::int64_t end = first.exists ? job.end : 0;
  for (std::int64_t second = job.first_partner(first.number); second < end; ++second) {
    const int slot = job.bins.slot(job.template squared_distance<periodic>(first.place, job.second[second]));
    atomicAdd(&counts[slot], 1U);
    if constexpr (weighted) job.histogram.sums.add(slot, job.sums.product(first.weight, job.second.weight(second)));
  }

  __syncthreads();  // the block has finished all its additions
  for (int slot = thread; slot < job.bins.slots(); slot += threads)
    if (counts[slot] > 0) atomicAdd(&job.histogram.counts[slot], Word{counts[slot]});
}

}  // namespace

template <class T>
Histogram cuda_privatized(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, 256);
  CudaPairs<T> pairs(problem, execution, phases);
  with_constants(problem, [&](auto periodic, auto weighted) {
    pairs.count("count_privatized", count_privatized<T, periodic, weighted>, threads,
                block_histogram_bytes(problem.bins.slots(), false, 1));
  });
  return pairs.histogram();
}

}  // namespace gradus::pair_histogram_detail
#endif

namespace gradus::pair_histogram_detail {

extern constinit const Variant cuda_privatized_rung{
    .name = "cuda_privatized",
    .summary = "a histogram for each block, in its shared memory",
    .change = "32-bit additions in shared memory instead of 64-bit ones in the second-level cache",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = histogram_in_shared,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_privatized<float>, cuda_privatized<double>),
};

}  // namespace gradus::pair_histogram_detail
