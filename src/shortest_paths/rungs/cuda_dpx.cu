// cuda_dpx: the production variant on GPUs. Uses instructions for dynamic programming, and overlaps the steps of
// consecutive rounds.
//
// What changes from `cuda_register_tiled`:
// * An addition and a minimum are one instruction (DPX, Hopper). If distances fit 16 bits, one instruction processes
//   two distances. For some of the elements, the multiplication unit performs the additions, because it would otherwise
//   be idle (gpu/carriers.cuh).
// * A thread keeps 64 or 128 elements in registers and loads 16-byte vectors. A relaxation takes an eighth to a tenth
//   of a load. Asynchronous copies bring the operands into shared memory several portions ahead (gpu/tiles.cuh).
// * A round has 128 intermediate vertices (64 for 64-bit elements), which halves the passes over the matrix. Once the
//   diagonal is closed, its row and column are computed by min-plus products, like the rest.
// * The diagonal, row and column of the next round depend on a small part of the rest of the current round. This part
//   is relaxed first, in a stream of higher priority, while the rest keeps the GPU busy (gpu/rounds.cuh).
// * Small graphs, whose rounds take less time than a launch, use a single cooperative launch. All blocks then wait for
//   each other twice per round.
//
// Barriers: one before each portion is used. After this barrier, the previous portion may be overwritten. Steps are
// separated by the order of launches in a stream, by events between the two streams, or by grid-wide barriers.
//
// Work: N^3 relaxations, with N rounded up to a multiple of 64, 128 or 256. Memory: another matrix, and panels of 4 x
// 128 x N elements. Bytes of the rest (int32): 8 per element and round, or an eighth of a byte per relaxation.
//
// Limits: as `cuda_tiled`; 64-bit elements need 96 KiB of shared memory per block. Integers are computed in the
// smallest width that the greatest possible distance allows: 16 bits without negative edges (gpu/hub.cuh), 32 or 64. A
// requested block size has no effect. A requested tile below 128 selects one launch with rounds of 64; any other tile
// selects rounds of 128.
//
// Source: for the three steps, see `cuda_tiled`. Preparing the next round early is known as look-ahead in LU
// factorisations: P. Strazdins (1998). DPX is part of NVIDIA's Hopper architecture. The grid of tiles and its double
// buffer come from matrix products (CUTLASS).
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include <type_traits>

#include "shortest_paths/gpu/carriers.cuh"
#include "shortest_paths/gpu/cuda_distances.hpp"
#include "shortest_paths/gpu/hub.cuh"
#include "shortest_paths/gpu/two_streams.cuh"

