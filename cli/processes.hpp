// Whether a launcher of MPI has started this program several times.
#pragma once

#include <string>

namespace gradus::cli {

struct Processes {
  int size = 1;
  int rank = 0;
};

/// What mpirun (Open MPI, MPICH, and what is made of them) or srun says in the environment; one process where it says
/// nothing.
Processes started_processes();

/// Of several processes that cannot be ranks of one job, and would all do the same and write the same files:
/// UnsupportedError, with the reason `why`, on the first one. It returns on the others, which have to end with the same
/// status and say nothing; not before the first one has had the time to speak, for the launcher ends it when another
/// one does.
void require_first(const Processes& processes, const std::string& why);

}  // namespace gradus::cli
