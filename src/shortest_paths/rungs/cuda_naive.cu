// cuda_naive: the textbook's outermost loop stays on the CPU. For each intermediate vertex it launches a kernel with
// one thread per pair of vertices.
//
// What changes from the CPU rungs: N^2 threads run at once. No thread of a launch waits for another. While `via` is the
// intermediate vertex, neither its row nor its column changes, because without negative cycles a route from a vertex
// back to itself is never shorter than 0. The order of launches in the stream is the only synchronisation.
//
// Work: N^3 relaxations. Bytes: each relaxation loads three elements and stores one if it finds an improvement. Threads
// of a warp share D(from, via) and read neighbouring elements of D(via, to) and D(from, to). The row and the column of
// `via` stay in the L2 cache. Each relaxation therefore moves 4 to 8 bytes through memory, or through the L2 cache if
// the matrix fits there. Memory limits the rate. In graphs of fewer than a few thousand vertices, the N launches limit
// the rate.
//
// Limits: the matrix must fit the GPU's memory; distances must fit the element type.
//
// Source: P. Harish, P. J. Narayanan, "Accelerating large graph algorithms on the GPU using CUDA" (2007).
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "shortest_paths/gpu/cuda_distances.hpp"

namespace gradus::shortest_paths_detail {

namespace {

// Launch shape: in x, one thread per column; in y, each block processes every gridDim.y-th row.
template <class T>
__global__ void relax_by_way_of(T* distances, std::int64_t n, std::int64_t via) {
  const std::int64_t to = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (to >= n) return;
  const T onward = distances[via * n + to];
  for (std::int64_t from = blockIdx.y; from < n; from += gridDim.y) {
    const T by_way = distances[from * n + via] + onward;
    if (by_way < distances[from * n + to]) distances[from * n + to] = by_way;
  }
}

}  // namespace

template <class T>
Solved cuda_naive(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, 256);
  CudaDistances<T> distances(problem, execution, phases);
  const std::int64_t n = distances.n();
  constexpr std::int64_t most_blocks = 65535;  // greatest number of blocks in y
  const dim3 blocks(cuda::blocks_for(n, threads), static_cast<unsigned int>(std::min(n, most_blocks)));
  distances.relax(n, teaching_portion, [&](std::int64_t first, std::int64_t number) {
    for (std::int64_t via = first; via < first + number; ++via) {
      relax_by_way_of<<<blocks, threads, 0, distances.stream()>>>(distances.data(), n, via);
      cuda::check_launch("relax_by_way_of");
    }
  });
  return {};
}

}  // namespace gradus::shortest_paths_detail
#endif

namespace gradus::shortest_paths_detail {

extern constinit const Variant cuda_naive_rung{
    .name = "cuda_naive",
    .summary = "a GPU thread for each pair; a launch for each intermediate vertex",
    .change = "from a few threads to N²; the order of launches is the only synchronisation",
    .contract = exact,
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = own_type_on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_naive<std::int32_t>, cuda_naive<std::int64_t>, cuda_naive<float>, cuda_naive<double>),
};

}  // namespace gradus::shortest_paths_detail
