// What the program asks of MPI: from the library gradus_mpi_process, which it opens at run time where mpirun has
// started it several times, so that the program itself needs no MPI.
#pragma once

#include <span>

#include "gradus/communicator.hpp"

namespace gradus::mpi {

/// This process among those of the job. Errors come as gradus::Error.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual ~Process() = default;

  virtual Communicator& communicator() = 0;
  /// Where all processes come to at their end, whatever has become of them: all[rank] becomes the `own` of each. False
  /// where some have not come after so many seconds in which this one was not stopped; 0: however long they take. It
  /// stands apart from the calls of the communicator, so that it is the same place for a process that others wait for
  /// elsewhere.
  virtual bool meet(int own, std::span<int> all, double seconds) = 0;
  /// After they have met. Nothing else may be called then.
  virtual void finish() = 0;
  /// Ends all processes.
  virtual void abort(int status) noexcept = 0;
};

/// The one function of the library, called once, under this name. A caller of another version gets null.
using Start = Process* (*)(const char* version);
inline constexpr const char* start_name = "gradus_mpi_start";

}  // namespace gradus::mpi
