// THE table of k-means variants, in the order of the ladder, and the choice among them.
#include "kmeans/variants.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/checked.hpp"
#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "kmeans/cuda_ordered.hpp"
#include "kmeans/cuda_small_dim.hpp"
#include "kmeans/cuda_tensor.hpp"
#include "kmeans/exact_sums.hpp"
#include "kmeans/float_sums.hpp"
#include "kmeans/gpu_points.hpp"
#include "kmeans/openmp_reduce_first_touch.hpp"
#include "kmeans/simd_bounds.hpp"
#include "kmeans/simd_grid.hpp"
#include "kmeans/simd_large_dim.hpp"
#include "kmeans/simd_small_dim.hpp"

namespace gradus::kmeans_detail {

namespace {

using core::Backend;
using core::Contract;
using core::Support;
using cuda::staging_bytes;
using execution::fits_shared;

Support always(const Shape&, const execution::Machine&) { return Support::yes(); }

std::uint64_t one_float_sum(const Shape& shape, int) { return FloatSums<double>::bytes(shape); }

std::uint64_t float_sums_per_thread(const Shape& shape, int threads) {
  return core::checked_multiply(FloatSums<double>::bytes(shape), static_cast<std::uint64_t>(threads) + 1, "sums");
}

std::uint64_t float_sums_on_pages(const Shape& shape, int threads) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t bytes = FloatSums<double>::bytes(shape);
  const std::uint64_t copy = (bytes + page - 1) / page * page;
  const int copies = threads * first_touch_pieces(shape, threads);
  return bytes + core::checked_multiply(copy, static_cast<std::uint64_t>(copies), "sums");
}

std::uint64_t float_sums_per_chunk(const Shape& shape, int threads) {
  return float_sums_per_thread(shape, tbb_flow_graph_chunks_per_thread * threads);
}

Support small_dim(const Shape& shape, const execution::Machine&) {
  if (shape.dimensions <= small_dim_limit) return Support::yes();
  return Support::no("it takes at most " + std::to_string(small_dim_limit) + " columns, not " +
                     std::to_string(shape.dimensions) + "; simd_large_dim takes more");
}

std::uint64_t small_dim_memory(const Shape& shape, int threads) {
  const std::uint64_t engine = SimdEngine<double, SmallDimAssigner<double>>::bytes(shape, threads);
  return engine + (shape.element_bytes == 4 ? SmallDimAssigner<float>::bytes(shape, threads)
                                            : SmallDimAssigner<double>::bytes(shape, threads));
}

std::uint64_t float_sums_small_dim(const Shape& shape, int threads) {
  return float_sums_per_thread(shape, threads) + (shape.element_bytes == 4
                                                      ? SmallDimAssigner<float>::bytes(shape, threads)
                                                      : SmallDimAssigner<double>::bytes(shape, threads));
}

Support grid_dim(const Shape& shape, const execution::Machine&) {
  if (shape.dimensions <= grid_dim_limit) return Support::yes();
  return Support::no("it takes at most " + std::to_string(grid_dim_limit) + " columns, not " +
                     std::to_string(shape.dimensions) + "; simd_small_dim and simd_large_dim take more");
}

std::uint64_t grid_memory(const Shape& shape, int threads) {
  const std::uint64_t engine = SimdEngine<double, GridAssigner<double>>::bytes(shape, threads);
  return engine + (shape.element_bytes == 4 ? GridAssigner<float>::bytes(shape, threads)
                                            : GridAssigner<double>::bytes(shape, threads));
}

std::uint64_t large_dim_memory(const Shape& shape, int threads) {
  return SimdEngine<double, LargeDimAssigner<double>>::bytes(shape, threads) +
         LargeDimAssigner<double>::bytes(shape, threads);
}

std::uint64_t bounds_memory(const Shape& shape, int threads) {
  return SimdEngine<double, BoundsAssigner<double>>::bytes(shape, threads) +
         (shape.element_bytes == 4 ? BoundsAssigner<float>::bytes(shape, threads)
                                   : BoundsAssigner<double>::bytes(shape, threads));
}

// The GPU variants are listed in every build; where they are not compiled, supports() says so, and nothing runs them.
#ifdef GRADUS_HAS_CUDA
#define GRADUS_CUDA_RUNS(name) name<float>, name<double>
#else
#define GRADUS_CUDA_RUNS(name) nullptr, nullptr
#endif

Support on_gpu(const Shape&, const execution::Machine& machine) { return execution::supported_on_gpu(machine); }

Support centroids_in_shared(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  return fits_shared(
      core::checked_multiply(shape.clusters * shape.dimensions, std::int64_t{shape.element_bytes}, "centroids"),
      "the centroids", machine);
}

Support sums_in_shared(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  const std::int64_t bytes = shape.clusters * ((8 + shape.element_bytes) * shape.dimensions + 16);
  return fits_shared(static_cast<std::uint64_t>(bytes), "the centroids and their sums", machine);
}

// Of the host: what the rungs that update on the processor take there.
std::uint64_t cuda_host_update(const Shape& shape, int threads) {
  return 4 * static_cast<std::uint64_t>(shape.points) + float_sums_per_thread(shape, threads) + staging_bytes;
}

std::uint64_t cuda_host_sums(const Shape& shape, int) { return 2 * FloatSums<double>::bytes(shape) + staging_bytes; }

Support few_columns_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  if (shape.dimensions > cuda_small_dim_columns)
    return Support::no("it takes at most " + std::to_string(cuda_small_dim_columns) + " columns, not " +
                       std::to_string(shape.dimensions));
  if (constexpr int most = (1 << 16) - 1; shape.clusters > most)  // one label of 16 bits says: none
    return Support::no("it takes at most " + std::to_string(most) + " clusters, not " + std::to_string(shape.clusters));
  return fits_shared(cuda_small_dim_shared(shape), "centroids, sums and the queues of a block", machine);
}