namespace gradus::shortest_paths_detail {

namespace {

// Number of relaxations that even a slow GPU performs in a tenth of a second; see CudaDistances::relax().
constexpr double portion = 1e11;

// Up to this number of vertices, one launch is faster than two streams. Times on an H200 with int32: at 2048 vertices,
// 1.03 ms in one launch and 1.69 ms in two streams; at 4096 vertices, 6.7 ms in one launch and 5.8 ms in two streams.
constexpr std::int64_t one_launch_vertices = 3072;

int attribute(cudaDeviceAttr which, const cuda::Job& job) {
  int value = 0;
  cuda::check(cudaDeviceGetAttribute(&value, which, job.gpu()), "cudaDeviceGetAttribute");
  return value;
}

// ---------------------------------------------------------------------------------------------------------------------
// Rounds in two streams

template <class Carrier, int depth, class Rest, class T>
void relax_in_two_streams(CudaDistances<T>& distances) {
  using Rounds = RoundsInTwoStreams<Carrier, depth, Rest>;
  static_assert(dpx_granule % Rounds::granule == 0 && depth <= dpx_widest_pivot);
  cuda::Job& job = distances.job();
  const auto n = static_cast<int>(distances.n());
  auto work = take_panels<Carrier>(job.memory(), round_up(n, Rounds::granule), depth);
  work.distances =
      job.memory().template take<typename Carrier::Word>(work.side * static_cast<std::int64_t>(work.words));
  const auto copy_blocks = static_cast<unsigned int>(8 * attribute(cudaDevAttrMultiProcessorCount, job));
  const int rounds = (n + depth - 1) / depth;  // vertices beyond n have no edges, so no route passes through them
  const cuda::Stream& stream = distances.stream();
  Rounds in_two_streams;
  distances.relax(rounds, portion, [&](std::int64_t first, std::int64_t number) {
    if (first == 0)
      bring_in_kernel<Carrier>
          <<<copy_blocks, 256, 0, stream>>>(work.distances, work.side, work.words, distances.data(), n, n);
    in_two_streams.launch(work, static_cast<int>(first), static_cast<int>(number), rounds, stream);
    if (first + number == rounds)
      bring_out_kernel<Carrier><<<copy_blocks, 256, 0, stream>>>(work.distances, work.words, distances.data(), n, n);
    cuda::check_launch("bring_out_kernel");
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Rounds in one launch

template <class Carrier, class T>
void relax_in_one(CudaDistances<T>& distances) {
  using Word = typename Carrier::Word;
  using Shape = Shapes<Carrier, one_launch_depth>;
  cuda::Job& job = distances.job();
  auto work = take_panels<Carrier>(job.memory(), round_up(distances.n(), one_launch_depth), one_launch_depth);
  work.distances = job.memory().template take<Word>(work.side * static_cast<std::int64_t>(work.words));
  auto* barrier = reinterpret_cast<GridBarrier*>(cuda::zero_part<unsigned int>(job.memory(), 2, distances.stream()));
  const auto kernel = relax_in_one_launch<Carrier, T>;
  cuda::allow_shared_memory(reinterpret_cast<const void*>(kernel), Shape::most_bytes);
  int resident = 0;
  cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, Shape::panel_threads, Shape::most_bytes),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  const int tiles = work.side / one_launch_depth;
  const int useful = std::max((tiles - 1) * (tiles - 1) + 1, 2 * (tiles - 1));
  const auto blocks = static_cast<unsigned int>(
      std::min(resident * attribute(cudaDevAttrMultiProcessorCount, job), std::max(useful, 1)));
  auto n = static_cast<int>(distances.n());
  T* elements = distances.data();
  distances.relax(tiles, portion, [&](std::int64_t first, std::int64_t number) {
    auto begin = static_cast<int>(first);
    auto end = static_cast<int>(first + number);
    void* arguments[] = {&work, &elements, &n, &begin, &end, &barrier};
    cuda::check(cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(Shape::panel_threads), arguments,
                                            Shape::most_bytes, distances.stream()),
                "cudaLaunchCooperativeKernel");
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// The choice of arithmetic

/// Relaxes 32-bit elements or pairs of 16-bit elements. `tile` is Problem::tile, the number of vertices of a round.
/// `InOne` is the carrier for running all rounds in one launch. Older GPUs with less shared memory run all sizes in one
/// launch.
template <class Carrier, class InOne, class Rest, class T>
void relax_narrow(CudaDistances<T>& distances, std::int64_t tile) {
  using Word = typename Carrier::Word;
  constexpr int depth = dpx_widest_pivot;
  constexpr std::size_t needed = std::max(Shapes<Carrier, depth>::most_bytes, Rest::template bytes<Word>);
  const bool fits =
      needed <= static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, distances.job()));
  const bool small = tile > 0 ? tile < depth : distances.n() <= one_launch_vertices;
  if (small || !fits) relax_in_one<InOne>(distances);
  else relax_in_two_streams<Carrier, depth, Rest>(distances);
}

template <class T>
void relax_wide(CudaDistances<T>& distances) {
  constexpr int depth = 64;
  relax_in_two_streams<Plain64<T>, depth, Rest8x4<T>>(distances);
  static_assert(Shapes<Plain64<T>, depth>::most_bytes <= dpx_shared_bytes(sizeof(T)) &&
                Rest8x4<T>::template bytes<T> <= dpx_shared_bytes(sizeof(T)));
}

/// Returns true if all distances are known to fit 16 bits. This follows from the upper bound of the distances or, if
/// the graph is large enough that scanning the matrix pays, from the bound through a hub.
template <class T>
bool fits_pairs(const Problem<T>& problem, CudaDistances<T>& distances, std::vector<Phase>& phases) {
  constexpr std::int64_t worth_a_look = 1024;
  if (problem.negative) return false;
  if (problem.greatest <= greatest_of_16) return true;
  if (problem.n() < worth_a_look) return false;
  const core::PhaseTimer timer(phases, "width");
  return is_within_by_hub(distances, greatest_of_16);
}

}  // namespace

template <class T>
Solved cuda_dpx(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  CudaDistances<T> distances(problem, execution, phases, dpx_bytes(problem.n(), sizeof(T)));
  if (problem.n() == 0) return {};
  if constexpr (std::is_same_v<T, float>) {
    if (problem.negative) relax_narrow<Float32<false>, Float32<false>, Rest8x8<float>>(distances, problem.tile);
    else relax_narrow<Float32<true>, Float32<false>, Rest8x16<float>>(distances, problem.tile);
  } else if constexpr (std::is_same_v<T, double>) {
    relax_wide(distances);
  } else {
    if (fits_pairs(problem, distances, phases))
      relax_narrow<Pairs16<4>, Pairs16<0>, Rest8x8<std::uint32_t>>(distances, problem.tile);
    else if (problem.greatest <= greatest_of_32)
      relax_narrow<Whole32<3>, Whole32<0>, Rest8x8<std::int32_t>>(distances, problem.tile);
    else if constexpr (sizeof(T) == 8) relax_wide(distances);
    else throw Error("internal error: distances of " + std::to_string(sizeof(T)) + " bytes are greater than promised");
  }
  return {};
}

}  // namespace gradus::shortest_paths_detail
#endif

namespace gradus::shortest_paths_detail {

namespace {

core::Support dpx_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = own_type_on_gpu(shape, machine); !gpu) return gpu;
  return execution::fits_shared(dpx_shared_bytes(shape.element_bytes), "tiles", machine);
}

core::Memory dpx_memory(const Shape& shape, int threads) {
  core::Memory memory = gpu_memory(shape, threads);
  memory.device = core::checked_add(memory.device, dpx_bytes(shape.vertices, shape.element_bytes), "a matrix");
  return memory;
}

}  // namespace

extern constinit const Variant cuda_dpx_rung{
    .name = "cuda_dpx",
    .summary = "Hopper's add-and-min, 16-bit pairs where they fit; the next diagonal ahead of the rest",
    .change =
        "two units of arithmetic busy at once, 64 results or more in registers, asynchronous copies, rounds of 128; "
        "small graphs in one launch",
    .contract = exact,
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = dpx_on_gpu,
    .memory = dpx_memory,
    .run = GRADUS_CUDA_RUNS(cuda_dpx<std::int32_t>, cuda_dpx<std::int64_t>, cuda_dpx<float>, cuda_dpx<double>),
};

}  // namespace gradus::shortest_paths_detail
