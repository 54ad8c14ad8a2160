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
// 4 bytes for each bin, 28 with weights. Limits: it must fit, which it does up to some 58,000 bins on a GPU with 227
// KiB. Source: privatisation of output; for 2-body statistics: N. Pitaksirianan, Z. Nouri, Y.-C. Tu, "Efficient 2-body
// statistics computation on GPUs" (2016).
#include "pair_histogram/cuda_common.hpp"
#include "pair_histogram/variants.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread for each first point. All threads of a block stay for its barriers.
template <class T, bool periodic, bool weighted>
__global__ void count_privatized(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  BlockHistogram<weighted> histogram(memory, job.bins.slots(), 1, job.histogram);
  const FirstPoint<T, weighted> first(job);
  const std::int64_t end = first.exists ? job.end : 0;
  for (std::int64_t second = job.first_partner(first.number); second < end; ++second) {
    const double squared = job.template squared_distance<periodic>(first.place, job.second[second]);
    const std::int64_t weight = weighted ? job.second.weight(second) : 0;
    histogram.add(job.bins.slot(squared), 0, job.template weight<weighted>(first.weight, weight));
  }
  histogram.flush(job.histogram);
}

}  // namespace

template <class T>
Histogram cuda_privatized(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, 256);
  CudaPairs<T> pairs(problem, execution, phases);
  with_constants(problem, [&](auto periodic, auto weighted) {
    pairs.count("count_privatized", count_privatized<T, periodic, weighted>, threads,
                block_histogram_bytes(problem.bins.slots(), weighted, 1));
  });
  return pairs.histogram();
}

template Histogram cuda_privatized(const Problem<float>&, const Execution&, std::vector<Phase>&);
template Histogram cuda_privatized(const Problem<double>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::pair_histogram_detail