Support ordered_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  if (shape.dimensions > cuda_ordered_columns)
    return Support::no("it takes at most " + std::to_string(cuda_ordered_columns) + " columns, not " +
                       std::to_string(shape.dimensions));
  if (shape.clusters > cuda_ordered_clusters)
    return Support::no("it takes at most " + std::to_string(cuda_ordered_clusters) + " clusters, not " +
                       std::to_string(shape.clusters));
  if (shape.points > std::numeric_limits<std::int32_t>::max()) return Support::no("it takes fewer than 2^31 points");
  return fits_shared(cuda_ordered_shared(shape), "centroids, sums and the queues of a block", machine);
}

Support tiles_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  if (shape.points > std::numeric_limits<std::int32_t>::max()) return Support::no("it takes fewer than 2^31 points");
  if (shape.dimensions > cuda_tensor_columns)
    return Support::no("it takes at most " + std::to_string(cuda_tensor_columns) + " columns, not " +
                       std::to_string(shape.dimensions));
  if (shape.clusters > cuda_tensor_clusters)
    return Support::no("it takes at most " + std::to_string(cuda_tensor_clusters) + " clusters, not " +
                       std::to_string(shape.clusters));
  return fits_shared(cuda_tensor_shared(shape.dimensions), "tiles of points and centroids", machine);
}

std::uint64_t cuda_host_exact(const Shape& shape, int) { return 2 * ExactSums<double>::bytes(shape) + staging_bytes; }

// On the GPU, beside points and weights.
std::uint64_t gpu_labels(const Shape& shape) { return 4 * static_cast<std::uint64_t>(shape.points); }

std::uint64_t gpu_columns(const Shape& shape) {  // the points once more, column by column
  return static_cast<std::uint64_t>(shape.bytes()) + gpu_labels(shape) + 2 * FloatSums<double>::bytes(shape);
}

std::uint64_t gpu_small_dim(const Shape& shape) { return cuda_small_dim_bytes(shape) + gpu_labels(shape); }

std::uint64_t gpu_ordered(const Shape& shape) { return cuda_ordered_bytes(shape) + gpu_labels(shape); }

std::uint64_t gpu_tensor(const Shape& shape) { return cuda_tensor_bytes(shape) + gpu_labels(shape); }

