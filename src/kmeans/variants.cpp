// THE table of k-means variants, in the order of the ladder, and the choice among them.
#include "kmeans/variants.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/checked.hpp"
#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "kmeans/cuda_ordered.hpp"
#include "kmeans/cuda_small_dim.hpp"
#include "kmeans/cuda_tensor.hpp"
#include "kmeans/gpu/gpu_source.hpp"
#include "kmeans/lloyd/exact_sums.hpp"
#include "kmeans/lloyd/float_sums.hpp"
#include "kmeans/openmp_reduce_first_touch.hpp"
#include "kmeans/simd/small_dim_assigner.hpp"
#include "kmeans/simd_bounds.hpp"
#include "kmeans/simd_grid.hpp"
#include "kmeans/simd_large_dim.hpp"

namespace gradus::kmeans_detail {

namespace {

using core::Backend;
using core::Contract;
using core::Memory;
using core::Support;
using cuda::staging_bytes;
using execution::fits_shared;

// ---------------------------------------------------------------------------------------------------------------------
// Where they run

Support at_most(std::int64_t most, const char* what, std::int64_t wanted, const std::string& others = "") {
  if (wanted <= most) return Support::yes();
  return Support::no("it takes at most " + std::to_string(most) + " " + what + ", not " + std::to_string(wanted) +
                     others);
}

Support fewer_than_2_31_points(const Shape& shape) {
  if (shape.points <= std::numeric_limits<std::int32_t>::max()) return Support::yes();
  return Support::no("it takes fewer than 2^31 points");
}

Support small_dim(const Shape& shape, const execution::Machine&) {
  return at_most(small_dim_limit, "columns", shape.dimensions, "; simd_large_dim takes more");
}

Support grid_dim(const Shape& shape, const execution::Machine&) {
  return at_most(grid_dim_limit, "columns", shape.dimensions, "; simd_small_dim and simd_large_dim take more");
}

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

Support few_columns_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  constexpr std::int64_t most_clusters = (1 << 16) - 1;  // one label of 16 bits says: none
  if (Support few = at_most(cuda_small_dim_columns, "columns", shape.dimensions); !few) return few;
  if (Support few = at_most(most_clusters, "clusters", shape.clusters); !few) return few;
  return fits_shared(cuda_small_dim_shared(shape), "centroids, sums and the queues of a block", machine);
}

Support ordered_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  if (Support few = at_most(cuda_ordered_columns, "columns", shape.dimensions); !few) return few;
  if (Support few = at_most(cuda_ordered_clusters, "clusters", shape.clusters); !few) return few;
  if (Support few = fewer_than_2_31_points(shape); !few) return few;
  return fits_shared(cuda_ordered_shared(shape), "centroids, sums and the queues of a block", machine);
}

Support tiles_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  if (Support few = fewer_than_2_31_points(shape); !few) return few;
  if (Support few = at_most(cuda_tensor_columns, "columns", shape.dimensions); !few) return few;
  if (Support few = at_most(cuda_tensor_clusters, "clusters", shape.clusters); !few) return few;
  return fits_shared(cuda_tensor_shared(shape.dimensions), "tiles of points and centroids", machine);
}

// ---------------------------------------------------------------------------------------------------------------------
// What they take there

Memory one_float_sum(const Shape& shape, int) { return {.host = FloatSums<double>::bytes(shape)}; }

Memory float_sums_per_thread(const Shape& shape, int threads) {
  return {.host =
              core::checked_multiply(FloatSums<double>::bytes(shape), static_cast<std::uint64_t>(threads) + 1, "sums")};
}

Memory float_sums_on_pages(const Shape& shape, int threads) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t bytes = FloatSums<double>::bytes(shape);
  const std::uint64_t copy = (bytes + page - 1) / page * page;
  const int copies = threads * first_touch_pieces(shape, threads);
  return {.host = bytes + core::checked_multiply(copy, static_cast<std::uint64_t>(copies), "sums")};
}

/// The points once more, each thread's share on pages of its own.
Memory float_sums_and_points_on_pages(const Shape& shape, int threads) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t copy = (FloatSums<double>::bytes(shape) + page - 1) / page * page;
  return {.host = FloatSums<double>::bytes(shape) +
                  core::checked_multiply(copy, static_cast<std::uint64_t>(threads), "sums") +
                  static_cast<std::uint64_t>(shape.bytes()) + page};
}

Memory float_sums_per_chunk(const Shape& shape, int threads) {
  return float_sums_per_thread(shape, tbb_flow_graph_chunks_per_thread * threads);
}

