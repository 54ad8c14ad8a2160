// life() for a grid.
#include "execution/whole_call.hpp"
#include "life/api/compute.hpp"
#include "life/api/steps.hpp"
#include "life/gpu/run_on_gpu.hpp"

namespace gradus {

namespace room = life_detail;

namespace {

void check_memory_views(const LifeGridView& cells, const LifeOptions& options, const LifeMemory& memory) {
  room::check_grid(memory.cells, "memory for cells");
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
  if (!memory.hashes.place().is_host()) throw UsageError(about("memory for hashes") + "it must be in host memory");
  if (memory.hashes.size() - 1 != options.generations)
    throw UsageError(about("memory for hashes") + "there is room for " + std::to_string(memory.hashes.size()) +
                     "; for generations 0 to " + std::to_string(options.generations) + " there are " +
                     std::to_string(static_cast<std::uint64_t>(options.generations) + 1));
}

/// Checks the arguments and returns the request. If the cells are on a GPU, the returned request names this GPU.
Execution check(const LifeGridView& cells, const LifeOptions& options, const LifeMemory& memory,
                const Execution& execution) {
  execution::check_execution(execution);
  room::check(options);
  room::check_grid(cells, "cells");
  check_memory_views(cells, options, memory);
  const execution::NamedPlace places[] = {{cells.place, "cells"}, {memory.cells.place, "memory for cells"}};
  for (const execution::NamedPlace& one : places) room::check_stays_there(one.place, one.what, options);
  return execution::run_on_gpu_of_views<room::Variant>(places, room::variants(), room::Room::name, execution);
}

}  // namespace

LifeResult life(const LifeGridView& cells, const LifeOptions& options, const LifeMemory& memory,
                const Execution& execution) {
  return execution::whole_call(check(cells, options, memory, execution), [&](const Execution& here) {
    return room::compute({.cells = cells}, options, memory, here);
  });
}

}  // namespace gradus
