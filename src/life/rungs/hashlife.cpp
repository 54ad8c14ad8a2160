// hashlife: equal squares are computed once, in space and in time.
//
// Idea. The plane is a quadtree of squares. Equal squares share one record, wherever and whenever they appear. A square
// of 2^n x 2^n cells determines its central half for the next 2^(n-2) generations. The state of the central half after
// these generations is the square's future. To compute it, the program takes nine overlapping squares of half the size
// and finds their futures. From these nine futures, it puts together four squares. The futures of these four squares
// together are the result, which is stored with the record. A square that appears again, elsewhere or later, takes only
// a look-up, so a million copies of a pattern cost hardly more than one copy. At the bottom, the adders of bit_sliced
// compute 32 x 32 cells for eight generations in registers. A number of generations is a sum of powers of two, and the
// plane takes one step for each power. If a square is so large that its future is farther away than the step, its state
// at the end of the step is computed instead.
//
// Work: for each new square, 13 other squares and 10 hash table look-ups, each a cache miss in a large universe;
// nothing for a known square. Memory: 32 bytes per distinct square, plus 11 to 21 bytes for its place in the table.
//
// Limits: only the plane, and no rules with B0. No hashes and no cycle detection, because these need each generation.
// Soups gain little, because they contain hardly any equal squares. One core.
//
// Source: R. W. Gosper, "Exploiting regularities in large cellular spaces", Physica D 10 (1984); T. Rokicki, "An
// algorithm for compressing space and time", Dr. Dobb's Journal (2006).
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/checked.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/memory.hpp"
#include "life/hashlife/universe.hpp"
#include "life/problem.hpp"
#include "life/quadtree.hpp"

