// THE table of Life's variants, in the order of the ladder, and the choice among them.
#include "life/variants.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "life/bits/padded.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

namespace {

using core::Backend;
using core::Memory;
using core::Support;

Support unwatched_plane(const Shape& shape) {
  if (shape.boundary != LifeBoundary::plane) return Support::no("works on the plane only");
  if (shape.lights_up) return Support::no("the rule has B0, by which empty space comes alive");
  if (shape.stepwise) return Support::no("computes no generation between, which hashes and the search for cycles need");
  return Support::yes();
}

/// The squares of a pattern in which no two are alike, twice. What becomes of them finds room, or the run says that
/// there is none.
Memory tree_of_squares(const Shape& shape, int) {
  constexpr std::uint64_t least = std::uint64_t{4} << 20;
  if (shape.tree) return {.host = least, .device = 0};
  const auto squares = core::checked_multiply(static_cast<std::uint64_t>(shape.height / 16 + 1),
                                              static_cast<std::uint64_t>(shape.width / 16 + 1), "squares");
  return {.host = core::checked_add(least, core::checked_multiply(squares, std::uint64_t{256}, "squares"), "squares"),
          .device = 0};
}

Memory two_padded_grids(const Shape& shape, int) {
  return {.host = core::checked_multiply(Padded::bytes(shape.height, shape.width), std::uint64_t{2}, "two grids")};
}

Support on_gpu(const Shape&, const execution::Machine& machine) { return execution::supported_on_gpu(machine); }

/// On the GPU: what the frame brings there, the result, and `grids` of so many bits for each cell.
template <int grids, int bits>
Memory grids_on_gpu(const Shape& shape, int) {
  const auto height = static_cast<std::uint64_t>(shape.height);
  const auto rounded = (static_cast<std::uint64_t>(shape.width) + 63) / 64 * 64;
  const std::uint64_t grid = core::checked_multiply(height, rounded, "a grid");
  const std::uint64_t bytes = core::checked_multiply(grid, std::uint64_t{2 + grids * bits}, "grids") / 8;
  return {.host = cuda::staging_bytes, .device = core::checked_add(bytes, std::uint64_t{4096}, "grids")};
}

constexpr Variant table[] = {
    {.name = "sequential",
     .summary = "a whole number for each cell, its neighbours added up, on one core",
     .backend = Backend::sequential,
     .memory = two_grids<int>,
     .run = {sequential}},
    {.name = "openmp",
     .summary = "the same, the rows of a generation among threads",
     .backend = Backend::openmp,
     .memory = two_grids<int>,
     .run = {openmp}},
    {.name = "openmp_bytes",
     .summary = "a byte for each cell, as many at once as a vector register holds",
     .backend = Backend::openmp,
     .memory = two_grids<std::uint8_t>,
     .run = {openmp_bytes}},
    {.name = "bit_sliced",
     .summary = "64 cells in a word, added up by logic operations on registers, on one core",
     .backend = Backend::sequential,
     .memory = two_padded_grids,
     .run = {bit_sliced}},
    {.name = "openmp_bit_sliced",
     .summary = "packed cells, the rows of a generation among threads",
     .backend = Backend::openmp,
     .memory = two_padded_grids,
     .run = {openmp_bit_sliced}},
    {.name = "openmp_temporal",
     .summary = "packed cells, several generations in one pass over the grid",
     .backend = Backend::openmp,
     .memory = two_padded_grids,
     .run = {openmp_temporal}},
    {.name = "hashlife",
     .summary = "squares that look alike are calculated once, in space and in time",
     .backend = Backend::sequential,
     .supports = [](const Shape& shape, const execution::Machine&) { return unwatched_plane(shape); },
     .memory = tree_of_squares,
     .facts = {.plane = true},
     .run = {hashlife}},
    {.name = "cuda_naive",
     .summary = "a byte for each cell in GPU memory, a thread for each cell of a generation",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = grids_on_gpu<2, 8>,
     .run = GRADUS_CUDA_RUNS(cuda_naive)},
    {.name = "cuda_shared",
     .summary = "tiles of cells in shared memory, each cell read once",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = grids_on_gpu<2, 8>,
     .run = GRADUS_CUDA_RUNS(cuda_shared)},
    {.name = "cuda_bit_sliced",
     .summary = "32 cells in a word, counted by a network of logic operations",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = grids_on_gpu<1, 1>,
     .run = GRADUS_CUDA_RUNS(cuda_bit_sliced)},
    {.name = "cuda_resident",
     .summary = "cells stay in registers for many generations; tiles exchange their borders",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = grids_on_gpu<1, 1>,
     .run = GRADUS_CUDA_RUNS(cuda_resident)},
};

// A team of threads is awake after some microseconds, and each pass of some generations takes two barriers. One core,
// too, gains from several generations in a pass, but for a grid that is a few words wide, whose columns fill registers.
bool passes_pay(const Shape& shape) {
  const double generations = static_cast<double>(shape.stepwise ? 1 : std::min<std::int64_t>(shape.generations, 64));
  const double updates = static_cast<double>(shape.height) * static_cast<double>(shape.width) * generations;
  constexpr double worth_a_team = 4e6;
  return updates > worth_a_team && (shape.width > 256 || shape.height > 1024);
}

/// Whether a GPU that nobody asked for is done sooner, the time it takes to get ready and the way there included. It
/// takes grids that are computed in one go, not those that the frame looks at, or makes larger, again and again.
bool gpu_pays(const Shape& shape, const execution::Machine& machine) {
  if (shape.boundary == LifeBoundary::plane || shape.stepwise || shape.tree) return false;
  constexpr double of_a_core = 7e10;  // cell updates a second (docs/results/life-h200-ladder.json)
  constexpr double of_a_gpu = 1e13;
  constexpr double bytes_of_the_bus = 2e10;
  const double there_and_back = static_cast<double>(shape.height) * static_cast<double>(shape.width) / 4;
  const double on_gpu_seconds =
      execution::gpu_ready_seconds + shape.cell_updates() / of_a_gpu + there_and_back / bytes_of_the_bus;
  if (shape.cell_updates() / (of_a_core * machine.cores) < on_gpu_seconds) return false;
  return execution::supported_on_gpu(machine) &&
         grids_on_gpu<1, 1>(shape, 1).device <= execution::to_plan_with(execution::least_gpu(machine));
}

}  // namespace

