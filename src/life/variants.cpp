// THE table of Life's variants, in the order of the ladder, and the choice among them.
#include "life/variants.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "execution/gpu_support.hpp"
#include "life/bits/padded.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

namespace {

using core::Backend;
using core::Memory;

Memory two_padded_grids(const Shape& shape, int) {
  return {.host = core::checked_multiply(Padded::bytes(shape.height, shape.width), std::uint64_t{2}, "two grids")};
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
};

// A team of threads is awake after some microseconds, and each pass of some generations takes two barriers. One core,
// too, gains from several generations in a pass, but for a grid that is a few words wide, whose columns fill registers.
bool passes_pay(const Shape& shape) {
  const double generations = static_cast<double>(shape.stepwise ? 1 : std::min<std::int64_t>(shape.generations, 64));
  const double updates = static_cast<double>(shape.height) * static_cast<double>(shape.width) * generations;
  constexpr double worth_a_team = 4e6;
  return updates > worth_a_team && (shape.width > 256 || shape.height > 1024);
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

const Variant& choose(const Shape& shape, const execution::Machine&, Device device) {
  if (device == Device::gpu) throw UnsupportedError("life has no variant for a GPU; use the CPU (--device cpu)");
  return core::find_variant(variants(), passes_pay(shape) ? "openmp_temporal" : "bit_sliced", Room::name);
}

}  // namespace gradus::life_detail
