// Types that all variants of Life use: the job, its shape, and the table row.
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

/// The properties of a job that determine the variant and the estimate of its memory.
struct Shape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t generations = 1;
  LifeBoundary boundary = LifeBoundary::plane;
  bool lights_up = false;  ///< true if the rule has B0, so that empty space comes alive
  bool stepwise = false;   ///< true if the driver examines each generation
  bool tree = false;

  double cell_updates() const {
    return static_cast<double>(height) * static_cast<double>(width) * static_cast<double>(generations);
  }
};

/// A job that computes generations of a bounded grid. For the plane, the driver uses grids with a `dead` boundary that
/// are so large that no live cell can reach the border. Variants with RowFacts::plane need no such grids.
struct Problem {
  LifeGridView cells;   ///< bits past the width may have any value
  LifeGridSpan result;  ///< same size as `cells`; may be the same memory
  /// The rules of even and of odd steps. The first step, which computes generation 1, is even. The rules differ only on
  /// the plane if the job's rule has B0. In this case, neither rule contains B0.
  LifeRule even;
  LifeRule odd;
  LifeBoundary boundary = LifeBoundary::dead;
  std::int64_t generations = 0;
  std::stop_token stop;  ///< the job's stop token; core/stop.hpp describes how to poll it

  // For variants that support the plane. `tree` is null or contains the cells. `left` and `top` are the place of the
  // first cell or, if there is a tree, of its centre.
  std::int64_t left = 0;
  std::int64_t top = 0;
  const LifeTree* tree = nullptr;

  cuda::Job* gpu = nullptr;  ///< set for a GPU variant; both grids are then on this GPU, and do not overlap

  bool is_torus() const { return boundary == LifeBoundary::torus; }
  const LifeRule& rule_of(std::int64_t generation) const { return generation % 2 == 0 ? even : odd; }
};

/// The result of a variant that supports the plane. All other variants write to Problem::result.
struct Solved {
  LifeGrid cells;
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::optional<LifeTree> tree;  ///< set if the bounding box of the live cells is too large for a grid
  LifePopulation population;
};

/// The facts of a row that are specific to Life.
struct RowFacts {
  bool plane = false;  ///< true if the variant supports only the plane, and needs no grid of the driver
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

/// Returns the default variant. It depends only on shape, machine and requested device. Throws UnsupportedError if a
/// GPU is requested and none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

/// Returns the variant to which a run of `first` may be handed over (handover.hpp), or null. Only a run for which the
/// caller named no variant can be handed over.
const Variant* successor(const Shape& shape, const Variant& first, const Execution& execution);

}  // namespace gradus::life_detail
