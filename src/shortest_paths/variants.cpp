// THE table of shortest-path variants, in the order of the ladder, and the choice among them.
#include "shortest_paths/variants.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/checked.hpp"
#include "execution/gpu_support.hpp"
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/gpu/panel_plan.hpp"

namespace gradus::shortest_paths_detail {

namespace {

using core::Backend;
using core::Memory;
using core::Support;

Support in_own_type(const Shape& shape, const execution::Machine&) {
  if (shape.wide) return Support::no("distances may need more than 64 bits; openmp_tiled computes in a wider type");
  return Support::yes();
}

// The matrix once more, in tiles.
Memory tiles_memory(const Shape& shape, int) {
  const auto rounded = static_cast<std::uint64_t>((shape.vertices + 63) / 64 * 64);
  return {.host = core::checked_multiply(core::checked_multiply(rounded, rounded, "tiles"),
                                         static_cast<std::uint64_t>(shape.element_bytes), "tiles")};
}

// The edges once more, with other weights. Of each thread: lengths, those that wait, trees where they are needed.
Memory searches_memory(const Shape& shape, int threads) {
  const auto n = static_cast<std::uint64_t>(shape.vertices);
  const auto edges = static_cast<std::uint64_t>(shape.edges);
  const std::uint64_t number = shape.wide ? 16 : 8;
  const std::uint64_t tree = shape.floating && shape.negative ? 80 : 0;
  const std::uint64_t of_thread = n * (number + 20 + tree) + std::min(edges, 2 * n) * 2 * (number + 8);
  const auto busy = static_cast<std::uint64_t>(std::clamp<std::int64_t>(shape.rows(), 1, threads));
  return {.host = core::checked_add(core::checked_multiply(edges, 2 * number, "edges"),
                                    core::checked_multiply(of_thread, busy, "searches"), "searches")};
}

Support on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = execution::supported_on_gpu(machine); !gpu) return gpu;
  return in_own_type(shape, machine);
}

Support dpx_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  return execution::fits_shared(dpx_shared_bytes(shape.element_bytes), "tiles", machine);
}

// Of the host: what stages the transfers. On the GPU, beyond weights there: the matrix, which takes the place of
// weights that came from the host where they are not needed any more, and what predecessors take.
Memory gpu_memory(const Shape& shape, int) {
  Memory memory{.host = cuda::staging_bytes, .device = matrix_bytes(shape.vertices, shape.element_bytes)};
  if (shape.predecessors && !shape.floating)
    memory.device = core::checked_add(core::checked_multiply(memory.device, std::uint64_t{2}, "matrices"),
                                      predecessor_bytes(shape.vertices, shape.element_bytes), "matrices");
  return memory;
}

Memory dpx_memory(const Shape& shape, int threads) {
  Memory memory = gpu_memory(shape, threads);
  memory.device = core::checked_add(memory.device, dpx_bytes(shape.vertices, shape.element_bytes), "a matrix");
  return memory;
}

Support panels_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  const execution::Gpu least = execution::least_gpu(machine);
  if (plan_panels(shape.vertices, shape.element_bytes, execution::to_plan_with(least), panel_granule).pivot == 0 &&
      shape.vertices > 0)
    return Support::no("the rows of " + std::to_string(panel_granule) + " vertices do not fit the GPU's memory");
  return execution::fits_shared(panel_shared_bytes(shape.element_bytes), "tiles", machine);
}

// What has to be there; with more it makes fewer rounds.
Memory panels_memory(const Shape& shape, int) {
  return {.host = cuda::staging_bytes, .device = panels_of(shape.vertices, shape.element_bytes, panel_granule).bytes};
}

// The runs of a variant in all element types.
// NOLINTBEGIN(bugprone-macro-parentheses): the name of a template
#define GRADUS_RUNS(variant) \
  { variant<std::int32_t>, variant<std::int64_t>, variant<float>, variant<double> }
// NOLINTEND(bugprone-macro-parentheses)

// Of floating numbers the bits depend on the variant; a bound holds instead, which Trial::contract_in() has judged.
constexpr core::Contract exact{.kind = core::Contract::same_bits, .of = "whole numbers"};

