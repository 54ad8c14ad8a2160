// An upper bound of all distances of a graph without negative edges. The hub is a chosen vertex. Any distance is at
// most the longest distance to the hub plus the longest distance from the hub. The arithmetic can then be as narrow as
// the distances allow, however heavy some edges are: an edge that is heavier than the bound is on no shortest route.
//
// Any routes to and from the hub give a valid bound. Initially these routes are single edges. Each pass over the matrix
// extends the routes to the hub by one edge in front, and the routes from the hub by one edge at the end, if this
// shortens the routes. A pass reads the matrix twice, as often as a round of 64 intermediate vertices does.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "shortest_paths/gpu/cuda_distances.hpp"

namespace gradus::shortest_paths_detail {

/// The lengths of the routes to and from the hub, and the greatest of all these lengths. They are stored in words that
/// CUDA's atomic operations support.
struct HubWays {
  using Word = cuda::Job::Word;
  Word* to;
  Word* from;
  Word* longest;
};

inline constexpr int hub_threads = 256;
inline constexpr int hub_rows = 64;

// Launch shape: one thread per vertex. The hub is vertex 0.
template <class T>
__global__ void begin_at_hub(const T* weights, std::int64_t n, HubWays ways) {
  const std::int64_t vertex = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vertex >= n) return;
  ways.to[vertex] = static_cast<HubWays::Word>(weights[vertex * n]);
  ways.from[vertex] = static_cast<HubWays::Word>(weights[vertex]);
}

// Launch shape: one block per vertex, which reads the row of that vertex. A thread may read a length that another
// thread shortens concurrently, because each value is the length of some route.
template <class T>
__global__ void __launch_bounds__(hub_threads) shorten_ways_to_hub(const T* weights, std::int64_t n, HubWays ways) {
  const std::int64_t vertex = blockIdx.x;
  HubWays::Word best = ways.to[vertex];
  for (std::int64_t next = threadIdx.x; next < n; next += hub_threads)
    best = min(best, static_cast<HubWays::Word>(weights[vertex * n + next]) + ways.to[next]);
  for (int lanes = 16; lanes > 0; lanes /= 2) best = min(best, __shfl_down_sync(0xffffffffu, best, lanes));
  if (threadIdx.x % 32 == 0) atomicMin(&ways.to[vertex], best);
}

// Launch shape: in x, one thread per vertex, which reads its column; in y, `hub_rows` rows per block.
template <class T>
__global__ void __launch_bounds__(hub_threads) shorten_ways_from_hub(const T* weights, std::int64_t n, HubWays ways) {
  const std::int64_t vertex = std::int64_t{blockIdx.x} * hub_threads + threadIdx.x;
  if (vertex >= n) return;
  const std::int64_t first = std::int64_t{blockIdx.y} * hub_rows;
  const std::int64_t end = min(first + hub_rows, n);
  HubWays::Word best = ways.from[vertex];
  for (std::int64_t before = first; before < end; ++before)
    best = min(best, ways.from[before] + static_cast<HubWays::Word>(weights[before * n + vertex]));
  atomicMin(&ways.from[vertex], best);
}

// Launch shape: one thread per vertex. `longest` must be 0 initially.
__global__ inline void find_longest_ways(std::int64_t n, HubWays ways) {
  const std::int64_t vertex = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vertex >= n) return;
  atomicMax(&ways.longest[0], ways.to[vertex]);
  atomicMax(&ways.longest[1], ways.from[vertex]);
}

/// Returns true if a few passes prove that all distances are at most `most`. No edge may be negative.
template <class T>
bool is_within_by_hub(CudaDistances<T>& distances, HubWays::Word most) {
  constexpr int passes = 3;
  const std::int64_t n = distances.n();
  const cuda::Stream& stream = distances.stream();
  HubWays::Word* const words = distances.job().scratch(2 * n + 2);
  const HubWays ways{words + 2, words + 2 + n, words};
  const unsigned int blocks = cuda::blocks_for(n, hub_threads);
  begin_at_hub<<<blocks, hub_threads, 0, stream>>>(distances.data(), n, ways);
  for (int pass = 0;; ++pass) {
    cuda::check(cudaMemsetAsync(ways.longest, 0, 2 * sizeof(HubWays::Word), stream), "cudaMemsetAsync");
    find_longest_ways<<<blocks, hub_threads, 0, stream>>>(n, ways);
    cuda::check_launch("find_longest_ways");
    HubWays::Word longest[2] = {};
    cuda::fetch_part(ways.longest, std::span<HubWays::Word>(longest), stream);
    if (longest[0] + longest[1] <= most) return true;
    if (pass == passes) return false;
    shorten_ways_to_hub<<<static_cast<unsigned int>(n), hub_threads, 0, stream>>>(distances.data(), n, ways);
    shorten_ways_from_hub<<<dim3(blocks, cuda::blocks_for(n, hub_rows)), hub_threads, 0, stream>>>(distances.data(), n,
                                                                                                   ways);
    cuda::check_launch("shorten_ways_from_hub");
  }
}

}  // namespace gradus::shortest_paths_detail
