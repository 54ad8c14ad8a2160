#include "cli/processes.hpp"

#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "gradus/error.hpp"

namespace gradus::cli {

namespace {

/// Returns true if this is the first process of its group. For example, 'mpirun -n 1 gradus kmeans ... : -n 2 gradus
/// list' starts two groups. Open MPI provides the size of each group.
bool is_first_of_its_kind(int rank) {
  const char* const counts = std::getenv("OMPI_APP_CTX_NUM_PROCS");
  std::istringstream words(counts == nullptr ? "" : counts);
  int first = 0;
  for (int count = 0; first < rank && words >> count;) first += count;
  return rank == 0 || (first == rank && first > 0);
}

/// Returns true unless the launcher states that this is a later process of its machine. Open MPI, MPICH
/// and Slurm set these variables.
bool is_first_of_machine() {
  for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* const place = std::getenv(name)) return std::string_view(place) == "0";
  return true;
}

constexpr const char* remedy = "launchers of MPI set this variable; for a process that has no ranks, unset it";

}  // namespace

Processes started_processes() {
  // The presence of some of Slurm's variables does not prove that srun started this process, because a batch script has
  // some of them, too.
  for (const auto& [size, rank] : {std::pair{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                   std::pair{"PMI_SIZE", "PMI_RANK"}, std::pair{"SLURM_STEP_NUM_TASKS", "PMIX_RANK"}}) {
    const char* const all = std::getenv(size);
    const char* const own = std::getenv(rank);
    if (all == nullptr || own == nullptr) continue;
    const int count = core::integer_in(size, all, 1, std::numeric_limits<int>::max(), remedy);
    const int rank_here = core::integer_in(rank, own, 0, count - 1, remedy);
    return {count, rank_here, is_first_of_its_kind(rank_here), is_first_of_machine(), {}};
  }
  if (const std::optional<core::Launch> launch = core::launch_in_environment())
    return {launch->size, launch->rank, launch->rank == 0, launch->local_rank == 0, launch};
  return {};
}

void refuse_processes(const Processes& processes, const std::string& why) {
  const bool is_torchrun = processes.launch.has_value();
  throw UnsupportedError("this is one of " + std::to_string(processes.size) + " processes that " +
                         (is_torchrun ? "torchrun" : "MPI") + " has started, but " + why + ". Start it without " +
                         (is_torchrun ? "torchrun" : "mpirun") +
                         ": as one process it runs with threads. For independent jobs side by side, start each of them "
                         "by 'env --unset=" +
                         (is_torchrun ? "WORLD_SIZE" : "OMPI_COMM_WORLD_SIZE --unset=PMI_SIZE") + " gradus'");
}

}  // namespace gradus::cli
