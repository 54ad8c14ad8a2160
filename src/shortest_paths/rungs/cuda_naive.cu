// cuda_naive: the textbook's outermost loop stays on the processor; for each vertex in the middle it launches a kernel,
// in which every pair of vertices has a thread of its own.
//
// What changes from the processor's rungs: N^2 threads at once instead of a few. No thread of a launch waits for
// another, for while `via` is in the middle neither its row nor its column changes: by way of itself a vertex is not
// reached on a shorter route, as no cycle is negative. The order of launches in a stream is the only synchronisation.
//
// Work: N^3 relaxations. Bytes: each relaxation loads three elements and stores one where it found something better;
// neighbours in a warp share D(from, via), and read neighbours of the other two. The row and the column of `via` stay
// in the second-level cache, so that 4 to 8 bytes go to memory, or to that cache while the matrix fits there: memory,
// and below some thousand vertices the N launches, are what it waits for.
// Limits: the matrix fits the GPU's memory; distances fit the element type.
// Source: P. Harish, P. J. Narayanan, "Accelerating large graph algorithms on the GPU using CUDA" (2007).
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "shortest_paths/gpu/cuda_distances.hpp"

namespace gradus::shortest_paths_detail {

namespace {

// Launch shape: in x the columns of a row, a thread each; in y rows, of which a block takes every gridDim.y-th.
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
  constexpr std::int64_t most_blocks = 65535;  // in y
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
    .summary = "a GPU thread for each pair; a launch for each vertex in the middle",
    .change = "from a few threads to N²; the order of launches is the only synchronisation",
    .contract = exact,
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = own_type_on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_naive<std::int32_t>, cuda_naive<std::int64_t>, cuda_naive<float>, cuda_naive<double>),
};

}  // namespace gradus::shortest_paths_detail
