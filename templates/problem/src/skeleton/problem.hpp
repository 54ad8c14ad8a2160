// Definitions that all variants of the problem share: the job, its shape, and the row of the ladder.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/ladder.hpp"
#include "execution/machine.hpp"
#include "gradus/skeleton.hpp"

namespace gradus::skeleton_detail {

/// The sizes that determine the choice of a variant and the estimates of memory.
struct Shape {
  std::int64_t values = 0;
};

struct Problem {
  VectorView<const std::uint64_t> values;
  std::uint64_t start = 0;
  std::stop_token stop;  ///< stop token of the job; core/stop.hpp explains how to poll it

  Shape shape() const { return {.values = values.size()}; }
};

/// The types of this room for core/ladder.hpp.
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
/// The ladder, for generic code that does not know the problem.
extern const core::Ladder ladder;

/// Returns the variant that runs if Execution::variant is empty. The choice depends only on shape, machine and device.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

}  // namespace gradus::skeleton_detail
