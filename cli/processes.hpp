// Whether a launcher of MPI has started this program several times.
#pragma once

#include <string>

namespace gradus::cli {

struct Processes {
  int size = 1;
  int rank = 0;
  /// Of those that were started alike the first one, which says for all of them why they cannot be ranks of one job.
  bool speaks = true;
};

/// What mpirun (Open MPI, MPICH, and what is made of them) or srun says in the environment; one process where it says
/// nothing.
Processes started_processes();

/// UnsupportedError, with the reason `why`, for one of several processes that cannot be ranks of one job, and would all
/// do the same and write the same files.
[[noreturn]] void refuse_processes(const Processes& processes, const std::string& why);

}  // namespace gradus::cli
