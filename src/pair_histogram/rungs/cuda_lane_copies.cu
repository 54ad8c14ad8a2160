// cuda_lane_copies: several copies of a block's histogram, one for each lane of a warp or for a few of them.
//
// What changes from `cuda_tiled_privatized`: two threads of a warp whose pairs fall into one bin must add one after the
// other. With 80 bins and 32 threads that happens in nearly every step. So lane l adds to copy l modulo the number of
// copies, and with 32 of them no two lanes of a warp ever share a counter.
//
// The counters of a slot lie side by side, one for each copy. Shared memory has 32 banks of 4 bytes, which take turns
// word by word, and a bank serves one address at a time: with 32 copies lane l always goes to bank l, whatever the bin,
// so that there are no conflicts either. Adding up the copies at the end costs `copies` additions for each slot and
// block.
//
// Work for each pair: as before. Shared memory of a block: a tile, and 4 bytes for each bin and copy. Limits: where 32
// copies take more than 32 KiB, they are halved until they do not, down to one, which must fit.
// Source: N. Pitaksirianan, Z. Nouri, Y.-C. Tu, "Efficient 2-body statistics computation on GPUs" (2016), where the
// copy is chosen by the lane's number.
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread for each first point. All threads of a block stay for its barriers.
template <class T, bool periodic, bool weighted>
__global__ void count_lane_copies(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  Tile<T> tile(memory);
  BlockHistogram<weighted> histogram(memory + tile_bytes(blockDim.x, sizeof(T), weighted), job.bins.slots(), job.copies,
                                     job.histogram);
  const int copy = static_cast<int>(threadIdx.x) & (job.copies - 1);  // a power of two
  const FirstPoint<T, weighted> first(job);
  const std::int64_t block_begin = job.first_partner(std::int64_t{blockIdx.x} * blockDim.x);
  const std::int64_t own_begin = job.first_partner(first.number);
  for (std::int64_t begin = block_begin; begin < job.end; begin += blockDim.x) {
    tile.load(job.second, begin, job.end);
    if (!first.exists) continue;
    for (int place = own_begin > begin ? static_cast<int>(own_begin - begin) : 0; place < tile.count(); ++place) {
      const double squared = job.template squared_distance<periodic>(first.place, tile[place]);
      const std::int64_t weight = weighted ? tile.weight(place) : 0;
      histogram.add(job.bins.slot(squared), copy, job.template weight<weighted>(first.weight, weight));
    }
  }
  histogram.flush(job.histogram);
}

}  // namespace

template <class T>
Histogram cuda_lane_copies(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, 256);
  CudaPairs<T> pairs(problem, execution, phases);
  const std::int64_t slots = problem.bins.slots();
  pairs.job().copies = histogram_copies(slots, problem.weighted());
  with_constants(problem, [&](auto periodic, auto weighted) {
    pairs.count("count_lane_copies", count_lane_copies<T, periodic, weighted>, threads,
                tile_bytes(threads, sizeof(T), weighted) + block_histogram_bytes(slots, weighted, pairs.job().copies));
  });
  return pairs.histogram();
}

}  // namespace gradus::pair_histogram_detail
#endif

namespace gradus::pair_histogram_detail {

extern constinit const Variant cuda_lane_copies_rung{
    .name = "cuda_lane_copies",
    .summary = "several copies of a block's histogram, by lane",
    .change = "lanes of a warp never share a counter, nor a bank",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = histogram_in_shared,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_lane_copies<float>, cuda_lane_copies<double>),
};

}  // namespace gradus::pair_histogram_detail
