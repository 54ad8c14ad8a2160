// Detects whether a launcher, of MPI or torchrun, has started several processes of this program.
#pragma once

#include <optional>
#include <string>

#include "ranks/launch.hpp"

namespace gradus::cli {

struct Processes {
  int size = 1;
  int rank = 0;
  /// True for the first of several identical processes. If they cannot be ranks of one job, only the first process
  /// prints the error.
  bool speaks = true;
  bool is_first_of_machine = true;     ///< also true if the launcher does not number the processes of a machine
  std::optional<core::Launch> launch;  ///< set if torchrun has started the processes, and not MPI
};

/// Reads the environment variables that mpirun (Open MPI, MPICH and derivatives), srun or torchrun set. The variables
/// of MPI come first. If these variables are missing, returns one process. Throws UsageError if the variables of
/// torchrun are invalid.
Processes started_processes();

/// Throws UnsupportedError, with the reason `why`, if this is one of several processes that cannot be ranks of one job.
/// Without this error, all processes would do the same work and write the same files.
[[noreturn]] void refuse_processes(const Processes& processes, const std::string& why);

}  // namespace gradus::cli
