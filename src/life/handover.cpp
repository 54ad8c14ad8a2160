#include "life/handover.hpp"

#include <algorithm>
#include <new>
#include <stop_token>

#include "core/phases.hpp"
#include "gradus/error.hpp"
#include "life/quadtree.hpp"

namespace gradus::life_detail {

namespace {

/// Tries to complete the run with `hashlife`. Returns nothing if `hashlife` exceeds the time limit or the available
/// memory.
std::optional<Solved> attempt(const World& world, const Job& job, const Variant& hashlife, double seconds) {
  const Execution& execution = *job.execution;
  const std::int64_t done = world.generation();
  const auto start = core::Clock::now();
  std::stop_source end;
  const std::stop_callback forwarded(execution.stop, [&] { end.request_stop(); });
  Execution limited = execution;
  limited.stop = end.get_token();
  limited.progress = [&](const Progress& progress) {
    if (core::seconds_since(start) > seconds) end.request_stop();
    if (execution.progress)
      execution.progress({.phase = progress.phase,
                          .done = done + progress.done,
                          .total = job.options.generations,
                          .detail = progress.detail});
  };
  try {
    const LifeTree tree = world.tree();
    const Problem rest{.cells = {},
                       .result = {},
                       .even = job.options.rule,
                       .odd = job.options.rule,
                       .boundary = LifeBoundary::plane,
                       .generations = job.options.generations - done,
                       .stop = limited.stop,
                       .tree = &tree};
    return hashlife.run(rest, limited, *job.phases);
  } catch (const InterruptedError&) {
    if (execution.stop.stop_requested()) throw;
  } catch (const OutOfMemoryError&) {
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

Solved as_tree(const World& world) {
  Solved solved;
  solved.tree = world.tree();
  solved.population = population_of(*solved.tree).value();
  return solved;
}

}  // namespace

std::optional<Solved> finish_plane(World& world, const Job& job, const Variant& hashlife,
                                   const HandoverLimits& limits) {
  const std::int64_t end = job.options.generations;
  const auto start = core::Clock::now();
  double next_look = limits.first_look;
  while (world.generation() < end) {
    const std::int64_t before = world.generation();
    const auto began = core::Clock::now();
    world.advance(end - before, [&] { return core::seconds_since(start) > next_look; });
    const double past = core::seconds_since(start);
    const std::int64_t rest = end - world.generation();
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, world.generation() - before));
    const double rest_seconds = core::seconds_since(began) / steps * static_cast<double>(rest);
    if (rest > 0 && rest_seconds > limits.worth_an_attempt) {
      const double seconds = std::max(limits.of_the_past * past, limits.of_the_rest * rest_seconds);
      if (std::optional<Solved> solved = attempt(world, job, hashlife, seconds)) return solved;
    }
    next_look = 2 * core::seconds_since(start);
  }
  if (world.is_sparse()) return as_tree(world);
  return std::nullopt;
}

}  // namespace gradus::life_detail
