// The ladder, in order, and the choice among its variants.
#include "execution/gpu_support.hpp"
#include "skeleton/problem.hpp"

namespace gradus::skeleton_detail {

// clang-format off
#define GRADUS_LADDER(RUNG) \
  RUNG(sequential)
// clang-format on

GRADUS_LADDER(GRADUS_DECLARE_RUNG)

namespace {

constexpr const Variant* table[] = {GRADUS_LADDER(GRADUS_POINT_TO_RUNG)};

}  // namespace

core::Rows<Variant> variants() { return table; }

constinit const core::Ladder ladder{
    .problem = Room::name,
    .variants = [] { return std::vector<core::VariantInfo>(variants().begin(), variants().end()); },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          constexpr Shape usual[] = {{.values = 1000000}};
          return core::supports_any(core::find_variant(variants(), name, Room::name), usual, machine);
        },
};

const Variant& choose(const Shape&, const execution::Machine&, Device device) {
  if (device == Device::gpu) throw UnsupportedError("skeleton has no GPU variant; use the CPU");
  return sequential_rung;
}

}  // namespace gradus::skeleton_detail
