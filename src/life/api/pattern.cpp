// life() for a pattern, and life_options().
#include <algorithm>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "core/stop.hpp"
#include "execution/whole_call.hpp"
#include "life/api/compute.hpp"
#include "life/api/steps.hpp"
#include "life/quadtree.hpp"

namespace gradus {

namespace room = life_detail;

namespace {

/// Checks the arguments. Returns the options with the coordinates of the pattern.
LifeOptions check(const LifePattern& pattern, const LifeOptions& options, const Execution& execution) {
  execution::check_execution(execution);
  room::check(options);
  LifeOptions placed = options;
  if (!room::is_near(pattern.left) || !room::is_near(pattern.top) || !room::is_near(placed.left += pattern.left) ||
      !room::is_near(placed.top += pattern.top))
    throw UsageError(about("pattern") + "its first cell must be within 2^62 of (0, 0)");
  return placed;
}

/// Returns the place of the pattern's first cell on a grid of this size or, if the pattern is a tree, the place of its
/// centre.
std::pair<std::int64_t, std::int64_t> place_on_grid(const LifePattern& pattern, std::int64_t height,
                                                    std::int64_t width) {
  if (!pattern.unplaced) return {pattern.left, pattern.top};
  const LifeRectangle& own = *pattern.unplaced;
  const bool fits = own.width <= width && own.height <= height;
  const room::LifeBox box = fits ? room::world_box(own.width, own.height) : room::world_box(width, height);
  return {pattern.left + box.left, pattern.top + box.top};
}

std::string would_hold(std::int64_t width, std::int64_t height) {
  return "; " + std::to_string(width) + " x " + std::to_string(height) + " would hold them";
}

/// Returns a part of a message: the size of a grid that is centred at (0, 0) and contains these columns and rows.
/// Returns "" if such a grid would be too large.
std::string sufficient_grid(std::int64_t left, std::int64_t right, std::int64_t top, std::int64_t bottom) {
  constexpr std::int64_t far = std::int64_t{1} << 38;
  if (left < -far || right > far || top < -far || bottom > far) return "";
  const auto side = [](std::int64_t first, std::int64_t last) {
    return std::max({std::int64_t{1}, -2 * first, 2 * last + 1});
  };
  return would_hold(side(left, right), side(top, bottom));
}

/// Returns the world of a bounded pattern. Throws InputError if a live cell is outside the world.
LifeGrid grid_of_world(const LifePattern& pattern, std::int64_t height, std::int64_t width,
                       const Execution& execution) {
  auto [left, top] = place_on_grid(pattern, height, width);
  room::GridOfTree of_tree;
  if (pattern.tree) {
    of_tree = room::grid_of({*pattern.tree, left, top}, "on the plane 'hashlife' takes it as it is", execution);
    left = of_tree.left;
    top = of_tree.top;
  }
  const LifeGrid& cells = pattern.tree ? of_tree.cells : pattern.cells;
  const room::Box box = room::live_box(cells.view(), execution.stop);
  const std::int64_t first_column = box.left + left;
  const std::int64_t last_column = box.right + left - 1;
  const std::int64_t first_row = box.top + top;
  const std::int64_t last_row = box.bottom + top - 1;
  const room::LifeBox world = room::world_box(width, height);
  if (!box.empty() && (first_column < world.left || first_row < world.top || last_column >= world.left + width ||
                       last_row >= world.top + height))
    throw InputError(about("cells") + "live cells are in columns " + std::to_string(first_column) + " to " +
                     std::to_string(last_column) + " and rows " + std::to_string(first_row) + " to " +
                     std::to_string(last_row) + ", and the grid of " + std::to_string(width) + " x " +
                     std::to_string(height) + " begins at (" + std::to_string(world.left) + ", " +
                     std::to_string(world.top) + ")" +
                     (pattern.unplaced ? would_hold(pattern.unplaced->width, pattern.unplaced->height)
                                       : sufficient_grid(first_column, last_column, first_row, last_row)));
  LifeGrid grid(height, width, LifeGrid::Uninitialised{});
  room::copy_cells(cells.view(), world.top - top, world.left - left, grid.span(), execution.stop);
  core::honour_stop(execution.stop, "stopped while copying cells");
  return grid;
}

LifeResult compute_in_grid(const LifePattern& pattern, const LifeOptions& options, std::int64_t height,
                           std::int64_t width, const Execution& here, execution::Timing timing) {
  room::check_sizes(height, width);
  LifeOptions in_grid = options;
  in_grid.left += room::world_box(width, height).left;
  in_grid.top += room::world_box(width, height).top;
  execution::check_memory(core::checked_multiply(static_cast<std::uint64_t>(height),
                                                 static_cast<std::uint64_t>((width + 63) / 64 * 8), "a grid"),
                          here);
  LifeGrid grid;
  {
    const core::PhaseTimer timer(timing.phases, "place");
    grid = grid_of_world(pattern, height, width, here);
  }
  LifeMemory memory;
  memory.cells = grid.span();
  LifeResult result = room::compute({.cells = grid.view()}, in_grid, memory, here, std::move(timing));
  result.cells = std::move(grid);
  return result;
}

}  // namespace

LifeResult life(const LifePattern& pattern, const LifeOptions& options, std::int64_t height, std::int64_t width,
                const Execution& execution) {
  const LifeOptions placed = check(pattern, options, execution);
  return execution::whole_call(execution, [&](const Execution& here) {
    execution::Timing timing;
    if (pattern.tree) room::check_tree(*pattern.tree);
    else room::check_grid(pattern.cells.view(), "cells");
    if (options.boundary != LifeBoundary::plane)
      return compute_in_grid(pattern, options, height, width, here, std::move(timing));
    return room::compute({.cells = pattern.tree ? LifeGridView{} : pattern.cells.view(),
                          .tree = pattern.tree ? &*pattern.tree : nullptr},
                         placed, {}, here, std::move(timing));
  });
}

LifeOptions life_options(const LifePattern& pattern) {
  LifeOptions options;
  options.rule = pattern.rule.value_or(LifeRule{});
  options.boundary = pattern.boundary.value_or(LifeBoundary::plane);
  return options;
}

}  // namespace gradus
