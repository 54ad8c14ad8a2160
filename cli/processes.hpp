// Whether a launcher of MPI has started this program several times.
#pragma once

namespace gradus::cli {

struct Processes {
  int size = 1;
  int rank = 0;
};

/// What mpirun (Open MPI, MPICH, and what is made of them) says in the environment; one process where it says nothing.
Processes started_processes();

/// UnsupportedError on the first of several processes, which would all do the same job and write the same files. True
/// on the others, which have to end with the same status and say nothing; not before the first one has had the time to
/// speak, for the launcher ends it when another one does.
bool is_superfluous(const Processes& processes);

}  // namespace gradus::cli
