// The ladder in order, and the choice of a variant.
#include <vector>

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

namespace {

std::vector<Shape> usual_shapes() { return {{.values = 1000000}}; }

}  // namespace

constinit const core::Ladder ladder = core::ladder_of<Room, variants, usual_shapes>;

const Variant& choose(const Shape&, const execution::Machine&, Device device) {
  if (device == Device::gpu) throw UnsupportedError("skeleton has no GPU variant; use the CPU");
  return sequential_rung;
}

}  // namespace gradus::skeleton_detail
