// cuda_naive: one GPU thread per point pairs that point with all later points. All threads share a histogram in global
// memory.
//
// What changes from the CPU rungs: each first point gets its own thread, so the outer loop disappears. A GPU keeps
// hundreds of thousands of threads in flight. While some wait for memory, others compute. The points are stored in
// columns, so global loads are coalesced: the 32 threads of a warp load 32 consecutive first points at once. In the
// inner loop all 32 threads read the same second point, which the cache broadcasts.
//
// Every pair increments its bin with an atomic addition. Hundreds of thousands of threads share a few dozen counters,
// which occupy only a few lines of the second-level cache. Additions to the same line are serialised, and this rung
// spends most of its time waiting for them.
//
// The triangle of pairs gives the first threads the most work and the last ones hardly any. Blocks start in ascending
// order, so the long blocks start first and the short ones fill the gaps at the end.
//
// Work per pair: 8 operations, a square root and a division in double, and a 64-bit atomic addition in global memory.
// Bytes: 3 elements per 32 pairs, read from the caches. Limits: only the GPU's memory.
// Source: the first exercise of every CUDA course.
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread per first point. Surplus threads of the last block return at once.
template <class T, bool periodic, bool weighted>
__global__ void count_naive(PairJob<T> job) {
  const FirstPoint<T, weighted> first(job);
  if (!first.exists) return;
  for (std::int64_t second = job.first_partner(first.number); second < job.end; ++second) {
    const double squared = job.template squared_distance<periodic>(first.place, job.second[second]);
    const std::int64_t weight = weighted ? job.second.weight(second) : 0;
    job.histogram.template add<weighted>(job.bins.slot(squared), job.template weight<weighted>(first.weight, weight));
  }
}

}  // namespace

template <class T>
Histogram cuda_naive(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, 256);
  CudaPairs<T> pairs(problem, execution, phases);
  with_constants(problem, [&](auto periodic, auto weighted) {
    pairs.count("count_naive", count_naive<T, periodic, weighted>, threads, 0);
  });
  return pairs.histogram();
}

}  // namespace gradus::pair_histogram_detail
#endif

namespace gradus::pair_histogram_detail {

extern constinit const Variant cuda_naive_rung{
    .name = "cuda_naive",
    .summary = "a GPU thread for each point; one histogram, atomic additions in global memory",
    .change = "the loop over first points is spread over threads, the counts are atomic additions in the GPU's memory",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = along_axes_on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_naive<float>, cuda_naive<double>),
};

}  // namespace gradus::pair_histogram_detail
