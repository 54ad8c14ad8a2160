// THE table of Life's variants, in the order of the ladder, and the choice among them.
#include "life/variants.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "execution/gpu_support.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

namespace {

using core::Backend;
using core::Memory;
using core::Support;

Support unwatched_plane(const Shape& shape, const execution::Machine&) {
  if (shape.boundary != LifeBoundary::plane) return Support::no("works on the plane only");
  if (shape.lights_up) return Support::no("the rule has B0, by which empty space comes alive");
  if (shape.stepwise) return Support::no("looks at no generation between, as hashes and --until-stable ask for");
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
    {.name = "hashlife",
     .summary = "squares that look alike are calculated once, in space and in time",
     .backend = Backend::sequential,
     .supports = unwatched_plane,
     .memory = tree_of_squares,
     .facts = {.plane = true},
     .run = {hashlife}},
};

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
  if (device == Device::gpu) throw UnsupportedError("life has no variant for a GPU; use the CPU (--device cpu)");
  // What is given as a tree has alike parts, and what lives that long mostly repeats itself.
  constexpr std::int64_t long_life = 1 << 14;
  if ((shape.tree || shape.generations >= long_life) && unwatched_plane(shape, machine))
    return core::find_variant(variants(), "hashlife", Room::name);
  return core::find_variant(variants(), "openmp", Room::name);
}

}  // namespace gradus::life_detail
