// Types that all variants of Life share: the job, its shape, and the table row.
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

/// The properties of a job that determine the variant and the memory estimate.
struct Shape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t generations = 1;
  LifeBoundary boundary = LifeBoundary::plane;
  bool lights_up = false;  ///< true if the rule has B0: empty space comes alive
  bool stepwise = false;   ///< true if the driver examines each generation
  bool tree = false;

  double cell_updates() const {
    return static_cast<double>(height) * static_cast<double>(width) * static_cast<double>(generations);
  }
};

/// Generations of a grid with a border. For the plane, the driver uses grids with a `dead` boundary that are so large
/// that no live cell can reach the border. Variants with RowFacts::plane support the plane directly.
struct Problem {
  LifeGridView cells;   ///< bits past the width may have any value
  LifeGridSpan result;  ///< same size as `cells`; may be the same memory
  /// The rules of even steps, beginning with generation 1, and of odd steps. They differ only on the plane with a B0
  /// rule. In this case, neither of them contains B0.
  LifeRule even;
  LifeRule odd;
  LifeBoundary boundary = LifeBoundary::dead;
  std::int64_t generations = 0;
  std::stop_token stop;  ///< the job's stop token; core/stop.hpp explains polling

  // For variants that support the plane: `tree` holds the cells as a tree, or is null. `left` and `top` are the place
  // of the first cell or, if there is a tree, of its centre.
  std::int64_t left = 0;
  std::int64_t top = 0;
  const LifeTree* tree = nullptr;

  cuda::Job* gpu = nullptr;  ///< set for a variant on a GPU; both grids are then on this GPU, in different memory

  bool is_torus() const { return boundary == LifeBoundary::torus; }
  const LifeRule& rule_of(std::int64_t generation) const { return generation % 2 == 0 ? even : odd; }
};

/// The result on a plane, from variants that support it. Other variants write to Problem::result.
struct Solved {
  LifeGrid cells;
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::optional<LifeTree> tree;  ///< used if the bounding box of live cells is too large for a grid
  LifePopulation population;
};

/// The facts of a row that are specific to Life.
struct RowFacts {
  bool plane = false;  ///< true if the variant supports only the plane, without a driver's grid
};

/// The types of this room for core/ladder.hpp.
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
/// The ladder, for code that does not know the problem.
extern const core::Ladder ladder;

/// Returns the default variant, a pure function of shape, machine and requested device. Throws UnsupportedError if a
/// GPU is requested and none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

/// Returns the variant to which a run of `first` may be handed over (handover.hpp), or null. Only a run for which the
/// caller named no variant can be handed over.
const Variant* successor(const Shape& shape, const Variant& first, const Execution& execution);

}  // namespace gradus::life_detail