/// What Assigner<T> takes for data of the shape's type.
template <template <class> class Assigner>
std::uint64_t assigner_bytes(const Shape& shape, int threads) {
  return shape.element_bytes == 4 ? Assigner<float>::bytes(shape, threads) : Assigner<double>::bytes(shape, threads);
}

template <template <class> class Assigner>
Memory simd_memory(const Shape& shape, int threads) {
  return {.host =
              SimdEngine<double, Assigner<double>>::bytes(shape, threads) + assigner_bytes<Assigner>(shape, threads)};
}

Memory float_sums_small_dim(const Shape& shape, int threads) {
  return {.host = float_sums_per_thread(shape, threads).host + assigner_bytes<SmallDimAssigner>(shape, threads)};
}

std::uint64_t label_bytes(const Shape& shape) { return 4 * static_cast<std::uint64_t>(shape.points); }

std::uint64_t centroid_bytes(const Shape& shape) {
  return static_cast<std::uint64_t>(shape.clusters * shape.dimensions * shape.element_bytes);
}

// The update on the processor: labels and sums there.
Memory gpu_labels(const Shape& shape, int threads) {
  return {.host = label_bytes(shape) + float_sums_per_thread(shape, threads).host + staging_bytes,
          .device = label_bytes(shape) + centroid_bytes(shape)};
}

Memory gpu_labels_and_columns(const Shape& shape, int threads) {
  Memory memory = gpu_labels(shape, threads);
  memory.device += static_cast<std::uint64_t>(shape.bytes());  // the points once more, column by column
  return memory;
}

Memory gpu_float_sums(const Shape& shape, int) {
  const std::uint64_t sums = 2 * FloatSums<double>::bytes(shape);
  return {.host = sums + staging_bytes,
          .device = static_cast<std::uint64_t>(shape.bytes()) + label_bytes(shape) + sums};
}

/// `bytes`: on the GPU, beyond points, weights and labels.
template <std::uint64_t bytes(const Shape&)>
Memory gpu_exact_sums(const Shape& shape, int) {
  return {.host = 2 * ExactSums<double>::bytes(shape) + staging_bytes, .device = bytes(shape) + label_bytes(shape)};
}

// ---------------------------------------------------------------------------------------------------------------------

constexpr Contract exact = {Contract::same_bits};
constexpr Contract textbook = {Contract::within, 1e-4, "inertia"};

