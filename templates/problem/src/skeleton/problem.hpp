// What all variants of the problem share: the job that they are given, its shape, and the row of the ladder.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/ladder.hpp"
#include "execution/machine.hpp"
#include "gradus/skeleton.hpp"

namespace gradus::skeleton_detail {

/// On what the choice of a variant and the estimates of memory depend.
struct Shape {
  std::int64_t values = 0;
};

struct Problem {
  VectorView<const std::uint64_t> values;
  std::uint64_t start = 0;
  std::stop_token stop;  ///< of the job; see core/stop.hpp for how to poll it

  Shape shape() const { return {.values = values.size()}; }
};

/// What core/ladder.hpp needs to know of this room.
struct Room {
  static constexpr std::string_view name = "skeleton";
  using Shape = skeleton_detail::Shape;
  using Elements = core::NoElements;
  template <class>
  using Problem = skeleton_detail::Problem;
  template <class>
  using Result = std::uint64_t;
};
using Variant = core::Variant<Room>;

core::Rows<Variant> variants();
/// The same for code that does not know the problem.
extern const core::Ladder ladder;

/// Returns the variant for an empty Execution::variant: a pure function of the shape, the machine and the device.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

}  // namespace gradus::skeleton_detail
