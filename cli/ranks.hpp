// Runs the program as one of several ranks. The processes that mpirun started communicate through the library
// gradus_mpi_process, the processes of torchrun through NCCL.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "cli/processes.hpp"
#include "cli/session.hpp"
#include "cli/stall.hpp"
#include "ranks/process.hpp"
#include "ranks/ranks.hpp"

namespace gradus::cli {

class RankedJob {
 public:
  /// Joins the other `processes`. Throws UnsupportedError if the library is missing, or if it was built for an MPI that
  /// is not mpirun's. `stall_limit` is in seconds and also applies to the start of MPI; 0: no limit.
  /// Under torchrun, this process uses GPU `gpu`, or a GPU by its local rank if `gpu` is negative.
  static std::shared_ptr<RankedJob> join(const Processes& processes, int gpu, double stall_limit,
                                         const std::stop_token& stop);
  RankedJob(core::Process& process, std::optional<int> gpu, double stall_limit, const std::stop_token& stop);
  RankedJob(const RankedJob&) = delete;
  RankedJob& operator=(const RankedJob&) = delete;

  core::Ranks& ranks() { return ranks_; }
  Communicator& communicator() { return communicator_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Must be called on every rank before any other function. Throws UsageError unless all ranks run the same command.
  /// Also throws for events that occurred while MPI started, such as a stop request.
  void meet(const std::string& command);

  void set_stall_limit(double seconds);

  int rank_on_machine() const;                     ///< rank among the processes on the same machine
  std::optional<int> gpu() const { return gpu_; }  ///< GPU through which this process exchanges data

  /// Returns a name such as "rank 3 of 8" or, with the name of its machine, "rank 3 of 8 (node17)".
  std::string name_of(int rank) const;

  /// Must be called when this process has finished its part of the job. If the status is not 0, say() prints the error.
  /// When all ranks have arrived, the first failed rank prints its error, and all ranks return its status. If some
  /// ranks do not arrive, this rank prints its own error and terminates all ranks.
  int end(int status, const std::function<void()>& say);

 private:
  [[noreturn]] void end_alone(int status) noexcept;

  core::Process& process_;
  std::optional<int> gpu_;
  int rank_;  ///< stored, like size_, because error messages need both after MPI has ended
  int size_;
  WatchedCommunicator communicator_;
  core::Ranks ranks_;
  std::vector<std::string> machines_;  ///< name of each rank's host, known after meet()
  double stall_limit_ = WatchedCommunicator::usual;
};

/// Returns the default GPU of this process. It is the one through which the process exchanges data, if there is one.
/// Otherwise the processes of a machine are assigned to its GPUs in turn.
int gpu_of_rank(const RankedJob& job);

/// Calls work() on the first rank, and sends the strings that it returns to all ranks. The strings must not contain
/// NUL. Collective.
std::vector<std::string> texts_of_first(core::Ranks& ranks, const std::function<std::vector<std::string>()>& work);

/// Returns a note if ranks are bound to fewer CPUs than their share of the machine's CPUs, otherwise "". `threads` is
/// the number of threads of this rank's job. Collective.
std::string note_of_binding(RankedJob& job, int threads);

/// Returns a text such as "2 threads", or "1 to 4 threads on each of 3 ranks". `own` is the number of threads on this
/// rank. Collective.
std::string threads_text(const Session& session, int own);

inline constexpr std::string_view ranks_heading = "On several processes, started by mpirun or torchrun";
void add_stall_option(Options& options, Session& session);

}  // namespace gradus::cli
