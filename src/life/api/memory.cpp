// life_memory(): estimates the memory of life().
#include "core/float_environment.hpp"
#include "cpu/threads.hpp"
#include "life/api/steps.hpp"

namespace gradus {

namespace room = life_detail;

namespace {

/// Returns the request. If the cells reside on a GPU, the request names this GPU.
Execution check(const LifeShape& shape, const LifeOptions& options, const Execution& execution) {
  execution::check_execution(execution);
  room::check(options);
  room::check_sizes(shape.height, shape.width);
  room::check_stays_there(shape.place, "cells", options);
  const execution::NamedPlace places[] = {{shape.place, "cells"}};
  return execution::run_on_gpu_of_views<room::Variant>(places, room::variants(), room::Room::name, execution);
}

}  // namespace

MemoryEstimate life_memory(const LifeShape& shape, const LifeOptions& options, const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  const Execution here = check(shape, options, execution);
  const room::Shape sizes = room::describe(shape.height, shape.width, options);
  return room::estimate(sizes, room::choose(sizes, here), options, cpu::thread_count(here));
}

}  // namespace gradus