constexpr std::array table = {
    Variant{{"sequential", "the textbook's loop on one core", Backend::sequential, Contract::tolerance, 1e-4},
            always,
            one_float_sum,
            sequential<float>,
            sequential<double>},
    Variant{{"openmp_shared", "points among threads, one set of sums, atomic additions", Backend::openmp,
             Contract::tolerance, 1e-4},
            always,
            one_float_sum,
            openmp_shared<float>,
            openmp_shared<double>},
    Variant{{"openmp_critical", "points among threads, one set of sums, one critical section", Backend::openmp,
             Contract::tolerance, 1e-4},
            always,
            one_float_sum,
            openmp_critical<float>,
            openmp_critical<double>},
    Variant{{"openmp_reduce", "points among threads, private copies of the sums, one reduction at the end",
             Backend::openmp, Contract::tolerance, 1e-4},
            always,
            float_sums_per_thread,
            openmp_reduce<float>,
            openmp_reduce<double>},
    Variant{{"openmp_reduce_first_touch",
             "private copies of the sums on pages of their own, first touched by their thread; shares in pieces",
             Backend::openmp, Contract::tolerance, 1e-4},
            always,
            float_sums_on_pages,
            openmp_reduce_first_touch<float>,
            openmp_reduce_first_touch<double>},
    Variant{{"tbb_flow_graph", "the iteration as a graph of tasks, run by work stealing", Backend::tbb,
             Contract::tolerance, 1e-4},
            always,
            float_sums_per_chunk,
            tbb_flow_graph<float>,
            tbb_flow_graph<double>,
            true},
    Variant{{"simd_float_sums", "the search of simd_small_dim, private copies of float sums as in openmp_reduce",
             Backend::simd, Contract::tolerance, 1e-4},
            small_dim,
            float_sums_small_dim,
            simd_float_sums<float>,
            simd_float_sums<double>},
    Variant{{"simd_small_dim", "a float filter across points, doubtful ones in double; exact sums", Backend::simd,
             Contract::same_bits, 0},
            small_dim,
            small_dim_memory,
            simd_small_dim<float>,
            simd_small_dim<double>},
    Variant{{"simd_grid", "a table over a grid of cells knows the label, or a few candidates; exact sums",
             Backend::simd, Contract::same_bits, 0},
            grid_dim,
            grid_memory,
            simd_grid<float>,
            simd_grid<double>},
    Variant{
        {"simd_large_dim", "an 8-bit or 16-bit integer matrix product as filter, doubtful ones in double; exact sums",
         Backend::simd, Contract::same_bits, 0},
        always,
        large_dim_memory,
        simd_large_dim<float>,
        simd_large_dim<double>},
    Variant{{"simd_bounds",
             "as simd_large_dim; once few labels change, bounds by the triangle inequality spare most searches",
             Backend::simd, Contract::same_bits, 0},
            always,
            bounds_memory,
            simd_bounds<float>,
            simd_bounds<double>},
    Variant{{"cuda_naive", "a GPU thread for each point; the update on the processor", Backend::cuda,
             Contract::tolerance, 1e-4},
            on_gpu,
            cuda_host_update,
            GRADUS_CUDA_RUNS(cuda_naive)},
    Variant{{"cuda_transpose", "points and centroids column by column, so that neighbouring threads read neighbours",
             Backend::cuda, Contract::tolerance, 1e-4},
            on_gpu,
            cuda_host_update,
            GRADUS_CUDA_RUNS(cuda_transpose)},
    Variant{
        {"cuda_shared", "the centroids in the shared memory of each block", Backend::cuda, Contract::tolerance, 1e-4},
        centroids_in_shared,
        cuda_host_update,
        GRADUS_CUDA_RUNS(cuda_shared)},
    Variant{
        {"cuda_unrolled", "the loop over the coordinates in steps of eight", Backend::cuda, Contract::tolerance, 1e-4},
        centroids_in_shared,
        cuda_host_update,
        GRADUS_CUDA_RUNS(cuda_unrolled)},
    Variant{{"cuda_update_kernel", "the sums of the update in a kernel of their own, by atomic additions",
             Backend::cuda, Contract::tolerance, 1e-4},
            centroids_in_shared,
            cuda_host_sums,
            GRADUS_CUDA_RUNS(cuda_update_kernel),
            false,
            gpu_columns},
    Variant{{"cuda_all_gpu", "assignment, sums and new centroids on the GPU", Backend::cuda, Contract::tolerance, 1e-4},
            sums_in_shared,
            cuda_host_sums,
            GRADUS_CUDA_RUNS(cuda_all_gpu),
            false,
            gpu_columns},
    Variant{{"cuda_graph", "an iteration as a graph, queued many times in advance", Backend::cuda, Contract::tolerance,
             1e-4},
            sums_in_shared,
            cuda_host_sums,
            GRADUS_CUDA_RUNS(cuda_graph),
            true,
            gpu_columns},
    Variant{{"cuda_small_dim", "the whole fit in one kernel: a float filter, doubtful points in double; exact sums",
             Backend::cuda, Contract::same_bits, 0},
            few_columns_on_gpu,
            cuda_host_exact,
            GRADUS_CUDA_RUNS(cuda_small_dim),
            false,
            gpu_small_dim},
    Variant{{"cuda_ordered", "points ordered along a curve; whole tiles ruled out by their boxes; exact sums",
             Backend::cuda, Contract::same_bits, 0},
            ordered_on_gpu,
            cuda_host_exact,
            GRADUS_CUDA_RUNS(cuda_ordered),
            false,
            gpu_ordered},
    Variant{{"cuda_tensor", "a matrix product on the tensor cores as filter, doubtful points in double; exact sums",
             Backend::cuda, Contract::same_bits, 0},
            tiles_on_gpu,
            cuda_host_exact,
            GRADUS_CUDA_RUNS(cuda_tensor),
            false,
            gpu_tensor},
};

}  // namespace

