// Detects whether an MPI launcher has started several processes of this program.
#pragma once

#include <string>

namespace gradus::cli {

struct Processes {
  int size = 1;
  int rank = 0;
  /// True for the first of several identical processes. If they cannot be ranks of one job, only the first process
  /// prints the error.
  bool speaks = true;
};

/// Reads the environment variables that mpirun (Open MPI, MPICH and derivatives) or srun set. If these variables are
/// missing, returns one process.
Processes started_processes();

/// Throws UnsupportedError, with the reason `why`, if this is one of several processes that cannot be ranks of one job.
/// Without this error, all processes would do the same work and write the same files.
[[noreturn]] void refuse_processes(const Processes& processes, const std::string& why);

}  // namespace gradus::cli
