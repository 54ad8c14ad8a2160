// THE table of pair-distance histogram variants, in the order of the ladder, and the choice among them.
#include "pair_histogram/variants.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/checked.hpp"
#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/simd/simd_pairs.hpp"

namespace gradus::pair_histogram_detail {

namespace {

using core::Backend;
using core::Memory;
using core::Support;

// ---------------------------------------------------------------------------------------------------------------------
// Where they run

Support along_axes(const Shape& shape, const char* others_take) {
  return shape.triclinic
             ? Support::no(std::string("its periodic boxes lie along the axes; ") + others_take + " triclinic cells")
             : Support::yes();
}

constexpr const char* gpu_takes_cells = "cuda_filter and cuda_tiled_privatized take";

Support without_weights(const Shape& shape, const execution::Machine&) {
  constexpr std::int64_t most = std::int64_t{1} << 28;
  if (shape.weighted)
    return Support::no(
        "it counts many pairs at once, which have no weight in common; simd_filter and simd_cells take weights");
  if (std::max(shape.points, shape.others) > most)
    return Support::no("it takes at most 2^28 points; simd_filter and simd_cells take more");
  return along_axes(shape, "simd_filter and simd_cells take");
}

Support on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = execution::supported_on_gpu(machine); !gpu) return gpu;
  return along_axes(shape, gpu_takes_cells);
}

// What a block keeps in shared memory, with the most threads that it may have.
Support histogram_of_cells_in_shared(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = execution::supported_on_gpu(machine); !gpu) return gpu;
  const Support fits = execution::fits_shared(
      tile_bytes(1024, shape.element_bytes, shape.weighted) + block_histogram_bytes(shape.bins + 2, shape.weighted, 1),
      "a tile of points and a histogram", machine);
  return fits ? fits : Support::no(fits.reason + "; cuda_naive and cuda_tiled count in global memory");
}

Support histogram_in_shared(const Shape& shape, const execution::Machine& machine) {
  if (Support fits = histogram_of_cells_in_shared(shape, machine); !fits) return fits;
  return along_axes(shape, gpu_takes_cells);
}

Support filter_on_gpu(const Shape& shape, const execution::Machine& machine) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (std::max(shape.points, shape.others) > most)
    return Support::no("it takes at most 2^30 points; cuda_tiled_privatized takes more");
  return execution::supported_on_gpu(machine);
}

// ---------------------------------------------------------------------------------------------------------------------
// What they take there

Memory one_histogram(const Shape& shape, int) { return {.host = Histogram::bytes(shape)}; }

Memory histogram_per_thread(const Shape& shape, int threads) {
  return {.host =
              core::checked_multiply(Histogram::bytes(shape), static_cast<std::uint64_t>(threads) + 1, "histograms")};
}

Memory plain_memory(const Shape& shape, int threads) { return {.host = bytes_to_count_in_double(shape, threads)}; }

/// `more`: beside what the filter takes. With the double columns, to which it turns where it does not help.
Memory memory_to_filter(const Shape& shape, int threads, std::uint64_t more) {
  return {.host = std::max(bytes_to_count_in_double(shape, threads), bytes_to_filter(shape, threads) + more)};
}

Memory filter_memory(const Shape& shape, int threads) { return memory_to_filter(shape, threads, 0); }

Memory cells_memory(const Shape& shape, int threads) {
  return memory_to_filter(shape, threads, bytes_to_sort_into_cells(shape, threads));
}

Memory tree_memory(const Shape& shape, int threads) {
  return memory_to_filter(shape, threads, bytes_to_build_trees(shape, threads));
}

// Of the host: what stages the transfers, and the histogram as it comes.
Memory gpu_memory(const Shape& shape, int) {
  return {.host = 2 * Histogram::bytes(shape) + cuda::staging_bytes, .device = gpu_columns_bytes(shape)};
}

Memory gpu_filter_memory(const Shape& shape, int threads) {
  Memory memory = gpu_memory(shape, threads);
  memory.device += gpu_filter_bytes(shape);
  return memory;
}

// ---------------------------------------------------------------------------------------------------------------------