constexpr Variant table[] = {
    {.name = "sequential",
     .summary = "the textbook's three loops on one core",
     .contract = exact,
     .backend = Backend::sequential,
     .run = GRADUS_RUNS(sequential)},
    {.name = "openmp_rows",
     .summary = "for one vertex in the middle after the other, the rows among threads",
     .contract = exact,
     .backend = Backend::openmp,
     .run = GRADUS_RUNS(openmp_rows)},
    {.name = "sequential_recursive",
     .summary = "quadrants of quadrants, until a block fits every cache",
     .contract = exact,
     .backend = Backend::sequential,
     .run = GRADUS_RUNS(sequential_recursive)},
    {.name = "openmp_recursive",
     .summary = "the recursion in its published order, tasks where two quadrants do not wait for each other",
     .contract = exact,
     .backend = Backend::openmp,
     .run = GRADUS_RUNS(openmp_recursive)},
    {.name = "openmp_recursive_split",
     .summary = "the recursion in separate routines for diagonal, row, column and rest: tasks nearly everywhere",
     .contract = exact,
     .backend = Backend::openmp,
     .run = GRADUS_RUNS(openmp_recursive_split)},
    {.name = "openmp_tiled",
     .summary = "tile after tile in the middle: the diagonal, its row and column, the rest",
     .contract = exact,
     .backend = Backend::openmp,
     .run = GRADUS_RUNS(openmp_tiled)},
    {.name = "simd_tiled",
     .summary = "contiguous tiles, relaxed as min-plus products in vector registers",
     .contract = exact,
     .backend = Backend::simd,
     .supports = in_own_type,
     .memory = tiles_memory,
     .run = GRADUS_RUNS(simd_tiled)},
    {.name = "openmp_dijkstra",
     .summary =
         "along the edges, from one vertex after the other; the vertices among threads, and those that wait in buckets",
     .contract = exact,
     .backend = Backend::openmp,
     .memory = searches_memory,
     .run = GRADUS_RUNS(openmp_dijkstra)},
    {.name = "cuda_naive",
     .summary = "a GPU thread for each pair; a launch for each vertex in the middle",
     .contract = exact,
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run =
         GRADUS_CUDA_RUNS(cuda_naive<std::int32_t>, cuda_naive<std::int64_t>, cuda_naive<float>, cuda_naive<double>)},
    {.name = "cuda_tiled",
     .summary = "32 vertices in the middle at a time: diagonal, its row and column, rest, in shared memory",
     .contract = exact,
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run =
         GRADUS_CUDA_RUNS(cuda_tiled<std::int32_t>, cuda_tiled<std::int64_t>, cuda_tiled<float>, cuda_tiled<double>)},
    {.name = "cuda_register_tiled",
     .summary = "16 results of a thread in registers: half a load from shared memory for each relaxation",
     .contract = exact,
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_register_tiled<std::int32_t>, cuda_register_tiled<std::int64_t>,
                             cuda_register_tiled<float>, cuda_register_tiled<double>)},
    {.name = "cuda_dpx",
     .summary = "Hopper's add-and-min, 16-bit pairs where they fit; the next diagonal ahead of the rest",
     .contract = exact,
     .backend = Backend::cuda,
     .device_input = true,
     .supports = dpx_on_gpu,
     .memory = dpx_memory,
     .run = GRADUS_CUDA_RUNS(cuda_dpx<std::int32_t>, cuda_dpx<std::int64_t>, cuda_dpx<float>, cuda_dpx<double>)},
    {.name = "cuda_panels",
     .summary =
         "larger than the GPU: rows of thousands of vertices stay there, the others pass through, slab after slab",
     .contract = exact,
     .backend = Backend::cuda,
     .supports = panels_on_gpu,
     .memory = panels_memory,
     .run = GRADUS_CUDA_RUNS(cuda_panels<std::int32_t>, cuda_panels<std::int64_t>, cuda_panels<float>,
                             cuda_panels<double>)},
};

bool fits_gpu(const Variant& variant, const Shape& shape, const execution::Machine& machine) {
  return variant.memory(shape, 1).device <= execution::to_plan_with(execution::least_gpu(machine));
}