constexpr Variant table[] = {
    {.name = "sequential",
     .summary = "the textbook's loop on one core",
     .contract = textbook,
     .backend = Backend::sequential,
     .memory = one_float_sum,
     .run = {sequential<float>, sequential<double>}},
    {.name = "openmp_shared",
     .summary = "points among threads, one set of sums, atomic additions",
     .contract = textbook,
     .backend = Backend::openmp,
     .deterministic = false,
     .memory = one_float_sum,
     .run = {openmp_shared<float>, openmp_shared<double>}},
    {.name = "openmp_critical",
     .summary = "points among threads, one set of sums, one critical section",
     .contract = textbook,
     .backend = Backend::openmp,
     .deterministic = false,
     .memory = one_float_sum,
     .run = {openmp_critical<float>, openmp_critical<double>}},
    {.name = "openmp_locked",
     .summary = "points among threads, one set of sums under a lock of your choice, for as much at a time as you like",
     .contract = textbook,
     .backend = Backend::openmp,
     .deterministic = false,
     .memory = float_sums_per_thread,
     .facts = {.takes_lock = true},
     .run = {openmp_locked<float>, openmp_locked<double>}},
    {.name = "openmp_reduce",
     .summary = "points among threads, private copies of the sums, one reduction at the end",
     .contract = textbook,
     .backend = Backend::openmp,
     .memory = float_sums_per_thread,
     .run = {openmp_reduce<float>, openmp_reduce<double>}},
    {.name = "openmp_reduce_first_touch",
     .summary = "private copies of the sums on pages of their own, first touched by their thread; shares in pieces",
     .contract = textbook,
     .backend = Backend::openmp,
     .memory = float_sums_on_pages,
     .run = {openmp_reduce_first_touch<float>, openmp_reduce_first_touch<double>}},
    {.name = "openmp_reduce_first_touch_points",
     .summary = "as openmp_reduce_first_touch, and the points copied by the threads that will read them",
     .contract = textbook,
     .backend = Backend::openmp,
     .memory = float_sums_and_points_on_pages,
     .run = {openmp_reduce_first_touch_points<float>, openmp_reduce_first_touch_points<double>}},
    {.name = "tbb_flow_graph",
     .summary = "the iteration as a graph of tasks, run by work stealing",
     .contract = textbook,
     .backend = Backend::tbb,
     .writes_graph = true,
     .memory = float_sums_per_chunk,
     .run = {tbb_flow_graph<float>, tbb_flow_graph<double>}},
    {.name = "simd_float_sums",
     .summary = "the search of simd_small_dim, private copies of float sums as in openmp_reduce",
     .contract = textbook,
     .backend = Backend::simd,
     .supports = small_dim,
     .memory = float_sums_small_dim,
     .run = {simd_float_sums<float>, simd_float_sums<double>}},
    {.name = "simd_small_dim",
     .summary = "a float filter across points, doubtful ones in double; exact sums",
     .contract = exact,
     .backend = Backend::simd,
     .on_ranks = true,
     .supports = small_dim,
     .memory = simd_memory<SmallDimAssigner>,
     .run = {simd_small_dim<float>, simd_small_dim<double>}},
    {.name = "simd_grid",
     .summary = "a table over a grid of cells knows the label, or a few candidates; exact sums",
     .contract = exact,
     .backend = Backend::simd,
     .on_ranks = true,
     .supports = grid_dim,
     .memory = simd_memory<GridAssigner>,
     .run = {simd_grid<float>, simd_grid<double>}},
    {.name = "simd_large_dim",
     .summary = "an 8-bit or 16-bit integer matrix product as filter, doubtful ones in double; exact sums",
     .contract = exact,
     .backend = Backend::simd,
     .on_ranks = true,
     .memory = simd_memory<LargeDimAssigner>,
     .run = {simd_large_dim<float>, simd_large_dim<double>}},
    {.name = "simd_bounds",
     .summary = "as simd_large_dim; once few labels change, bounds by the triangle inequality avoid most searches",
     .contract = exact,
     .backend = Backend::simd,
     .on_ranks = true,
     .memory = simd_memory<BoundsAssigner>,
     .facts = {.copy_bytes = bounds_copy_bytes},
     .run = {simd_bounds<float>, simd_bounds<double>}},
    {.name = "cuda_naive",
     .summary = "a GPU thread for each point; the update on the processor",
     .contract = textbook,
     .backend = Backend::cuda,
     .supports = on_gpu,
     .memory = gpu_labels,
     .run = GRADUS_CUDA_RUNS(cuda_naive<float>, cuda_naive<double>)},
    {.name = "cuda_transpose",
     .summary = "points and centroids column by column, so that neighbouring threads read neighbours",
     .contract = textbook,
     .backend = Backend::cuda,
     .supports = on_gpu,
     .memory = gpu_labels_and_columns,
     .run = GRADUS_CUDA_RUNS(cuda_transpose<float>, cuda_transpose<double>)},
    {.name = "cuda_shared",
     .summary = "the centroids in the shared memory of each block",
     .contract = textbook,
     .backend = Backend::cuda,
     .supports = centroids_in_shared,
     .memory = gpu_labels_and_columns,
     .run = GRADUS_CUDA_RUNS(cuda_shared<float>, cuda_shared<double>)},
    {.name = "cuda_unrolled",
     .summary = "the loop over the coordinates in steps of eight",
     .contract = textbook,
     .backend = Backend::cuda,
     .supports = centroids_in_shared,
     .memory = gpu_labels_and_columns,
     .run = GRADUS_CUDA_RUNS(cuda_unrolled<float>, cuda_unrolled<double>)},
    {.name = "cuda_update_kernel",
     .summary = "the sums of the update in a kernel of their own, by atomic additions",
     .contract = textbook,
     .backend = Backend::cuda,
     .deterministic = false,
     .device_input = true,
     .supports = centroids_in_shared,
     .memory = gpu_float_sums,
     .run = GRADUS_CUDA_RUNS(cuda_update_kernel<float>, cuda_update_kernel<double>)},
    {.name = "cuda_all_gpu",
     .summary = "assignment, sums and new centroids on the GPU",
     .contract = textbook,
     .backend = Backend::cuda,
     .deterministic = false,
     .device_input = true,
     .supports = sums_in_shared,
     .memory = gpu_float_sums,
     .run = GRADUS_CUDA_RUNS(cuda_all_gpu<float>, cuda_all_gpu<double>)},
    {.name = "cuda_graph",
     .summary = "an iteration as a graph, queued many times in advance",
     .contract = textbook,
     .backend = Backend::cuda,
     .deterministic = false,
     .device_input = true,
     .writes_graph = true,
     .supports = sums_in_shared,
     .memory = gpu_float_sums,
     .run = GRADUS_CUDA_RUNS(cuda_graph<float>, cuda_graph<double>)},
    {.name = "cuda_small_dim",
     .summary = "the whole fit in one kernel: a float filter, doubtful points in double; exact sums",
     .contract = exact,
     .backend = Backend::cuda,
     .device_input = true,
     .on_ranks = true,
     .supports = few_columns_on_gpu,
     .memory = gpu_exact_sums<cuda_small_dim_bytes>,
     .run = GRADUS_CUDA_RUNS(cuda_small_dim<float>, cuda_small_dim<double>)},
    {.name = "cuda_ordered",
     .summary = "points ordered along a curve; whole tiles pruned by bounding boxes; exact sums",
     .contract = exact,
     .backend = Backend::cuda,
     .device_input = true,
     .on_ranks = true,
     .supports = ordered_on_gpu,
     .memory = gpu_exact_sums<cuda_ordered_bytes>,
     .run = GRADUS_CUDA_RUNS(cuda_ordered<float>, cuda_ordered<double>)},
    {.name = "cuda_tensor",
     .summary = "a matrix product on the tensor cores as filter, doubtful points in double; exact sums",
     .contract = exact,
     .backend = Backend::cuda,
     .device_input = true,
     .on_ranks = true,
     .supports = tiles_on_gpu,
     .memory = gpu_exact_sums<cuda_tensor_bytes>,
     .run = GRADUS_CUDA_RUNS(cuda_tensor<float>, cuda_tensor<double>)},
};

}  // namespace