constexpr Variant table[] = {
    {.name = "sequential",
     .summary = "the textbook's loop on one core",
     .backend = Backend::sequential,
     .memory = one_histogram,
     .run = {sequential<float>, sequential<double>}},
    {.name = "openmp_shared",
     .summary = "points among threads, one histogram, atomic additions",
     .backend = Backend::openmp,
     .memory = one_histogram,
     .run = {openmp_shared<float>, openmp_shared<double>}},
    {.name = "openmp_privatized",
     .summary = "points among threads, a private histogram for each, added up at the end",
     .backend = Backend::openmp,
     .memory = histogram_per_thread,
     .run = {openmp_privatized<float>, openmp_privatized<double>}},
    {.name = "simd_brute_force",
     .summary = "vectors of pairs in double, tiles of points, private copies of the counters",
     .backend = Backend::simd,
     .on_ranks = true,
     .memory = plain_memory,
     .run = {simd_brute_force<float>, simd_brute_force<double>}},
    {.name = "simd_filter",
     .summary = "a float filter, doubtful pairs in double; several pairs share one increment",
     .backend = Backend::simd,
     .on_ranks = true,
     .memory = filter_memory,
     .run = {simd_filter<float>, simd_filter<double>}},
    {.name = "simd_cells",
     .summary = "points sorted into columns of cells; the filter for what is within reach of a few points",
     .backend = Backend::simd,
     .on_ranks = true,
     .memory = cells_memory,
     .run = {simd_cells<float>, simd_cells<double>}},
    {.name = "simd_dual_tree",
     .summary = "pairs of boxes whose distances lie in one bin are counted at once, the others by the filter",
     .backend = Backend::simd,
     .on_ranks = true,
     .supports = without_weights,
     .memory = tree_memory,
     .run = {simd_dual_tree<float>, simd_dual_tree<double>}},
    {.name = "cuda_naive",
     .summary = "a GPU thread for each point; one histogram, atomic additions in global memory",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_naive<float>, cuda_naive<double>)},
    {.name = "cuda_privatized",
     .summary = "a histogram for each block, in its shared memory",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = histogram_in_shared,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_privatized<float>, cuda_privatized<double>)},
    {.name = "cuda_tiled",
     .summary = "second points tile by tile in shared memory; one histogram in global memory",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_tiled<float>, cuda_tiled<double>)},
    {.name = "cuda_tiled_privatized",
     .summary = "tiles of second points and a histogram for each block in shared memory",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = histogram_of_cells_in_shared,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_tiled_privatized<float>, cuda_tiled_privatized<double>)},
    {.name = "cuda_lane_copies",
     .summary = "several copies of a block's histogram, by lane",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = histogram_in_shared,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_lane_copies<float>, cuda_lane_copies<double>)},
    {.name = "cuda_shuffle",
     .summary = "second points in the registers of a warp, handed on by shuffles",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = histogram_in_shared,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_shuffle<float>, cuda_shuffle<double>)},
    {.name = "cuda_filter",
     .summary = "a float filter, doubtful pairs in double; two pairs share one increment in shared memory",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = filter_on_gpu,
     .memory = gpu_filter_memory,
     .run = GRADUS_CUDA_RUNS(cuda_filter<float>, cuda_filter<double>)},
};

// The share of space that lies within reach, as a cube around a point: of 1 where the reach is half of every extent.
double share_in_reach(const Shape& shape) {
  double share = 1;
  for (std::int64_t dim = 0; dim < shape.dimensions; ++dim) {
    const double extent = shape.extent[static_cast<std::size_t>(dim)];
    if (2 * shape.reach < extent) share *= 2 * shape.reach / extent;
  }
  return share;
}

// Measured on uniform points in space: cells win up to a reach of 0.4 of the extent, and from 2000 points on at the
// latest. In a periodic box groups shrink as the reach nears half of it.
bool cells_pay(const Shape& shape) {
  constexpr std::int64_t fewest = 1000;
  constexpr double share = 0.3;
  constexpr double periodic_reach = 0.3;
  const std::int64_t shrinking = shape.triclinic ? 1 : shape.dimensions;  // in a brick along its first edge alone
  for (std::int64_t dim = 0; shape.periodic && dim < shrinking; ++dim)
    if (shape.reach > periodic_reach * shape.extent[static_cast<std::size_t>(dim)]) return false;
  return std::max(shape.points, shape.others) >= fewest && share_in_reach(shape) <= share;
}

