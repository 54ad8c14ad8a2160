// cuda_lane_copies: a block keeps several copies of its histogram, and each lane of a warp adds to one of them.
//
// What changes from `cuda_tiled_privatized`: there, the additions of two threads of a warp to the same bin are
// serialised. With 80 bins and 32 threads this happens in nearly every step. Here lane l adds to copy l modulo the
// number of copies. With 32 copies no two lanes of a warp ever share a counter.
//
// The copies of a slot's counter are adjacent. Shared memory has 32 banks, which hold consecutive 4-byte words in turn.
// Each bank serves one address at a time. With 32 copies lane l always accesses bank l, whatever the bin. Bank
// conflicts therefore do not occur. Adding up the copies at the end costs `copies` additions per slot and block.
//
// Work per pair: as before. Shared memory per block: a tile, and 4 bytes per bin and copy. Limits: the number of copies
// starts at 32 and is halved until the copies fit in 32 KiB. A single copy must fit in shared memory.
// Source: N. Pitaksirianan, Z. Nouri, Y.-C. Tu, "Efficient 2-body statistics computation on GPUs" (2016). There, too,
// the lane's number selects the copy.
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread per first point. No thread returns early, because all must reach the barriers.
template <class T, bool periodic, bool weighted>
__global__ void count_lane_copies(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  Tile<T> tile(memory);
  BlockHistogram<weighted> histogram(memory + tile_bytes(blockDim.x, sizeof(T), weighted), job.bins.slots(), job.copies,
                                     job.histogram);
  const int copy = static_cast<int>(threadIdx.x) & (job.copies - 1);  // `copies` is a power of two
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