namespace gradus::life_detail {

// ---- The future of a square ----

/// Returns the central half of a square after 2^(level - 2) generations or at the end of the step, whichever comes
/// first.
Universe::Index Universe::future_of(Index index, int level, const Frame* above) {
  if (index == empty) return empty;
  const Node& square = node(index);
  const Index known = is_full_step(level) ? square.future : known_step(square);
  if (known != unknown) return known;
  return level == block_level ? make_block_future(index) : make_future(index, level, above);
}

Universe::Index Universe::known_step(const Node& square) const {
  const auto exponent = static_cast<std::uint32_t>(exponent_);
  if (square.step_exponent == exponent) return square.step_future;
  for (Index more = square.more_steps; more != 0; more = records_[more].steps.more_steps) {
    const Steps& steps = records_[more].steps;
    for (std::size_t step = 0; step < steps.count; ++step)
      if (steps.exponents[step] == exponent) return steps.futures[step];
  }
  return unknown;
}

void Universe::keep_step(Index index, Index future) {
  const auto exponent = static_cast<std::uint32_t>(exponent_);
  if (Node& square = records_[index].node; square.step_future == unknown) {
    square.step_future = future;
    square.step_exponent = exponent;
    return;
  }
  // The node already holds the future for a step of another size. A linked list holds the futures for further sizes.
  Index more = records_[index].node.more_steps;
  if (more == 0 || records_[more].steps.count == Steps::most) {
    const Index added = take_record();
    records_[added].steps = {.futures = {}, .more_steps = more, .exponents = {}, .count = 0};
    records_[index].node.more_steps = more = added;
  }
  Steps& steps = records_[more].steps;
  steps.futures[steps.count] = future;
  steps.exponents[steps.count++] = static_cast<std::uint8_t>(exponent);
}

/// Computes the future of four leaves, 32 x 32 cells, cell by cell.
Universe::Index Universe::make_block_future(Index index) {
  const Quarters& leaves = quarters(index);
  // A word of a leaf holds four rows of 16 cells. A word of the block holds two rows of 32 cells.
  constexpr std::uint64_t western = 0x0000ffff0000ffff;
  const auto apart = [](std::uint64_t two_rows) { return (two_rows | two_rows << 16) & western; };
  const auto together = [](std::uint64_t two_rows) { return (two_rows & 0xffff) | (two_rows >> 16 & 0xffff0000); };
  Block cells;
  for (std::size_t half = 0; half < 2; ++half) {
    const LeafCells& west = records_[leaves[2 * half]].leaf;
    const LeafCells& east = records_[leaves[2 * half + 1]].leaf;
    for (std::size_t word = 0; word < 4; ++word) {
      std::uint64_t* const rows = &cells[8 * half + 2 * word];
      rows[0] = apart(west[word] & 0xffffffff) | apart(east[word] & 0xffffffff) << 16;
      rows[1] = apart(west[word] >> 32) | apart(east[word] >> 32) << 16;
    }
  }
  const bool full = is_full_step(block_level);
  advance_block(step_, cells, full ? 8 : 1 << exponent_);
  LeafCells inner;
  for (std::size_t word = 0; word < 4; ++word)
    inner[word] = together(cells[4 + 2 * word] >> 8) | together(cells[5 + 2 * word] >> 8) << 32;
  const Index future = find_leaf(inner);
  if (full) records_[index].node.future = future;
  else keep_step(index, future);
  return future;
}

/// Returns the square at the centre of four adjacent squares. Its level is the level of the four squares.
Universe::Index Universe::middle(Index nw, Index ne, Index sw, Index se, int level) {
  if (level > leaf_level) return find_node({quarters(nw)[3], quarters(ne)[2], quarters(sw)[1], quarters(se)[0]});
  LeafCells cells;
  constexpr std::uint64_t western = 0x00ff00ff00ff00ff;
  const auto row = [&](Index west, Index east, std::size_t word) {
    return (records_[west].leaf[word] >> 8 & western) | (records_[east].leaf[word] & western) << 8;
  };
  cells = {row(nw, ne, 2), row(nw, ne, 3), row(sw, se, 0), row(sw, se, 1)};
  return find_leaf(cells);
}

/// Finds the nine overlapping squares of half the size. Their centres are adjacent.
void Universe::find_blocks(const Quarters& whole, std::array<Index, 9>& blocks) {
  const Quarters& nw = quarters(whole[0]);
  const Quarters& ne = quarters(whole[1]);
  const Quarters& sw = quarters(whole[2]);
  const Quarters& se = quarters(whole[3]);
  const std::array<Quarters, 5> between{{{nw[1], ne[0], nw[3], ne[2]},
                                         {nw[2], nw[3], sw[0], sw[1]},
                                         {nw[3], ne[2], sw[1], se[0]},
                                         {ne[2], ne[3], se[0], se[1]},
                                         {sw[1], se[0], sw[3], se[2]}}};
  std::array<Index, 5> found;
  find_nodes(between, found.data());
  blocks = {whole[0], found[0], whole[1], found[1], found[2], found[3], whole[2], found[4], whole[3]};
}

Universe::Index Universe::make_future(Index index, int level, const Frame* above) {
  poll_stop();
  Frame frame{above, level, index, {}, {}};
  make_room(&frame);
  find_blocks(quarters(index), frame.blocks);
  std::array<Index, 9>& later = frame.futures;
  for (std::size_t block = 0; block < 9; ++block) later[block] = future_of(frame.blocks[block], level - 1, &frame);

  const bool full = is_full_step(level);
  Quarters inner;
  if (full) {
    const std::array<Quarters, 4> overlapping{{{later[0], later[1], later[3], later[4]},
                                               {later[1], later[2], later[4], later[5]},
                                               {later[3], later[4], later[6], later[7]},
                                               {later[4], later[5], later[7], later[8]}}};
    frame.blocks = {};
    find_nodes(overlapping, frame.blocks.data());
    for (std::size_t quarter = 0; quarter < 4; ++quarter)
      later[quarter] = future_of(frame.blocks[quarter], level - 1, &frame);
    std::copy_n(later.begin(), 4, inner.begin());
  } else {
    inner = {middle(later[0], later[1], later[3], later[4], level - 2),
             middle(later[1], later[2], later[4], later[5], level - 2),
             middle(later[3], later[4], later[6], later[7], level - 2),
             middle(later[4], later[5], later[7], later[8], level - 2)};
  }
  const Index future = find_node(inner);
  if (full) records_[index].node.future = future;
  else keep_step(index, future);
  return future;
}

// ---- The future of the plane ----

/// Surrounds the root with empty space: the root becomes the centre of a square with twice the side.
void Universe::expand() {
  if (level_ == most_levels)
    throw Error("hashlife: the pattern reaches further than 2^" + std::to_string(most_levels - 1) + " cells");
  const Quarters whole = quarters(root_);
  root_ = find_node({find_node({empty, empty, empty, whole[0]}), find_node({empty, empty, whole[1], empty}),
                     find_node({empty, whole[2], empty, empty}), find_node({whole[3], empty, empty, empty})});
  ++level_;
}

/// If everything around the centre of the root is empty, replaces the root by its centre and returns true. Otherwise
/// returns false.
bool Universe::shrink() {
  if (level_ == least_root_level) return false;
  const Quarters whole = quarters(root_);
  Quarters inner;
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    const Quarters& parts = quarters(whole[quarter]);
    for (std::size_t part = 0; part < 4; ++part)
      if (part != 3 - quarter && parts[part] != empty) return false;
    inner[quarter] = parts[3 - quarter];
  }
  root_ = find_node(inner);
  --level_;
  return true;
}

void Universe::step(int exponent) {
  exponent_ = exponent;
  make_room(nullptr);
  while (shrink()) {
  }
  // The live cells are in the central quarter of the root, and at least 2^exponent cells away from the border of its
  // central half. So they are still in the central half after the step, and future_of() returns this half.
  expand();
  expand();
  while (level_ < exponent + 3) expand();
  root_ = future_of(root_, level_, nullptr);
  --level_;
}