// Seconds that one core takes (docs/results/shortest-paths-sparse.txt): to find the routes from one vertex along the
// edges, where more of them leave a vertex the more often its length improves before it is settled; and to relax a
// matrix in vector registers. Along random edges, at most one for each vertex, a search gets nowhere; from there on it
// soon reaches all vertices.
double search_seconds(const Shape& shape) {
  if (shape.vertices == 0) return 0;
  const auto n = static_cast<double>(shape.vertices);
  const auto edges = static_cast<double>(shape.edges);
  const double degree = edges / n;
  const double reached = degree > 1 ? 1 - 1 / (degree * std::sqrt(degree)) : 0;
  const double once = 1e-9 * (6 * n + reached * (n * (20 + 30 * std::log1p(degree)) + 1.3 * edges));
  // Trees of floating numbers are grown along the edges once more.
  return shape.floating && shape.negative ? 3 * once : once;
}

double relax_seconds(const Shape& shape) {
  const double rounded = std::ceil(static_cast<double>(shape.vertices) / 64) * 64;
  constexpr double bytes_per_second = 1e11;
  constexpr double wide_bytes_per_second = 5e9;  // openmp_tiled, in numbers of 16 bytes
  return rounded * rounded * rounded *
         (shape.wide ? 16 / wide_bytes_per_second : shape.element_bytes / bytes_per_second);
}

/// With the predecessors that come after it.
double whole_matrix_seconds(const Shape& shape) {
  const double relax = relax_seconds(shape);
  if (!shape.predecessors) return relax;
  const auto n = static_cast<double>(shape.vertices);
  const auto edges = static_cast<double>(shape.edges);
  if (shape.floating) return relax + static_cast<double>(shape.rows()) * search_seconds(shape);
  return relax + std::min(n * edges * 1e-9, relax);
}

double searches_seconds(const Shape& shape) { return static_cast<double>(shape.rows()) * search_seconds(shape); }

/// Whether searches take less time than relaxing the whole matrix on as many cores.
bool searches_pay(const Shape& shape) { return searches_seconds(shape) < whole_matrix_seconds(shape); }

/// Whether they take less time on all cores than a GPU.
bool searches_beat_gpu(const Shape& shape, const execution::Machine& machine) {
  constexpr double bytes_per_second = 2e13;
  const double on_gpu = execution::gpu_ready_seconds + shape.relaxations() * shape.element_bytes / bytes_per_second;
  return searches_seconds(shape) / machine.layout().physical_cores < on_gpu;
}

// A core relaxes at best a vector of 64 bytes in a clock.
bool gpu_pays(const Shape& shape, const execution::Machine& machine) {
  constexpr double bytes_per_second = 64 * 2.5e9;
  return shape.relaxations() * shape.element_bytes >=
             execution::gpu_ready_seconds * bytes_per_second * machine.layout().physical_cores &&
         !searches_beat_gpu(shape, machine);
}

}  // namespace

std::span<const Variant> variants() { return table; }

bool takes_edge_lists(const Variant& variant) { return variant.name == "openmp_dijkstra"; }

constinit const core::Ladder ladder{
    .problem = Room::name,
    .variants = [] { return std::vector<core::VariantInfo>(variants().begin(), variants().end()); },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          constexpr Shape usual[] = {{.vertices = 1000, .edges = 1000000}, {.vertices = 1000, .edges = 5000}};
          return core::supports_any(core::find_variant(variants(), name, Room::name), usual, machine);
        },
};

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  const auto find = [](std::string_view name) -> const Variant& {
    return core::find_variant(variants(), name, Room::name);
  };
  const auto best_on_gpu = [&]() -> const Variant& {
    const Variant& whole = find("cuda_dpx");
    const Variant& panels = find("cuda_panels");
    return fits_gpu(whole, shape, machine) || !panels.supports(shape, machine) ? whole : panels;
  };
  if (device == Device::gpu) {
    const Variant& best = best_on_gpu();
    if (const Support support = best.supports(shape, machine); !support)
      throw UnsupportedError("shortest_paths cannot run on a GPU: " + support.reason + "; use the CPU");
    return best;
  }
  if (device == Device::automatic && gpu_pays(shape, machine)) {
    const Variant& best = best_on_gpu();
    if (best.supports(shape, machine) && (!best.device_input || fits_gpu(best, shape, machine))) return best;
  }
  if (searches_pay(shape)) return find("openmp_dijkstra");
  return find(shape.wide ? "openmp_tiled" : "simd_tiled");
}

}  // namespace gradus::shortest_paths_detail
