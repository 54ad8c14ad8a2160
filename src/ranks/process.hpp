// One of the processes that run the command line together. If mpirun has started the program, the program opens the
// library gradus_mpi_process at run time, which contains the class for MPI, so the program itself does not need MPI.
#pragma once

#include <atomic>
#include <span>

#include "gradus/communicator.hpp"

namespace gradus::core {

/// The longest time in seconds that ranks wait for each other while they connect; 0: no limit. The program sets it to
/// --stall-timeout.
inline std::atomic<double> connect_limit{600};

/// This process of a job. The functions throw gradus::Error on failure.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual ~Process() = default;

  virtual Communicator& communicator() = 0;
  /// Called by all processes at their end, even after errors. Waits for all processes, and gathers the `own` value of
  /// each rank into all[rank]. Returns false if some process has not arrived within `seconds`; 0 means no limit. Time
  /// in which this process was stopped does not count. Also works while other processes wait in an operation of the
  /// communicator.
  virtual bool meet(int own, std::span<int> all, double seconds) = 0;
  /// Ends the communication after meet(). No other function may be called afterwards.
  virtual void finish() = 0;
  /// Ends the job. May return.
  virtual void abort(int status) noexcept = 0;
};

}  // namespace gradus::core

namespace gradus::mpi {

/// The type of the library's only function. It is exported as `start_name` and called once. It returns null if the
/// caller has a different version.
using Start = core::Process* (*)(const char* version);
inline constexpr const char* start_name = "gradus_mpi_start";

}  // namespace gradus::mpi