void Universe::advance(std::uint64_t generations, std::function<void(std::uint64_t)> progress) {
  progress_ = std::move(progress);
  done_ = 0;
  // Short steps come first, while the pattern is small.
  for (int exponent = 0; exponent < 64; ++exponent) {
    if ((generations >> exponent & 1) == 0) continue;
    step(exponent);
    done_ += std::uint64_t{1} << exponent;
  }
  progress_ = nullptr;
}

// ---- The job ----

namespace {

/// If the bounding box of the result is at most this large, the result is a grid, even if the box is nearly empty.
constexpr std::uint64_t small_grid_bytes = std::uint64_t{64} << 20;

/// Returns the memory limit of the universe: three quarters of the job's limit. The rest of the job needs the last
/// quarter.
std::uint64_t memory_of_universe(const Execution& execution) {
  const std::uint64_t available = cpu::available_memory();
  const std::uint64_t limit = execution.memory_limit > 0 ? std::min(execution.memory_limit, available) : available;
  return limit / 4 * 3;
}

/// Converts a tree that is centred at (left, top).
Solved solution_of(LifeTree tree, std::int64_t left, std::int64_t top, const std::stop_token& stop) {
  Solved solved;
  const std::optional<LifePopulation> population = population_of(tree);
  if (!population) throw Error("hashlife: 2^128 live cells or more, which cannot be counted");
  solved.population = *population;
  const std::optional<LifeBox> box = bounding_box(tree, left, top);
  const bool to_grid = box && box->height <= static_cast<std::int64_t>(small_grid_bytes / 8) /
                                                 std::max<std::int64_t>(box->width / 64, 1);
  if (!to_grid) {
    solved.tree = std::move(tree);
    solved.left = left;
    solved.top = top;
    return solved;
  }
  solved.cells = grid_of(tree, *box, left, top, stop);
  solved.left = box->left;
  solved.top = box->top;
  return solved;
}

}  // namespace

Solved hashlife(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  std::optional<Universe> universe;
  {
    const core::PhaseTimer timer(phases, "load");
    universe.emplace(problem.even, memory_of_universe(execution), problem.stop);
    if (!problem.tree) universe->load(life_tree(problem.cells, problem.left, problem.top, problem.stop));
    else universe->load(*problem.tree);
  }
  {
    const core::PhaseTimer timer(phases, "generations");
    core::Clock::time_point last_report;
    universe->advance(static_cast<std::uint64_t>(problem.generations), [&](std::uint64_t done) {
      if (!execution.progress || core::seconds_since(last_report) < 0.05) return;
      execution.progress({"generation", static_cast<std::int64_t>(done), problem.generations, {}});
      last_report = core::Clock::now();
    });
  }
  const core::PhaseTimer timer(phases, "unload");
  LifeTree tree = universe->tree();
  universe.reset();
  // The tree of a grid is centred at (0, 0). A given tree keeps its centre, so that its equal parts stay equal.
  return problem.tree ? solution_of(std::move(tree), problem.left, problem.top, problem.stop)
                      : solution_of(std::move(tree), 0, 0, problem.stop);
}

namespace {

core::Support unwatched_plane(const Shape& shape, const execution::Machine&) {
  if (shape.boundary != LifeBoundary::plane) return core::Support::no("works on the plane only");
  if (shape.lights_up) return core::Support::no("the rule has B0, by which empty space comes alive");
  if (shape.stepwise)
    return core::Support::no("computes no generation between, which hashes and the search for cycles need");
  return core::Support::yes();
}

/// Returns twice the memory for the squares of a pattern that has no equal squares. If later squares exceed the memory
/// limit, the run throws OutOfMemoryError.
core::Memory tree_of_squares(const Shape& shape, int) {
  constexpr std::uint64_t least = std::uint64_t{4} << 20;
  if (shape.tree) return {.host = least, .device = 0};
  const auto squares = core::checked_multiply(static_cast<std::uint64_t>(shape.height / 16 + 1),
                                              static_cast<std::uint64_t>(shape.width / 16 + 1), "squares");
  return {.host = core::checked_add(least, core::checked_multiply(squares, std::uint64_t{256}, "squares"), "squares"),
          .device = 0};
}

}  // namespace

extern constinit const Variant hashlife_rung{
    .name = "hashlife",
    .summary = "equal squares are computed once, in space and in time",
    .change = "repetitions are free, at any scale in space and time; only the plane",
    .backend = core::Backend::sequential,
    .supports = unwatched_plane,
    .memory = tree_of_squares,
    .facts = {.plane = true},
    .run = {hashlife},
};

}  // namespace gradus::life_detail
