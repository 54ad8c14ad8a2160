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
// of a block: 4 elements for each thread. Limits: none beyond the GPU's memory.
// Source: tiling of the n-body problem: L. Nyland, M. Harris, J. Prins, "Fast n-body simulation with CUDA" (2007).
#include "pair_histogram/cuda_common.hpp"
#include "pair_histogram/variants.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launch shape: one thread for each first point. All threads of a block stay for its barriers.
template <class T, bool periodic, bool weighted>
__global__ void count_tiled(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  Tile<T> tile(memory);
  const FirstPoint<T, weighted> first(job);
  const std::int64_t block_begin = job.first_partner(std::int64_t{blockIdx.x} * blockDim.x);
  const std::int64_t own_begin = job.first_partner(first.number);
  for (std::int64_t begin = block_begin; begin < job.end; begin += blockDim.x) {
    tile.load(job.second, begin, job.end);
    if (!first.exists) continue;
    for (int place = own_begin > begin ? static_cast<int>(own_begin - begin) : 0; place < tile.count(); ++place) {
      const double squared = job.template squared_distance<periodic>(first.place, tile[place]);
      const std::int64_t weight = weighted ? tile.weight(place) : 0;
      job.histogram.template add<weighted>(job.bins.slot(squared), job.template weight<weighted>(first.weight, weight));
    }
  }
}

}  // namespace

template <class T>
Histogram cuda_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, 256);
  CudaPairs<T> pairs(problem, execution, phases);
  with_constants(problem, [&](auto periodic, auto weighted) {
    pairs.count("count_tiled", count_tiled<T, periodic, weighted>, threads, tile_bytes(threads, sizeof(T), weighted));
  });
  return pairs.histogram();
}

template Histogram cuda_tiled(const Problem<float>&, const Execution&, std::vector<Phase>&);
template Histogram cuda_tiled(const Problem<double>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::pair_histogram_detail
