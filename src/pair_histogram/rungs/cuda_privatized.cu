// cuda_privatized: a histogram for each block, in its shared memory; at the end it is added to the result.
//
// What changes from `cuda_naive`: shared memory lies beside the arithmetic units of a multiprocessor, and only the
// threads of one block see it. An atomic addition there takes a few cycles, disturbs no other multiprocessor, and of
// equal counters in one warp the hardware adds up the ones. Global memory sees an addition for each block and bin
// instead of one for each pair.
//
// Counters in shared memory have 32 bits, for which the hardware has an addition of its own; 64 bits would be a loop of
// compare-and-swap. They cannot overflow: a launch pairs a block's points, at most 1024, with at most 2^21 others, and
// at its end the counters are added to those of 64 bits.
//
// Work for each pair: as before, but the atomic addition is one of 32 bits in shared memory. Shared memory of a block:
// 4 bytes for each bin. Sums of weights stay in global memory; `cuda_tiled_privatized` makes them private too.
// Limits: the histogram must fit. The table asks for as much room as `cuda_tiled_privatized` takes: on a GPU with 227
// KiB some 50,000 bins fit, with weights some 7,000.
// Source: privatisation of output; for 2-body statistics: N. Pitaksirianan, Z. Nouri, Y.-C. Tu, "Efficient 2-body
// statistics computation on GPUs" (2016).
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread for each first point. All threads of a block stay for its barriers.
// Dynamic shared memory: a counter for each slot.
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

  __syncthreads();  // every addition of the block is there
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
    .change = "32-bit additions beside the arithmetic units instead of 64-bit ones in the second-level cache",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = histogram_in_shared,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_privatized<float>, cuda_privatized<double>),
};

}  // namespace gradus::pair_histogram_detail
