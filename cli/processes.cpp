#include "cli/processes.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "gradus/error.hpp"

namespace gradus::cli {

Processes started_processes() {
  // Slurm's variables are no sign: a batch script has them, too.
  for (const auto& [size, rank] :
       {std::pair{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, std::pair{"PMI_SIZE", "PMI_RANK"}}) {
    const char* const all = std::getenv(size);
    const char* const own = std::getenv(rank);
    if (all != nullptr && own != nullptr)
      return {static_cast<int>(std::strtol(all, nullptr, 10)), static_cast<int>(std::strtol(own, nullptr, 10))};
  }
  return {};
}

bool is_superfluous(const Processes& processes) {
  if (processes.size <= 1) return false;
  if (processes.rank > 0) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return true;
  }
  throw UnsupportedError("this is one of " + std::to_string(processes.size) +
                         " processes that MPI has started, but the program runs as one process, with threads; start it "
                         "without mpirun (programs of your own cluster on many processes by gradus/mpi.hpp). For "
                         "independent jobs side by side, start each of them by 'env --unset=OMPI_COMM_WORLD_SIZE "
                         "--unset=PMI_SIZE gradus'");
}

}  // namespace gradus::cli
