// THE table of shortest-path variants, in the order of the ladder, and the choice among them.
#include "shortest_paths/variants.hpp"

#include <string>

#include "core/checked.hpp"

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

// The runs of a variant in all element types.
#define GRADUS_RUNS(variant) \
  { variant<std::int32_t>, variant<std::int64_t>, variant<float>, variant<double> }

constexpr Variant table[] = {
    {.name = "sequential",
     .summary = "the textbook's three loops on one core",
     .backend = Backend::sequential,
     .run = GRADUS_RUNS(sequential)},
    {.name = "openmp_rows",
     .summary = "for one vertex in the middle after the other, the rows among threads",
     .backend = Backend::openmp,
     .run = GRADUS_RUNS(openmp_rows)},
    {.name = "sequential_recursive",
     .summary = "quadrants of quadrants, until a block fits every cache",
     .backend = Backend::sequential,
     .run = GRADUS_RUNS(sequential_recursive)},
    {.name = "openmp_recursive",
     .summary = "the recursion in its published order, tasks where two quadrants do not wait for each other",
     .backend = Backend::openmp,
     .run = GRADUS_RUNS(openmp_recursive)},
    {.name = "openmp_recursive_split",
     .summary = "the recursion in separate routines for diagonal, row, column and rest: tasks nearly everywhere",
     .backend = Backend::openmp,
     .run = GRADUS_RUNS(openmp_recursive_split)},
    {.name = "openmp_tiled",
     .summary = "tile after tile in the middle: the diagonal, its row and column, the rest",
     .backend = Backend::openmp,
     .run = GRADUS_RUNS(openmp_tiled)},
    {.name = "simd_tiled",
     .summary = "contiguous tiles, relaxed as min-plus products in vector registers",
     .backend = Backend::simd,
     .supports = in_own_type,
     .memory = tiles_memory,
     .run = GRADUS_RUNS(simd_tiled)},
};

}  // namespace

std::span<const Variant> variants() { return table; }

constinit const core::Ladder ladder{
    .problem = Room::name,
    .variants = [] { return std::vector<core::VariantInfo>(variants().begin(), variants().end()); },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          constexpr Shape usual[] = {{.vertices = 1000, .edges = 1000000}, {.vertices = 1000, .edges = 5000}};
          return core::supports_any(core::find_variant(variants(), name, Room::name), usual, machine);
        },
};

const Variant& choose(const Shape& shape, const execution::Machine&, Device device) {
  if (device == Device::gpu)
    throw UnsupportedError("shortest_paths has no variant for a GPU yet; use the CPU (--device cpu)");
  return core::find_variant(variants(), shape.wide ? "openmp_tiled" : "simd_tiled", Room::name);
}

}  // namespace gradus::shortest_paths_detail
