#include "cli/ranks.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "core/shared_library.hpp"
#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/launched.hpp"
#include "gradus/version.hpp"
#include "ranks/same_call.hpp"

namespace gradus::cli {

namespace {

constexpr const char* library_name = "libgradus_mpi_process.so";

/// Returns the folder of the program. In a build, this folder also contains the MPI library. In an installation, the
/// MPI library is in another folder, whose path relative to the program's folder is fixed.
std::filesystem::path program_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

std::array<char, 64> machine_name() {
  std::array<char, 64> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {"?"};
  return name;
}

}  // namespace

core::Ranks& Session::ranks() const { return job == nullptr ? core::Ranks::alone() : job->ranks(); }

bool Session::is_first() const { return job == nullptr ? speaks : job->rank() == 0; }

namespace {

core::Process& join_mpi(const Processes& processes, double stall_limit) {
  const std::filesystem::path folder = program_folder();
  const std::string beside = folder / library_name;
  const std::string installed = folder / GRADUS_MPI_FOLDER / library_name;
  // The library stays loaded until the process ends, because MPI stays active until then.
  const core::SharedLibrary library({beside.c_str(), installed.c_str()});
  if (!library)
    refuse_processes(processes, fmt::format("the library by which it meets the others cannot be opened on {} ({}); "
                                            "install Gradus with MPI (GRADUS_MPI=ON)",
                                            machine_name().data(), library.why_not()));
  const auto start = library.find<mpi::Start>(mpi::start_name);
  core::Process* process = nullptr;
  {
    // MPI waits without limit, even for a process that has already ended.
    std::optional<Deadline> deadline;
    if (stall_limit > 0)
      deadline.emplace(stall_limit, [stall_limit] {
        write_message(fmt::format("MPI has not started within {} s (--stall-timeout)", stall_limit));
        ::_exit(1);
      });
    if (start != nullptr) process = start(std::string(version()).c_str());
  }
  if (process == nullptr) refuse_processes(processes, "'" + library.file() + "' belongs to another version of Gradus");
  if (process->communicator().size() == 1) {
    process->finish();
    refuse_processes(processes, "the MPI that '" + library.file() +
                                    "' was built with finds no other processes, so mpirun belongs to another MPI; "
                                    "start the program with the library's mpirun, or build Gradus with the other MPI");
  }
  return *process;
}

execution::LaunchedProcess& join_torchrun(const core::Launch& launch, int gpu, double stall_limit,
                                          const std::stop_token& stop) {
  return execution::join_launch(launch, {.gpu = execution::gpu_of_launch(execution::this_machine(), launch, gpu),
                                         .limit = stall_limit,
                                         .stop = stop,
                                         .give_up = [](const std::string& why) {
                                           write_message(why);
                                           ::_exit(1);
                                         }});
}

}  // namespace

std::shared_ptr<RankedJob> RankedJob::join(const Processes& processes, int gpu, double stall_limit,
                                           const std::stop_token& stop) {
  if (!processes.launch)
    return std::make_shared<RankedJob>(join_mpi(processes, stall_limit), std::nullopt, stall_limit, stop);
  execution::LaunchedProcess& process = join_torchrun(*processes.launch, gpu, stall_limit, stop);
  return std::make_shared<RankedJob>(process, process.gpu(), stall_limit, stop);
}

RankedJob::RankedJob(core::Process& process, std::optional<int> gpu, double stall_limit, const std::stop_token& stop)
    : process_(process), gpu_(gpu), rank_(process.communicator().rank()), size_(process.communicator().size()),
      communicator_(process.communicator(),
                    [this](const std::string& words) {
                      write_message(fmt::format("{} {}; the rank that prints no such line is the one that hangs",
                                                name_of(rank()), words));
                      // The other ranks time out at about the same moment. They get a second to report their timeouts
                      // before the launcher terminates them.
                      std::this_thread::sleep_for(std::chrono::seconds(1));
                      ::_exit(1);  // exits without calling MPI, because another thread is busy in a call of MPI
                    }),
      ranks_(communicator_, stop) {
  if (stall_limit != WatchedCommunicator::usual) set_stall_limit(stall_limit);
}

void RankedJob::meet(const std::string& command) {
  for (const std::array<char, 64>& name : ranks_.gather(machine_name)) machines_.emplace_back(name.data());
  core::require_same_call(ranks_, command, "start all processes with the same arguments");
}

void RankedJob::set_stall_limit(double seconds) {
  stall_limit_ = seconds;
  core::connect_limit = seconds;
  communicator_.set_limit(seconds);
}

std::string RankedJob::name_of(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return fmt::format("rank {} of {}{}", rank, size(),
                     index < machines_.size() ? fmt::format(" ({})", machines_[index]) : std::string());
}

int RankedJob::rank_on_machine() const {
  const auto own = machines_.begin() + rank();
  return static_cast<int>(std::count(machines_.begin(), own, *own));
}

int gpu_of_rank(const RankedJob& job) {
  if (job.gpu()) return *job.gpu();
  const int place = job.rank_on_machine();
  if (place == 0) return 0;  // the first rank of a machine gets GPU 0, however many GPUs there are
  // The number of GPUs without those that CUDA_VISIBLE_DEVICES hides.
  const auto gpus = static_cast<int>(execution::list_gpus().size());
  return gpus > 0 ? place % gpus : 0;
}

void RankedJob::end_alone(int status) noexcept {
  std::fflush(stdout);
  process_.abort(status);
  ::_exit(status);
}

int RankedJob::end(int status, const std::function<void()>& say) {
  // If all ranks have agreed on the error, they arrive here at about the same time. If only this rank has the error,
  // the other ranks wait for it here or, in the worst case, in another collective call.
  constexpr double patience = 5;
  std::vector<int> all(static_cast<std::size_t>(size()));
  if (!process_.meet(status, all, status == 0 ? stall_limit_ : patience)) {
    if (status != 0) say();
    else
      write_message(
          fmt::format("{} has waited for the others' end for {} s (--stall-timeout)", name_of(rank()), stall_limit_));
    end_alone(status == 0 ? 1 : status);
  }
  // Prefers the error of a rank that was not stopped by a request, because this error may be the cause of the stop.
  const int stopped = InterruptedError("").exit_status();
  auto failed = std::ranges::find_if(all, [&](int one) { return one != 0 && one != stopped; });
  if (failed == all.end()) failed = std::ranges::find(all, stopped);
  const int result = failed == all.end() ? 0 : *failed;
  if (failed - all.begin() == rank()) say();
  std::fflush(stdout);
  // The ranks meet again before any of them exits. There are two reasons. If a process exits with an error, the
  // launcher terminates all processes, so the message must be printed first. If the job was successful but a rank is
  // suspended, the launcher would wait for this rank forever. The second meeting has a time limit.
  const double last_patience = result == 0 ? stall_limit_ : patience;
  const auto without_others = [&] {
    if (result == 0)
      write_message(fmt::format("{} has waited for the others' end for {} s (--stall-timeout); the result is whole",
                                name_of(rank()), stall_limit_));
    return result == 0 ? 1 : result;
  };
  if (!process_.meet(0, all, last_patience)) end_alone(without_others());
  std::optional<Deadline> deadline;
  if (last_patience > 0) deadline.emplace(last_patience, [&] { ::_exit(without_others()); });
  process_.finish();
  return result;
}

std::vector<std::string> texts_of_first(core::Ranks& ranks, const std::function<std::vector<std::string>()>& work) {
  const std::vector<char> bytes = ranks.from(0, [&] {
    std::vector<char> all;
    for (const std::string& text : work()) all.insert(all.end(), text.c_str(), text.c_str() + text.size() + 1);
    return all;
  });
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin < bytes.size(); begin += texts.back().size() + 1) texts.emplace_back(&bytes[begin]);
  return texts;
}

