// The public entry points: check, choose, run.
#include "gradus/life.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/life_tree.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "life/gpu/run_on_gpu.hpp"
#include "life/handover.hpp"
#include "life/tree.hpp"
#include "life/variants.hpp"
#include "life/world.hpp"

namespace gradus {

namespace room = life_detail;

namespace {

/// The place of the pattern's first cell, or of the middle of its tree, on a grid of this size.
std::pair<std::int64_t, std::int64_t> place_on_grid(const LifePattern& pattern, std::int64_t height,
                                                    std::int64_t width) {
  if (!pattern.unplaced) return {pattern.left, pattern.top};
  const LifeRectangle& own = *pattern.unplaced;
  const bool fits = own.width <= width && own.height <= height;
  const core::LifeBox box = fits ? core::world_box(own.width, own.height) : core::world_box(width, height);
  return {pattern.left + box.left, pattern.top + box.top};
}

std::string would_hold(std::int64_t width, std::int64_t height) {
  return "; " + std::to_string(width) + " x " + std::to_string(height) + " would hold them";
}

/// Names a grid about (0, 0) that holds these columns and rows. Empty if they are too far away.
std::string sufficient_grid(std::int64_t left, std::int64_t right, std::int64_t top, std::int64_t bottom) {
  constexpr std::int64_t far = std::int64_t{1} << 38;
  if (left < -far || right > far || top < -far || bottom > far) return "";
  const auto side = [](std::int64_t first, std::int64_t last) {
    return std::max({std::int64_t{1}, -2 * first, 2 * last + 1});
  };
  return would_hold(side(left, right), side(top, bottom));
}

/// Whether a place is within 2^exponent of 0.
bool is_near(std::int64_t place, int exponent) {
  return place >= -(std::int64_t{1} << exponent) && place <= std::int64_t{1} << exponent;
}

void check_options(const LifeOptions& options) {
  execution::check_choice(options.boundary, LifeBoundary::torus, "boundary");
  if (options.generations < 0)
    throw UsageError("the number of generations must not be negative, not " + std::to_string(options.generations));
  if ((options.rule.birth | options.rule.survival) >= 1U << 9)
    throw UsageError(about("rule") + "a list of neighbours has bits 0 to 8 alone");
  if (!is_near(options.left, 62) || !is_near(options.top, 62))
    throw UsageError(about("left and top") + "the first cell must lie within 2^62 of (0, 0)");
}

void check_sizes(std::int64_t height, std::int64_t width) {
  if (height < 0 || width < 0)
    throw UsageError(about("cells") + "the sizes " + std::to_string(height) + " x " + std::to_string(width) +
                     " must not be negative");
  // So that sums of a few sizes and places never overflow.
  constexpr std::int64_t most = std::int64_t{1} << 48;
  if (height > most || width > most)
    throw UsageError(about("cells") + "the sizes " + std::to_string(height) + " x " + std::to_string(width) +
                     " are beyond 2^48");
}

/// UsageError for a grid that cannot be true.
void check_grid(const LifeGridView& cells, const char* what) {
  if (cells.width < 0)
    throw UsageError(about(what) + "the width must be not negative, not " + std::to_string(cells.width));
  detail::check_view({cells.words, cells.height, cells.row_words(), cells.stride, cells.place, sizeof(std::uint64_t),
                      alignof(std::uint64_t)},
                     what);
  check_sizes(cells.height, cells.width);
}

/// UnsupportedError for what is done with cells in host memory alone.
void check_stays_there(MemoryPlace place, const char* what, const LifeOptions& options) {
  if (place.is_host()) return;
  const char* const wish = options.boundary == LifeBoundary::plane ? "a plane"
                           : options.hashes                        ? "hashes of generations"
                           : options.until_stable                  ? "a search for cycles"
                                                                   : nullptr;
  if (wish != nullptr)
    throw UnsupportedError(about(what) + "they lie on " + execution::gpu_number(place.gpu) + ", and " + wish +
                           " needs them in host memory; copy them there");
}

void check_memory_views(const LifeGridView& cells, const LifeOptions& options, const LifeMemory& memory) {
  check_grid(memory.cells, "memory for cells");
  execution::check_view(memory.hashes, "memory for hashes");
  if (memory.cells.words != nullptr) {
    if (options.boundary == LifeBoundary::plane)
      throw UsageError(about("memory for cells") +
                       "how large the result on a plane will be is not known; leave it out");
    if (memory.cells.height != cells.height || memory.cells.width != cells.width)
      throw UsageError(about("memory for cells") + "it is for " + std::to_string(memory.cells.height) + " x " +
                       std::to_string(memory.cells.width) + ", and the cells are " + std::to_string(cells.height) +
                       " x " + std::to_string(cells.width));
    const bool same = memory.cells.words == cells.words && memory.cells.stride == cells.stride;
    if (!same)
      execution::check_apart(room::rows_of(LifeGridView(memory.cells)), "memory for cells", room::rows_of(cells),
                             "cells");
  }
  if (memory.hashes.empty()) return;
  if (!options.hashes) throw UsageError(about("memory for hashes") + "there is some, but hashes is not set");
  if (!memory.hashes.place().is_host()) throw UsageError(about("memory for hashes") + "it must lie in host memory");
  if (memory.hashes.size() - 1 != options.generations)
    throw UsageError(about("memory for hashes") + "there is room for " + std::to_string(memory.hashes.size()) +
                     "; for generations 0 to " + std::to_string(options.generations) + " there are " +
                     std::to_string(static_cast<std::uint64_t>(options.generations) + 1));
}

room::Shape shape_of(std::int64_t height, std::int64_t width, const LifeOptions& options, bool tree = false) {
  return {.height = height,
          .width = width,
          .generations = options.generations,
          .boundary = options.boundary,
          .lights_up = (options.rule.birth & 1) != 0,
          .stepwise = options.hashes || options.until_stable,
          .tree = tree};
}

const room::Variant& select(const room::Shape& shape, const Execution& execution) {
  const room::Variant& variant =
      execution::wanted_variant(room::variants(), room::choose, shape, execution, room::Room::name);
  execution::check_runs_here(variant, shape, execution, room::Room::name);
  return variant;
}

/// By the work between two barriers. A long job does not depend on what else runs when it begins: it finds out by
/// itself whether its team pays.
int chosen_threads(const room::Shape& shape, const room::Variant& variant, const Execution& execution) {
  if (variant.backend == core::Backend::sequential) return 1;
  if (execution.threads > 0) return execution.threads;
  constexpr double nanoseconds_an_update = 1 / 70.0;
  constexpr double generations_of_a_pass = 16;
  constexpr double is_long = 1e9;
  const double job = nanoseconds_an_update * shape.cell_updates();
  const double pass = nanoseconds_an_update * generations_of_a_pass * static_cast<double>(shape.height) *
                      static_cast<double>(shape.width);
  return cpu::ready_threads(cpu::thread_count(execution), std::max(pass, job < is_long ? 0 : job));
}

/// Of grids of a bit for each cell: the result, and for what is stepped through, compared or grows, copies of it.
std::uint64_t host_memory(const room::Shape& shape, const LifeOptions& options, const room::Variant& variant,
                          int threads) {
  if (variant.facts.plane) return variant.memory(shape, threads).host;
  const auto row = static_cast<std::uint64_t>((shape.width + 63) / 64 * 8);
  const std::uint64_t grid = core::checked_multiply(static_cast<std::uint64_t>(shape.height), row, "a grid");
  const std::uint64_t grids = options.until_stable ? 4 : options.boundary == LifeBoundary::plane ? 2 : 1;
  std::uint64_t bytes = core::checked_add(core::checked_multiply(grid, grids, "grids"),
                                          variant.memory(shape, threads).host, "the memory of the job");
  if (options.hashes)
    bytes = core::checked_add(
        bytes, core::checked_multiply(static_cast<std::uint64_t>(options.generations) + 1, std::uint64_t{8}, "hashes"),
        "the memory of the job");
  return bytes;
}

/// Looks at each generation: hashes, and whether it was there before.
class Steps {
 public:
  Steps(const room::Job& job, room::World& world, const LifeMemory& memory, LifeResult& result)
      : job_(job), world_(world), memory_(memory), result_(result) {}

