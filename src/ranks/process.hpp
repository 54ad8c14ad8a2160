// MPI functions for the command line. They are part of the library gradus_mpi_process, which the program opens at run
// time if mpirun has started it, so that the program itself does not need MPI.
#pragma once

#include <span>

#include "gradus/communicator.hpp"

namespace gradus::mpi {

/// This process of an MPI job. Functions throw gradus::Error on failure.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual ~Process() = default;

  virtual Communicator& communicator() = 0;
  /// Waits for all processes at their end, even after errors, and gathers the `own` value of each rank into all[rank].
  /// Returns false if some process has not arrived within `seconds`, not counting time in which this process was
  /// stopped; 0: no limit. Independent of the communicator, so that it also works while other processes wait in one of
  /// its operations.
  virtual bool meet(int own, std::span<int> all, double seconds) = 0;
  /// Shuts MPI down after meet(). No other function may be called afterwards.
  virtual void finish() = 0;
  virtual void abort(int status) noexcept = 0;
};

/// The only function of the library, exported as `start_name` and called once. Returns null to a caller of another
/// version.
using Start = Process* (*)(const char* version);
inline constexpr const char* start_name = "gradus_mpi_start";

}  // namespace gradus::mpi