std::string note_of_binding(RankedJob& job, int threads) {
  struct Own {
    std::int64_t processors, share, threads;
  };
  const std::vector<Own> all = job.ranks().gather([&] {
    return Own{std::ssize(cpu::allowed_processors()),
               std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN) / job.communicator().neighbours()), threads};
  });
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].processors < all[rank].share)
      return fmt::format(
          "{} may use {} of the {} CPUs that are its share of the machine: the launcher has bound it; 'mpirun "
          "--bind-to none' leaves it all of them (it runs with {})",
          job.name_of(static_cast<int>(rank)), all[rank].processors, all[rank].share,
          all[rank].threads == 1 ? "1 thread" : fmt::format("{} threads", all[rank].threads));
  return "";
}

std::string threads_text(const Session& session, int own) {
  const std::vector<int> all = session.ranks().gather([&] { return own; });
  if (all.size() == 1) return counted(own, "thread");
  const auto [least, most] = std::ranges::minmax(all);
  return fmt::format("{}{} on each of {} ranks", least < most ? fmt::format("{} to ", least) : "",
                     counted(most, "thread"), all.size());
}

void add_stall_option(Options& options, Session& session) {
  options.value("--stall-timeout", "SECONDS",
                fmt::format("end the job if a rank waits longer than this for the others; 0: no limit [{:g}, or 20 "
                            "times the rank's longest work]",
                            WatchedCommunicator::usual),
                [&session](const std::string& text) {
                  const double seconds = parse_real("--stall-timeout", text, 0, WatchedCommunicator::most);
                  if (session.job) session.job->set_stall_limit(seconds);
                });
}

}  // namespace gradus::cli
