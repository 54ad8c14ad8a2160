#include "life/api/compute.hpp"

#include <optional>
#include <utility>

#include "core/stop.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "life/api/steps.hpp"
#include "life/gpu/run_on_gpu.hpp"
#include "life/handover.hpp"
#include "life/stepwise.hpp"
#include "life/world.hpp"

namespace gradus::life_detail {

namespace {

PlacedTree placed(const Input& input, const LifeOptions& options) { return {*input.tree, options.left, options.top}; }

std::string_view way_out(const Shape& shape) {
  return shape.stepwise ? "hashes and a search for cycles examine all of it in each generation; without them "
                          "'hashlife' takes it as it is"
                        : "'hashlife' takes it as it is";
}

Shape describe(const Input& input, const LifeOptions& options) {
  if (input.tree == nullptr) return life_detail::describe(input.cells.height, input.cells.width, options);
  const Box box = box_of(placed(input, options));
  return life_detail::describe(box.height(), box.width(), options, true);
}

const Variant& choose(const Input& input, const Shape& shape, const LifeOptions& options, const Execution& execution) {
  // Checks the bounding box before the size in bytes is computed, because the size of a large box could overflow.
  const auto takes_plane = [&] {
    return execution::wanted_variant(variants(), life_detail::choose, shape, execution, Room::name).facts.plane;
  };
  if (input.tree != nullptr && !takes_plane()) check_rectangle(placed(input, options), way_out(shape), execution);
  return life_detail::choose(shape, execution);
}

/// Returns a number of threads that suits the work between two barriers. For long jobs, ignores the present load of the
/// machine, because a long job measures at run time whether more threads are worthwhile.
int chosen_threads(const Shape& shape, const Variant& variant, const Execution& execution) {
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

void take(Solved solved, const LifeOptions& options, LifeResult& result) {
  result.cells = std::move(solved.cells);
  result.left = solved.left;
  result.top = solved.top;
  result.tree = std::move(solved.tree);
  result.population = solved.population;
  result.generations = options.generations;
}

struct Run {
  const Variant& variant;
  LifeGridView cells;
  LifeOptions options;  ///< left and top: place of the first cell or, for a tree, of its centre
  const LifeMemory& memory;
  const Execution& execution;
  int threads;
  std::vector<Phase>& phases;

  Problem problem() const {
    return {.cells = cells,
            .result = {},
            .even = options.rule,
            .odd = options.rule,
            .boundary = options.boundary,
            .generations = options.generations,
            .stop = execution.stop};
  }
};

/// Runs a variant that supports the plane, without a driver's grid.
void run_on_plane(const Run& run, const LifeTree* tree, LifeResult& result) {
  Problem problem = run.problem();
  problem.left = run.options.left;
  problem.top = run.options.top;
  problem.tree = tree;
  take(run.variant.run(problem, run.execution, run.phases), run.options, result);
}

/// Runs a variant on the requested GPU. The cells or the result reside in the memory of this GPU.
void run_in_gpu_memory(const Run& run, LifeResult& result) {
  LifeGridSpan to = run.memory.cells;
  if (to.words == nullptr) {
    result.cells = LifeGrid(run.cells.height, run.cells.width, LifeGrid::Uninitialised{});
    to = result.cells.span();
  }
  result.left = run.options.left;
  result.top = run.options.top;
  result.generations = run.options.generations;
  if (run.cells.height == 0 || run.cells.width == 0) return;
  Problem problem = run.problem();
  problem.result = to;
  result.population.low = run_on_gpu(problem, run.variant, run.execution, run.phases);
  const core::PhaseTimer timer(run.phases, "count");
  if (to.place.is_host()) result.population.low = population(to, cpu::thread_count(run.execution), run.execution.stop);
}

void take(World& world, LifeResult& result) {
  result.generations = world.generation();
  result.background = world.background();
  result.population.low = world.population();
  result.cells = world.take_cells();
  result.left = world.left();
  result.top = world.top();
}

/// Runs generations of a world in host memory. If the variant `successor` completes the run, sets `completed_by` to it.
void run_in_world(const Run& run, const Shape& shape, const Variant* successor, const Variant*& completed_by,
                  LifeResult& result) {
  Job job{.cells = run.cells,
          .options = run.options,
          .variant = &run.variant,
          .execution = &run.execution,
          .phases = &run.phases,
          .threads = run.threads};
  // After a search for cycles, the run may start again at the first generation. A run in place overwrites the first
  // generation, so the cells are copied before the run.
  LifeGrid first;
  if (run.options.until_stable && run.memory.cells.words == run.cells.words && run.cells.words != nullptr) {
    first = LifeGrid(run.cells.height, run.cells.width, LifeGrid::Uninitialised{});
    copy_cells(run.cells, 0, 0, first.span(), run.execution.stop);
    core::honour_stop(run.execution.stop, "stopped while copying cells");
    job.cells = first.view();
  }
  World world(job, run.memory.cells);
  std::optional<Solved> solved;
  if (shape.stepwise) Steps(job, world, run.memory, result).run();
  else if (successor != nullptr) solved = finish_plane(world, job, *successor);
  else world.advance(run.options.generations);
  if (solved) {
    if (world.generation() < run.options.generations) completed_by = successor;
    return take(std::move(*solved), run.options, result);
  }
  const core::PhaseTimer timer(run.phases, "count");
  take(world, result);
}

}  // namespace

LifeResult compute(const Input& input, const LifeOptions& options, const LifeMemory& memory, Execution execution,
                   execution::Timing timing) {
  const Shape shape = describe(input, options);
  const Variant& variant = choose(input, shape, options, execution);
  LifeGrid of_tree;
  LifeGridView cells = input.cells;
  LifeOptions placed_options = options;
  if (input.tree != nullptr && !variant.facts.plane) {
    const core::PhaseTimer timer(timing.phases, "place");
    GridOfTree unfolded = grid_of(placed(input, options), way_out(shape), execution);
    of_tree = std::move(unfolded.cells);
    cells = of_tree.view();
    placed_options.left = unfolded.left;
    placed_options.top = unfolded.top;
  }
  const int threads = chosen_threads(shape, variant, execution);
  execution.threads = threads;
  const Variant* const successor = life_detail::successor(shape, variant, execution);
  execution::check_memory(estimate(shape, variant, options, threads).host, execution);
  cpu::start_team(threads);
  const Variant* completed_by = &variant;
  LifeResult result;
  {
    const cpu::PinnedTeam team(threads, execution.pinning);
    const Run run{variant, cells, placed_options, memory, execution, threads, timing.phases};
    if (variant.facts.plane) run_on_plane(run, input.tree, result);
    else if (!cells.place.is_host() || !memory.cells.place.is_host()) run_in_gpu_memory(run, result);
    else run_in_world(run, shape, successor, completed_by, result);
  }
  execution::deliver(result.report, *completed_by, execution, completed_by == &variant ? threads : 1,
                     std::move(timing));
  return result;
}

}  // namespace gradus::life_detail
