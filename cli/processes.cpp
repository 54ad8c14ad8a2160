#include "cli/processes.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "gradus/error.hpp"

namespace gradus::cli {

Processes started_processes() {
  // Slurm's own variables alone are no sign: a batch script has some of them, too.
  for (const auto& [size, rank] : {std::pair{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                   std::pair{"PMI_SIZE", "PMI_RANK"}, std::pair{"SLURM_STEP_NUM_TASKS", "PMIX_RANK"}}) {
    const char* const all = std::getenv(size);
    const char* const own = std::getenv(rank);
    if (all != nullptr && own != nullptr)
      return {static_cast<int>(std::strtol(all, nullptr, 10)), static_cast<int>(std::strtol(own, nullptr, 10))};
  }
  return {};
}

void require_first(const Processes& processes, const std::string& why) {
  if (processes.rank > 0) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return;
  }
  throw UnsupportedError("this is one of " + std::to_string(processes.size) + " processes that MPI has started, but " +
                         why +
                         ". Start it without mpirun: as one process it runs with threads. For independent jobs side "
                         "by side, start each of them by 'env --unset=OMPI_COMM_WORLD_SIZE --unset=PMI_SIZE gradus'");
}

}  // namespace gradus::cli