std::span<const Variant> variants() { return table; }

namespace {

/// Some variants are made for few columns, some for many.
std::vector<Shape> usual_shapes() {
  std::vector<Shape> shapes;
  for (const std::int64_t dimensions : {2, 16, 128})
    for (const int element_bytes : {4, 8})
      shapes.push_back({.points = 1000000, .dimensions = dimensions, .clusters = 64, .element_bytes = element_bytes});
  return shapes;
}

}  // namespace

constinit const core::Ladder ladder{
    .problem = Room::name,
    .variants = [] { return std::vector<core::VariantInfo>(variants().begin(), variants().end()); },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          return core::supports_any(core::find_variant(variants(), name, Room::name), usual_shapes(), machine);
        },
};

namespace {

/// Whether points in host memory and all that the variant and k-means|| keep beside them fit every usable GPU, with an
/// eighth to spare: a GPU that nobody asked for is no reason to refuse a job.
bool fits_gpu(const Variant& variant, const Shape& shape, const execution::Machine& machine) {
  double needed = shape.bytes() + static_cast<double>(std::max(variant.memory(shape, 1).device,
                                                               gpu_cover_bytes(shape.points, shape.dimensions, true)));
  if (shape.weighted) needed += static_cast<double>(shape.points) * shape.element_bytes;
  for (const execution::Gpu& gpu : machine.gpus())
    if (gpu.usable && needed > static_cast<double>(execution::to_plan_with(gpu))) return false;
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
                             support.reason + "); use the CPU");
    if (support && (device == Device::gpu || fits_gpu(variant, shape, machine))) return variant;
  }
  // Measured: a table of cells pays from some ten thousand points on, on a line also between many clusters
  // (docs/results/kmeans-one-column.txt); bounds pay late, or never: simd_bounds sees when.
  constexpr std::int64_t many_on_a_line = 128;
  const std::int64_t points_for_grid = shape.dimensions == 1 ? 8192 : 32768;
  const bool grid = shape.dimensions <= grid_dim_limit &&
                    (shape.points >= points_for_grid || (shape.dimensions == 1 && shape.clusters > many_on_a_line));
  const char* best = grid ? "simd_grid" : shape.dimensions <= small_dim_limit ? "simd_small_dim" : "simd_bounds";
  return core::find_variant(variants(), best, "kmeans");
}

// Of a Xeon with AVX-512; only the order of magnitude matters.
double nanoseconds_of_a_pass(const Shape& shape) {
  const auto d = static_cast<double>(shape.dimensions);
  const double point = 30 + 0.125 * d * shape.element_bytes + 0.01 * d * static_cast<double>(shape.clusters);
  return point * static_cast<double>(shape.points);
}

double nanoseconds_of_distances(const Shape& shape) {
  const double distance = 2 + 0.1 * static_cast<double>(shape.dimensions);
  return distance * static_cast<double>(shape.points) * static_cast<double>(shape.clusters);
}

}  // namespace gradus::kmeans_detail