  void run() {
    const LifeOptions& options = job_.options;
    note_hash();
    auto told = core::Clock::now();
    for (std::int64_t generation = 0; generation < options.generations; ++generation) {
      core::honour_stop(job_.execution->stop, "stopped while computing generations");
      world_.advance(1);
      note_hash();
      if (result_.cycle) return;
      if (!job_.execution->progress || core::seconds_since(told) < 0.05) continue;
      told = core::Clock::now();
      job_.execution->progress(
          {.phase = "generation", .done = generation + 1, .total = options.generations, .detail = {}});
    }
  }

 private:
  void note_hash() {
    const core::PhaseTimer timer(*job_.phases, "hash");
    const std::uint64_t hash = world_.hash();
    const std::int64_t generation = world_.generation();
    if (job_.options.hashes) {
      if (memory_.hashes.empty()) result_.hashes.push_back(hash);
      else memory_.hashes[generation] = hash;
    }
    if (!job_.options.until_stable) return;
    const auto [first, last] = seen_.equal_range(hash);
    for (auto before = first; before != last; ++before)
      if (is_generation(before->second)) {
        result_.cycle = LifeCycle{before->second, generation - before->second};
        return;
      }
    seen_.emplace(hash, generation);
    if (std::has_single_bit(seen_.size()))  // the table of so many more entries is next
      execution::check_memory(core::checked_multiply(std::uint64_t{64}, std::uint64_t{seen_.size()}, "generations"),
                              *job_.execution, "generations that are all different are kept; set a lower limit");
  }