std::span<const Variant> variants() { return table; }

namespace {

/// Whether points in host memory and all that the variant and k-means|| keep beside them fit every usable GPU, with an
/// eighth to spare: a GPU that nobody asked for is no reason to refuse a job.
bool fits_gpu(const Variant& variant, const Shape& shape, const execution::Machine& machine) {
  double needed =
      shape.bytes() + static_cast<double>(std::max(variant.gpu_memory(shape), gpu_cover_bytes(shape.points, true)));
  if (shape.weighted) needed += static_cast<double>(shape.points) * shape.element_bytes;
  for (const execution::Gpu& gpu : machine.gpus())
    if (gpu.usable && needed > 0.875 * static_cast<double>(gpu.memory_bytes)) return false;
  return true;
}

/// The best GPU variant for the shape, whether or not it can run here.
const Variant& choose_on_gpu(const Shape& shape, const execution::Machine& machine) {
  // From a quarter of a million points on, ordering them pays for itself within some thirty iterations
  // (docs/decisions/0025).
  const Variant& along_curve = core::find_variant(variants(), "cuda_ordered", "kmeans");
  const bool ordered =
      shape.points >= 1 << 18 && along_curve.supports(shape, machine) && fits_gpu(along_curve, shape, machine);
  const Variant& few_columns = ordered ? along_curve : core::find_variant(variants(), "cuda_small_dim", "kmeans");
  // Above eight columns both variants for few columns work on sixteen. There the tiles pay from about a hundred
  // clusters on (docs/results/kmeans-h200-cuda-tensor.txt).
  const bool tiled = !few_columns.supports(shape, machine) || (shape.dimensions > 8 && shape.clusters > 128);
  return tiled ? core::find_variant(variants(), "cuda_tensor", "kmeans") : few_columns;
}

}  // namespace

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  // A process that did nothing on the GPU yet spends some 0.3 s on getting ready; with fewer multiply-adds in an
  // iteration, or in the choice of the first centroids, the processor is done by then (docs/decisions/0020).
  constexpr double worth_a_gpu = 1e9;
  constexpr double first_worth_a_gpu = 2e9;
  const bool much_work = shape.operations() >= worth_a_gpu || shape.first_operations() >= first_worth_a_gpu;
  if (device == Device::gpu || (device == Device::automatic && much_work)) {
    const Variant& variant = choose_on_gpu(shape, machine);
    const Support support = variant.supports(shape, machine);
    if (device == Device::gpu && !support)
      throw UnsupportedError("no exact GPU variant of kmeans takes this shape (" + std::string(variant.name) + ": " +
                             support.reason + "); use the CPU (--device cpu)");
    if (support && (device == Device::gpu || fits_gpu(variant, shape, machine))) return variant;
  }
  // Measured: a table of cells pays from some ten thousand points on; bounds pay where a search is long, that is above
  // one panel of clusters, and late: simd_bounds sees when.
  constexpr std::int64_t points_for_grid = 32768;
  const bool grid = shape.dimensions <= grid_dim_limit && shape.points >= points_for_grid;
  const char* best = grid                                  ? "simd_grid"
                     : shape.dimensions <= small_dim_limit ? "simd_small_dim"
                     : shape.clusters <= group_step        ? "simd_large_dim"
                                                           : "simd_bounds";
  return core::find_variant(variants(), best, "kmeans");
}

}  // namespace gradus::kmeans_detail