// The share of the pairs that a tree leaves to be counted one by one is about 1.4 times the side of a leaf over the
// width of a bin, and nearly all pairs out of reach are settled. Measured in space: it pays below 0.8, from 5000 points
// on; the threshold leaves a margin.
bool tree_pays(const Shape& shape, const execution::Machine& machine) {
  constexpr std::int64_t fewest = 5000;
  constexpr double leaf_points = 16;
  constexpr double crossover = 0.7;
  const auto points = static_cast<double>(std::min(shape.points, shape.cross ? shape.others : shape.points));
  if (points < fewest || !without_weights(shape, machine)) return false;
  double volume = 1;
  for (std::int64_t dim = 0; dim < shape.dimensions; ++dim) volume *= shape.extent[static_cast<std::size_t>(dim)];
  const double side = std::pow(volume * leaf_points / points, 1 / static_cast<double>(shape.dimensions));
  const double width = shape.reach / static_cast<double>(shape.bins);
  const double ball = shape.dimensions == 3 ? 0.52 : (shape.dimensions == 2 ? 0.79 : 1.0);  // of its cube
  bool reaches_across = false;
  for (std::int64_t dim = 0; dim < shape.dimensions; ++dim)
    reaches_across = reaches_across || 2 * shape.reach > shape.extent[static_cast<std::size_t>(dim)];
  const double in_reach = reaches_across ? 1.0 : ball * share_in_reach(shape);
  return in_reach * std::min(1.0, 1.4 * side / width) < crossover;
}

// Trees are for boxes along the axes. Where one pays in such a box, so do cells in a triclinic one: measured on 100,000
// points with a reach up to half of the least height, they take 0.33 to 1 times as long as the filter.
const char* best_on_cpu(const Shape& shape, const execution::Machine& machine) {
  Shape cube = shape;
  cube.triclinic = false;
  if (cells_pay(shape)) return "simd_cells";
  if (tree_pays(cube, machine)) return shape.triclinic ? "simd_cells" : "simd_dual_tree";
  return "simd_filter";
}

// A process that did nothing on the GPU yet spends some 0.3 s on getting ready (docs/decisions/0020), in which 16 cores
// count some 5e9 pairs by the filter.
bool gpu_pays(const Shape& shape, std::string_view on_processor) {
  constexpr double worth_a_gpu = 5e9;  // pairs
  return on_processor == "simd_filter" && !shape.weighted && shape.pairs() >= worth_a_gpu;
}

}  // namespace

std::span<const Variant> variants() { return table; }

namespace {

/// Some variants are made for a cutoff, some for few wide bins.
std::vector<Shape> usual_shapes() {
  std::vector<Shape> shapes;
  for (const double reach : {1.0, 100.0})
    for (const int element_bytes : {4, 8})
      shapes.push_back({.points = 1000000,
                        .bins = 10,
                        .element_bytes = element_bytes,
                        .reach = reach,
                        .least_width = reach / 10,
                        .extent = {100, 100, 100}});
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

const Variant& best_on_gpu() { return core::find_variant(variants(), "cuda_filter", Room::name); }

}  // namespace

std::vector<const Variant*> choosable(const Shape& shape, const execution::Machine& machine, Device device) {
  if (device == Device::gpu) return {&choose(shape, machine, device)};
  std::vector<const Variant*> chosen;
  for (const char* name : {"simd_cells", "simd_dual_tree", "simd_filter"}) {
    const Variant& variant = core::find_variant(variants(), name, Room::name);
    if (variant.supports(shape, machine)) chosen.push_back(&variant);
  }
  const Variant& on_device = best_on_gpu();
  if (device == Device::automatic && gpu_pays(shape, "simd_filter") && on_device.supports(shape, machine))
    chosen.push_back(&on_device);
  return chosen;
}

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  const Variant& on_device = best_on_gpu();
  if (device == Device::gpu) {
    if (const Support support = on_device.supports(shape, machine); !support)
      throw UnsupportedError("pair_histogram cannot run on a GPU: " + support.reason + "; use the CPU");
    return on_device;
  }
  // Where pairs can be passed over, the processor does less work than the GPU, which looks at all of them.
  const char* const best = best_on_cpu(shape, machine);
  if (device == Device::automatic && gpu_pays(shape, best) && on_device.supports(shape, machine)) return on_device;
  return core::find_variant(variants(), best, "pair_histogram");
}

}  // namespace gradus::pair_histogram_detail
