// What all variants of Life share: the job that they are given, its shape, and the row of the table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/ladder.hpp"
#include "execution/machine.hpp"
#include "gradus/life.hpp"

namespace gradus::cuda {
class Job;
}

namespace gradus::life_detail {

/// On what the choice of a variant and the estimates of memory depend.
struct Shape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t generations = 1;
  LifeBoundary boundary = LifeBoundary::plane;
  bool lights_up = false;  ///< the rule has B0
  bool stepwise = false;   ///< the frame looks at each generation
  bool tree = false;       ///< the cells are given as a tree

  double cell_updates() const {
    return static_cast<double>(height) * static_cast<double>(width) * static_cast<double>(generations);
  }
};

/// Generations of a grid with a border. The frame makes the plane out of such: it gives a variant grids of `dead` in
/// which nothing can reach the border (Row::plane says who does without).
struct Problem {
  LifeGridView cells;   ///< bits past the width may be anything
  LifeGridSpan result;  ///< of the same size; may be the same memory
  /// The rule by which generation 1 follows from the first one, and so on with every second one; and that of the
  /// others. They differ only where a rule with B0 lives on the plane, and have no B0 there.
  LifeRule even;
  LifeRule odd;
  LifeBoundary boundary = LifeBoundary::dead;
  std::int64_t generations = 0;
  std::stop_token stop;  ///< the job's; see core/stop.hpp for how to look at it

  // For rows that take the plane: the cells as a tree, or null, and the place of the first cell or the tree's middle.
  std::int64_t left = 0;
  std::int64_t top = 0;
  const LifeTree* tree = nullptr;

  cuda::Job* gpu = nullptr;  ///< of a variant that takes cells there: both grids lie on it, and are not the same memory

  bool is_torus() const { return boundary == LifeBoundary::torus; }
  const LifeRule& rule_of(std::int64_t generation) const { return generation % 2 == 0 ? even : odd; }
};

/// What is known of a plane afterwards, of rows that take it. Of others the result is in the problem's.
struct Solved {
  LifeGrid cells;
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::optional<LifeTree> tree;  ///< where the rectangle of live cells is too large for a grid
  LifePopulation population;
};

/// What the room's rows say beyond what all rows do.
struct RowFacts {
  bool plane = false;  ///< it takes the plane as it is, and nothing else
};

/// What core/ladder.hpp wants to know of this room.
struct Room {
  static constexpr std::string_view name = "life";
  using Shape = life_detail::Shape;
  using RowFacts = life_detail::RowFacts;
  using Elements = core::NoElements;
  template <class>
  using Problem = life_detail::Problem;
  template <class>
  using Result = Solved;
};
using Variant = core::Variant<Room>;

core::Rows<Variant> variants();
/// The same for those who know no problem.
extern const core::Ladder ladder;

/// The variant for `Execution::variant` empty: a pure function of the shape, the machine and the device asked for.
/// UnsupportedError where a GPU is asked for and none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

/// The variant to which a run of `first` may be handed over (handover.hpp), or null: there is one if the caller named
/// no variant.
const Variant* successor(const Shape& shape, const Variant& first, const Execution& execution);

}  // namespace gradus::life_detail
