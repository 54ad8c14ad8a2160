// The program as one of several ranks: a process that mpirun has started beside others, which it meets through the
// library gradus_mpi_process.
#pragma once

#include <functional>
#include <memory>
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
  /// With the other `processes`. UnsupportedError where the library is not there, or is that of another MPI than
  /// mpirun. `stall_limit`: seconds, also for the start; 0: none.
  static std::shared_ptr<RankedJob> join(const Processes& processes, double stall_limit, const std::stop_token& stop);
  RankedJob(mpi::Process& process, double stall_limit, const std::stop_token& stop);
  RankedJob(const RankedJob&) = delete;
  RankedJob& operator=(const RankedJob&) = delete;

  core::Ranks& ranks() { return ranks_; }
  Communicator& communicator() { return communicator_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// The first thing that all of them do: UsageError unless they run the same command. What has happened while MPI
  /// started, such as a stop, is told from here on.
  void meet(const std::string& command);

  /// See WatchedCommunicator.
  void set_stall_limit(double seconds);

  int rank_on_machine() const;  ///< among those with the same machine's name

  /// "rank 3 of 8" with the machine's name: "rank 3 of 8 (node17)".
  std::string name_of(int rank) const;

  /// The end of this process's part: with its status, and say(), which says what was wrong where it is not 0. When all
  /// have come, the first one with an error says so, and all return its status. Where some do not come, this one says
  /// what it knows and ends all of them.
  int end(int status, const std::function<void()>& say);

 private:
  [[noreturn]] void end_alone(int status) noexcept;

  mpi::Process& process_;
  int rank_;  ///< also for who speaks when MPI has ended; so is size_
  int size_;
  WatchedCommunicator communicator_;
  core::Ranks ranks_;
  std::vector<std::string> machines_;  ///< of each rank, when they have met
  double stall_limit_ = WatchedCommunicator::usual;
};

/// The GPU of this process where nobody names one: those of a machine take its GPUs in turn.
int gpu_of_rank(const RankedJob& job);

/// The texts, without NUL in them, that work() returns on the first rank, on all of them. All call it together.
std::vector<std::string> texts_of_first(core::Ranks& ranks, const std::function<std::vector<std::string>()>& work);

/// A note for the user where ranks are bound to fewer processors than their share of the machine; empty where none is.
/// All ranks call it together. `threads`: that this one's job will have.
std::string note_of_binding(RankedJob& job, int threads);

/// "2 threads", or "1 to 4 threads on each of 3 ranks", who call it together; `own`: of this one.
std::string threads_text(const Session& session, int own);

/// The heading of the options for ranks in the help.
inline constexpr std::string_view ranks_heading = "On many processes, which mpirun starts";
/// Adds --stall-timeout.
void add_stall_option(Options& options, Session& session);

}  // namespace gradus::cli
