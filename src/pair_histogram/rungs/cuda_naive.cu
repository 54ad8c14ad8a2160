// cuda_naive: a GPU thread for each point, which pairs it with all later ones; one histogram in the GPU's memory.
//
// What changes from the rungs on the processor: the loop over the first points is gone. Each first point has a thread
// of its own, and a GPU keeps some hundred thousand of them in flight, so that while some wait, others compute. The
// points lie column by column: the 32 threads of a warp, which execute one instruction together, read 32 neighbours at
// once when they fetch their own points, and all of them the same element when they walk over the second points, which
// is one broadcast from the cache.
//
// Every pair adds one to the count of its bin, by an atomic addition: a hundred thousand threads for a few dozen
// counters, which all lie in a few lines of the second-level cache. Additions to one line are done one after the other,
// and that is what this rung waits for.
//
// The triangle of pairs gives the first threads the most work, the last ones hardly any. Blocks start in ascending
// order, so that the long ones start first and the short ones fill the end.
//
// Work for each pair: 8 operations, a square root and a division in double, an atomic addition of 64 bits in global
// memory. Bytes: the second points from the caches, 3 elements for 32 pairs. Limits: none beyond the GPU's memory.
// Source: the first exercise of every CUDA course.
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread for each first point; the last block's surplus threads have none.
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