  /// Whether the pattern is that of an earlier generation, cell by cell: it is computed again.
  bool is_generation(std::int64_t generation) {
    room::World earlier(job_, {});
    earlier.advance(generation);
    return earlier.hash() == world_.hash() && earlier.same_as(world_);
  }

  const room::Job& job_;
  room::World& world_;
  const LifeMemory& memory_;
  LifeResult& result_;
  std::unordered_multimap<std::uint64_t, std::int64_t> seen_;
};

void finish_report(LifeResult& result, const room::Variant& variant, const Execution& execution, int threads,
                   std::vector<Phase> phases, core::Clock::time_point start) {
  result.report.variant = variant.name;
  result.report.device = execution::device_name(variant.backend == core::Backend::cuda, execution);
  result.report.threads = threads;
  core::add_phase(phases, "total", core::seconds_since(start));
  result.report.phases = std::move(phases);
}

LifeResult result_of(room::Solved solved, const LifeOptions& options) {
  LifeResult result;
  result.cells = std::move(solved.cells);
  result.left = solved.left;
  result.top = solved.top;
  result.tree = std::move(solved.tree);
  result.population = solved.population;
  result.generations = options.generations;
  return result;
}

/// A plane whose variant takes it as it is.
LifeResult solve_plane(const room::Variant& variant, const LifeGridView& cells, const LifeTree* tree,
                       const LifeOptions& options, const Execution& execution, std::vector<Phase>& phases) {
  const room::Problem problem{.cells = cells,
                              .result = {},
                              .even = options.rule,
                              .odd = options.rule,
                              .boundary = options.boundary,
                              .generations = options.generations,
                              .stop = execution.stop,
                              .left = options.left,
                              .top = options.top,
                              .tree = tree};
  return result_of(variant.run(problem, execution, phases), options);
}

/// Where the cells or the memory for the result lie on a GPU. `execution` names that one.
LifeResult solve_there(const room::Variant& variant, const LifeGridView& cells, const LifeOptions& options,
                       const LifeMemory& memory, const Execution& execution, std::vector<Phase>& phases) {
  LifeResult result;
  LifeGridSpan to = memory.cells;
  if (to.words == nullptr) {
    result.cells = LifeGrid(cells.height, cells.width, LifeGrid::Uninitialised{});
    to = result.cells.span();
  }
  result.left = options.left;
  result.top = options.top;
  result.generations = options.generations;
  if (cells.height == 0 || cells.width == 0) return result;
  const room::Problem problem{.cells = cells,
                              .result = to,
                              .even = options.rule,
                              .odd = options.rule,
                              .boundary = options.boundary,
                              .generations = options.generations,
                              .stop = execution.stop};
  if constexpr (cuda::is_compiled) result.population.low = room::run_on_gpu(problem, variant, execution, phases);
  const core::PhaseTimer timer(phases, "count");
  if (to.place.is_host()) result.population.low = room::population(to, cpu::thread_count(execution), execution.stop);
  return result;
}

/// When a call began, and what it has spent its time with.
struct Course {
  core::Clock::time_point start = core::Clock::now();
  std::vector<Phase> phases = {};
};

/// `cells` or `tree`.
LifeResult compute(const LifeGridView& cells, const LifeTree* tree, const LifeOptions& options,
                   const LifeMemory& memory, Execution execution, Course course = {}) {
  std::vector<Phase>& phases = course.phases;
  const auto placed_tree = [&] { return room::PlacedTree{*tree, options.left, options.top}; };
  const room::Box box = tree != nullptr ? room::box_of(placed_tree()) : room::Box{0, cells.height, 0, cells.width};
  const room::Shape shape = shape_of(box.height(), box.width(), options, tree != nullptr);
  // Before anything is reckoned with a rectangle that may be too large to be counted in bytes.
  const std::string_view way_out =
      shape.stepwise ? "hashes and a search for cycles look at all of it in each generation; without them 'hashlife' "
                       "takes it as it is"
                     : "'hashlife' takes it as it is";
  if (tree != nullptr &&
      !execution::wanted_variant(room::variants(), room::choose, shape, execution, room::Room::name).facts.plane)
    room::check_rectangle(placed_tree(), way_out, execution);
  const room::Variant& variant = select(shape, execution);
  LifeGrid of_tree;
  LifeGridView given = cells;
  LifeOptions placed = options;
  if (tree != nullptr && !variant.facts.plane) {
    const core::PhaseTimer timer(phases, "place");
    room::GridOfTree unfolded = room::grid_of(placed_tree(), way_out, execution);
    of_tree = std::move(unfolded.cells);
    given = of_tree.view();
    placed.left = unfolded.left;
    placed.top = unfolded.top;
  }
  const int threads = chosen_threads(shape, variant, execution);
  execution.threads = threads;
  const room::Variant* const successor = room::successor(shape, variant, execution);
  const room::Variant* completed_by = &variant;
  execution::check_memory(host_memory(shape, options, variant, threads), execution);
  cpu::start_team(threads);
  LifeResult result;
  {
    const cpu::PinnedTeam team(threads, execution.pinning);
    if (variant.facts.plane) {
      result = solve_plane(variant, given, tree, placed, execution, phases);
    } else if (!given.place.is_host() || !memory.cells.place.is_host()) {
      result = solve_there(variant, given, placed, memory, execution, phases);
    } else {
      const room::Job job{.cells = given,
                          .options = placed,
                          .variant = &variant,
                          .execution = &execution,
                          .phases = &phases,
                          .threads = threads};
      // What is compared with earlier generations needs the first one to the end.
      LifeGrid first;
      room::Job again = job;
      if (options.until_stable && memory.cells.words == given.words && given.words != nullptr) {
        first = LifeGrid(given.height, given.width, LifeGrid::Uninitialised{});
        room::copy_cells(given, 0, 0, first.span(), execution.stop);
        core::honour_stop(execution.stop, "stopped while copying cells");
        again.cells = first.view();
      }
      room::World world(again, memory.cells);
      std::optional<room::Solved> solved;
      if (shape.stepwise) Steps(again, world, memory, result).run();
      else if (successor != nullptr) solved = room::finish_plane(world, again, *successor);
      else world.advance(placed.generations);
      if (solved) {
        if (world.generation() < placed.generations) completed_by = successor;
        result = result_of(std::move(*solved), placed);
      } else {
        const core::PhaseTimer timer(phases, "count");
        result.generations = world.generation();
        result.background = world.background();
        result.population.low = world.population();
        result.cells = world.take_cells();
        result.left = world.left();
        result.top = world.top();
      }
    }
  }
  finish_report(result, *completed_by, execution, completed_by == &variant ? threads : 1, std::move(phases),
                course.start);
  return result;
}

}  // namespace

LifeResult life(const LifeGridView& cells, const LifeOptions& options, const LifeMemory& memory,
                const Execution& execution) {
  execution::check_execution(execution);
  check_options(options);
  check_grid(cells, "cells");
  check_memory_views(cells, options, memory);
  const execution::NamedPlace places[] = {{cells.place, "cells"}, {memory.cells.place, "memory for cells"}};
  for (const execution::NamedPlace& one : places) check_stays_there(one.place, one.what, options);
  const Execution there =
      execution::where_views_lie<room::Variant>(places, room::variants(), room::Room::name, execution);
  return execution::whole_call(there,
                               [&](const Execution& here) { return compute(cells, nullptr, options, memory, here); });
}

LifeOptions life_options(const LifePattern& pattern) {
  LifeOptions options;
  options.rule = pattern.rule.value_or(LifeRule{});
  options.boundary = pattern.boundary.value_or(LifeBoundary::plane);
  return options;
}

namespace {

/// The world of a bounded pattern. Throws InputError if a live cell is outside.
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
  const core::LifeBox world = core::world_box(width, height);
  if (!box.empty() && (first_column < world.left || first_row < world.top || last_column >= world.left + width ||
                       last_row >= world.top + height))
    throw InputError(about("cells") + "live cells lie in columns " + std::to_string(first_column) + " to " +
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

}  // namespace

LifeResult life(const LifePattern& pattern, const LifeOptions& options, std::int64_t height, std::int64_t width,
                const Execution& execution) {
  execution::check_execution(execution);
  check_options(options);
  LifeOptions placed = options;
  if (!is_near(pattern.left, 62) || !is_near(pattern.top, 62) || !is_near(placed.left += pattern.left, 62) ||
      !is_near(placed.top += pattern.top, 62))
    throw UsageError(about("pattern") + "its first cell must lie within 2^62 of (0, 0)");
  return execution::whole_call(execution, [&](const Execution& here) {
    Course course;
    if (pattern.tree) room::check_tree(*pattern.tree);
    else check_grid(pattern.cells.view(), "cells");
    if (options.boundary == LifeBoundary::plane)
      return compute(pattern.tree ? LifeGridView{} : pattern.cells.view(), pattern.tree ? &*pattern.tree : nullptr,
                     placed, {}, here, std::move(course));
    check_sizes(height, width);
    LifeOptions in_grid = options;
    in_grid.left += core::world_box(width, height).left;
    in_grid.top += core::world_box(width, height).top;
    execution::check_memory(core::checked_multiply(static_cast<std::uint64_t>(height),
                                                   static_cast<std::uint64_t>((width + 63) / 64 * 8), "a grid"),
                            here);
    LifeGrid grid;
    {
      const core::PhaseTimer timer(course.phases, "place");
      grid = grid_of_world(pattern, height, width, here);
    }
    LifeMemory memory;
    memory.cells = grid.span();
    LifeResult result = compute(grid.view(), nullptr, in_grid, memory, here, std::move(course));
    result.cells = std::move(grid);
    return result;
  });
}

MemoryEstimate life_memory(const LifeShape& shape, const LifeOptions& options, const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  execution::check_execution(execution);
  check_options(options);
  check_sizes(shape.height, shape.width);
  check_stays_there(shape.place, "cells", options);
  const execution::NamedPlace places[] = {{shape.place, "cells"}};
  const Execution here =
      execution::where_views_lie<room::Variant>(places, room::variants(), room::Room::name, execution);
  const room::Shape sizes = shape_of(shape.height, shape.width, options);
  const room::Variant& variant = select(sizes, here);
  const int threads = cpu::thread_count(execution);
  return {.host = host_memory(sizes, options, variant, threads), .device = variant.memory(sizes, threads).device};
}

}  // namespace gradus