std::span<const Variant> variants() { return table; }

constinit const core::Ladder ladder{
    .problem = Room::name,
    .variants = [] { return std::vector<core::VariantInfo>(variants().begin(), variants().end()); },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          constexpr Shape usual[] = {
              {.height = 1000, .width = 1000, .generations = 1000, .boundary = LifeBoundary::plane},
              {.height = 1000, .width = 1000, .generations = 1000, .boundary = LifeBoundary::torus}};
          return core::supports_any(core::find_variant(variants(), name, Room::name), usual, machine);
        },
};

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  // What is given as a tree has alike parts. Whether other patterns have them shows while they run: see successor().
  if (device != Device::gpu && shape.tree && unwatched_plane(shape))
    return core::find_variant(variants(), "hashlife", Room::name);
  if (device == Device::gpu || (device == Device::automatic && gpu_pays(shape, machine)))
    return core::find_variant(variants(), "cuda_resident", Room::name);
  return core::find_variant(variants(), passes_pay(shape) ? "openmp_temporal" : "bit_sliced", Room::name);
}

const Variant* successor(const Shape& shape, const Variant& first, const Execution& execution) {
  if (!execution.variant.empty() || execution.device == Device::gpu || first.facts.plane || !unwatched_plane(shape))
    return nullptr;
  return &core::find_variant(variants(), "hashlife", Room::name);
}

}  // namespace gradus::life_detail
