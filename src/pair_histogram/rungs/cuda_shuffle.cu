// cuda_shuffle: a warp holds second points in registers, one per lane, and broadcasts them with shuffles.
//
// What changes from `cuda_lane_copies`: there is no tile in shared memory. A warp loads 32 second points into the
// registers of its lanes. In step k a shuffle gives all lanes the point of lane k. Shuffles move registers between
// lanes without memory. Shared memory now holds only the histogram, and no barrier remains between the start and the
// end of the kernel. The warps of a block no longer wait for each other, and each starts at its own place in the
// triangle of pairs.
//
// A shuffle moves 32 bits and uses the same hardware unit as shared memory. A point of three doubles takes six
// shuffles, but only three broadcasts from a tile. The rung therefore trades barriers and shared memory for shuffles.
// This pays off where shared memory is scarce, or where loading a point costs little compared with the arithmetic.
//
// All lanes must take part in every shuffle, including lanes without a first point and lanes whose pair does not count.
//
// Work per pair: as before, and 3 shuffled elements. Shared memory per block: 4 bytes per bin and copy.
// Limits: as `cuda_lane_copies`.
// Source: N. Pitaksirianan, Z. Nouri, Y.-C. Tu, "Efficient 2-body statistics computation on GPUs" (2016), the variant
// that shares the content of registers.
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "pair_histogram/gpu/cuda_common.hpp"

namespace gradus::pair_histogram_detail {

namespace {

constexpr unsigned int all_lanes = 0xffffffffU;
constexpr int warp_lanes = 32;

// A second point in the registers of a lane. Coordinates keep their type, because a float takes one shuffle but a
// double two.
template <class T, bool weighted>
struct HeldPoint {
  T x = 0;
  T y = 0;
  T z = 0;
  std::int64_t weight = 0;

  __device__ HeldPoint(const DevicePoints<T>& points, std::int64_t number, std::int64_t end) {
    if (number >= end) return;
    x = points.x[number];
    y = points.y[number];
    z = points.z[number];
    if constexpr (weighted) weight = points.weights[number];
  }
  __device__ Place place_of_lane(int lane) const {
    return {static_cast<double>(__shfl_sync(all_lanes, x, lane)), static_cast<double>(__shfl_sync(all_lanes, y, lane)),
            static_cast<double>(__shfl_sync(all_lanes, z, lane))};
  }
  __device__ std::int64_t weight_of_lane(int lane) const {
    if constexpr (weighted) return __shfl_sync(all_lanes, weight, lane);
    else return 0;
  }
};

// Launch shape: one thread per first point. No thread returns early, because all must reach the barriers and shuffles.
template <class T, bool periodic, bool weighted>
__global__ void count_shuffle(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  BlockHistogram<weighted> histogram(memory, job.bins.slots(), job.copies, job.histogram);
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int copy = lane & (job.copies - 1);  // `copies` is a power of two
  const FirstPoint<T, weighted> first(job);
  const std::int64_t own_begin = first.exists ? job.first_partner(first.number) : job.end;
  for (std::int64_t begin = job.first_partner(first.number - lane); begin < job.end; begin += warp_lanes) {
    const HeldPoint<T, weighted> held(job.second, begin + lane, job.end);
    const int count = static_cast<int>(job.end - begin < warp_lanes ? job.end - begin : warp_lanes);
    for (int step = 0; step < count; ++step) {
      const Place second = held.place_of_lane(step);
      const std::int64_t weight = held.weight_of_lane(step);
      if (begin + step < own_begin) continue;
      const double squared = job.template squared_distance<periodic>(first.place, second);
      histogram.add(job.bins.slot(squared), copy, job.template weight<weighted>(first.weight, weight));
    }
  }
  histogram.flush(job.histogram);
}

}  // namespace

template <class T>
Histogram cuda_shuffle(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, 256);
  CudaPairs<T> pairs(problem, execution, phases);
  const std::int64_t slots = problem.bins.slots();
  pairs.job().copies = histogram_copies(slots, problem.weighted());
  with_constants(problem, [&](auto periodic, auto weighted) {
    pairs.count("count_shuffle", count_shuffle<T, periodic, weighted>, threads,
                block_histogram_bytes(slots, weighted, pairs.job().copies));
  });
  return pairs.histogram();
}

}  // namespace gradus::pair_histogram_detail
#endif

namespace gradus::pair_histogram_detail {

extern constinit const Variant cuda_shuffle_rung{
    .name = "cuda_shuffle",
    .summary = "second points in the registers of a warp, broadcast by shuffles",
    .change = "no tile, no barriers between the warps of a block",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = histogram_in_shared,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_shuffle<float>, cuda_shuffle<double>),
};

}  // namespace gradus::pair_histogram_detail
