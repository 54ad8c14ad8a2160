#include "cpu/threads.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <omp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <system_error>

#include "cpu/call.hpp"
#include "cpu/control_group.hpp"
#include "cpu/require_startable.hpp"
#include "cpu/topology.hpp"
#include "gradus/communicator.hpp"
#include "gradus/error.hpp"

namespace gradus::cpu {
namespace {

struct SetDeleter {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using Set = std::unique_ptr<cpu_set_t, SetDeleter>;

/// The id of the first process that used several threads; 0 if there is none. Forked children inherit this value, but
/// not the threads.
std::atomic<pid_t> first_process{0};

/// Returns the kernel's id of the calling thread. A thread's OpenMP number may change, but its id does not.
long thread_identity() { return syscall(SYS_gettid); }

std::vector<int> find_allowed_processors() {
  // If OMP_PROC_BIND or OMP_PLACES is set, the runtime has already pinned this thread, and the process may use all
  // places.
  std::vector<int> allowed;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> processors(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, processors.data());
    allowed.insert(allowed.end(), processors.begin(), processors.end());
  }
  if (allowed.empty()) allowed = thread_affinity();
  std::ranges::sort(allowed);
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  return allowed;
}

/// Returns the number of cores of one rank: an equal share of the cores that this process may use. An exception applies
/// if a launcher has pinned this rank to some cores. In this case, returns an equal share of all cores of the machine,
/// but at most the number of cores to which the rank is pinned.
int cores_of_a_rank(int neighbours) {
  const auto online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const int usable = usable_cores();
  const bool is_bound = std::ssize(allowed_processors()) < online;
  const int share = (is_bound ? online : usable) / std::max(1, neighbours);
  return std::clamp(share, 1, usable);
}

}  // namespace

int bind_thread(int thread, const std::vector<int>& processors) {
  const int limit = processors.empty() ? 1 : *std::ranges::max_element(processors) + 1;
  const std::size_t bytes = CPU_ALLOC_SIZE(limit);
  const Set set(CPU_ALLOC(limit));
  if (!set) return ENOMEM;
  CPU_ZERO_S(bytes, set.get());
  for (const int processor : processors) CPU_SET_S(processor, bytes, set.get());
  return sched_setaffinity(thread, bytes, set.get()) == 0 ? 0 : errno;
}

int thread_count(const Execution& execution) {
  constexpr int most = 4096;
  if (execution.threads < 0 || execution.threads > most)
    throw UsageError("threads must be between 0 (one per core) and " + std::to_string(most) + ", not " +
                     std::to_string(execution.threads));
  if (execution.threads > 0) return execution.threads;
  if (has_lost_threads()) return 1;
  return execution.communicator == nullptr ? usable_cores() : cores_of_a_rank(execution.communicator->neighbours());
}

bool has_lost_threads() {
  const pid_t first = first_process.load();
  return first != 0 && first != ::getpid();
}

int start_team(int threads) {
  if (threads <= 1) return threads;
  pid_t none = 0;
  first_process.compare_exchange_strong(none, ::getpid());
  if (has_lost_threads())
    throw UnsupportedError(
        "this process was forked from one that had run a job on several threads, which a forked child "
        "does not have; run the job on 1 thread, or start the process again: by exec, or in Python's "
        "multiprocessing by the start method 'spawn' or 'forkserver'");
  require_startable(threads);
  if (Call* const call = Call::current()) call->take_team(threads);
  return threads;
}

std::vector<int> thread_affinity() {
  std::vector<int> processors;
  for (int limit = 1024; limit <= 1 << 20; limit *= 2) {  // the kernel rejects a set that is smaller than its own sets
    const std::size_t bytes = CPU_ALLOC_SIZE(limit);
    const Set set(CPU_ALLOC(limit));
    if (!set || sched_getaffinity(0, bytes, set.get()) != 0) continue;
    for (int processor = 0; processor < limit; ++processor)
      if (CPU_ISSET_S(processor, bytes, set.get())) processors.push_back(processor);
    return processors;
  }
  processors.resize(static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))));
  std::iota(processors.begin(), processors.end(), 0);
  return processors;
}

const std::vector<int>& allowed_processors() {
  static const std::vector<int> allowed = find_allowed_processors();
  return allowed;
}

namespace {

std::int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

}  // namespace

PayingTeam::Pass::Pass(PayingTeam& team) : team_(team), timed_(team.may_shrink_ && team.threads() > 1) {
  if (timed_) start_ = nanoseconds(CLOCK_MONOTONIC);
}

PayingTeam::Pass::~Pass() {
  if (team_.backoff_passes_left_ > 0) --team_.backoff_passes_left_;
  if (!timed_) return;
  // in ns: a shorter pass has certainly not been interrupted by the scheduler
  constexpr std::int64_t too_short = 20'000;
  const std::int64_t lasted = nanoseconds(CLOCK_MONOTONIC) - start_;
  const std::int64_t worked = worked_.load(std::memory_order_relaxed);
  if (lasted < too_short || lasted <= worked + worked / 2) return;
  team_.backoff_passes_left_ = team_.backoff_passes_;
  team_.backoff_passes_ = std::min(2 * team_.backoff_passes_, 1 << 10);
}

PayingTeam::Share::Share(Pass& pass) : pass_(pass) {
  if (pass_.timed_) start_ = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

PayingTeam::Share::~Share() {
  if (pass_.timed_) pass_.worked_.fetch_add(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start_, std::memory_order_relaxed);
}

namespace {

/// Returns the beginning of a system file, at most `room` bytes, or an empty text if the file is unreadable.
std::string_view read_file(const char* path, std::span<char> room) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t size = ::read(file, room.data(), room.size());
  ::close(file);
  return {room.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// Returns the number of threads of this process that are running, including threads that spin while waiting for work.
int own_running_threads() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/task"), ::closedir);
  if (!folder) return 1;
  int running = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    char path[64];
    char room[256];
    if (entry->d_name[0] == '.') continue;
    std::snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", entry->d_name);
    const std::string_view stat = read_file(path, room);
    const std::size_t name_end = stat.rfind(')');  // format: id (name) STATE
    running += name_end != std::string_view::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'R' ? 1 : 0;
  }
  return std::max(running, 1);
}

/// Returns the number of running threads of other processes. The number is cached, because reading it may take longer
/// than a job.
int other_running_threads() {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration holds = std::chrono::milliseconds(20);
  static std::atomic<Clock::rep> looked{std::numeric_limits<Clock::rep>::min()};
  static std::atomic<int> known{0};
  const Clock::rep now = Clock::now().time_since_epoch().count();
  // The loads and stores are relaxed. A thread may see only one of the two stores below. The count that it reads is
  // then new, or one period old.
  if (const Clock::rep last = looked.load(std::memory_order_relaxed); last > now - holds.count())
    return known.load(std::memory_order_relaxed);
  char room[128];
  const auto running = [&room] { return running_threads(read_file("/proc/loadavg", room)); };
  int others = 0;
  if (running() > 1) {
    // Excludes threads of this process, because they may be spinning while they wait for their next job.
    const int own = own_running_threads();
    others = std::max(running() - own, 0);
  }
  known.store(others, std::memory_order_relaxed);
  looked.store(now, std::memory_order_relaxed);
  return others;
}

}  // namespace

int running_threads(std::string_view loadavg) {
  // The format is: three averages, RUNNING/ALL, the last process.
  for (int space = 0; space < 3; ++space) {
    const std::size_t at = loadavg.find(' ');
    if (at == std::string_view::npos) return 0;
    loadavg.remove_prefix(at + 1);
  }
  int running = 0;
  const auto [end, error] = std::from_chars(loadavg.data(), loadavg.data() + loadavg.size(), running);
  return error == std::errc() && end != loadavg.data() + loadavg.size() && *end == '/' ? running : 0;
}

int threads_with_processor(int threads) {
  static const auto online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (threads <= 1) return threads;
  // If the process may use only some CPUs, running threads may be on the other CPUs. The number of running threads then
  // says nothing about the CPUs of this process.
  if (static_cast<int>(allowed_processors().size()) < online) return threads;
  return std::clamp(online - other_running_threads(), 1, threads);
}

int usable_cores() {
  static const int cores = [] {
    const auto allowed = static_cast<int>(allowed_processors().size());
    const double quota = first_control_group().processors;
    return quota < allowed ? std::max(1, static_cast<int>(std::ceil(quota))) : allowed;
  }();
  return cores;
}

std::vector<int> pinning_order(Pinning pinning) {
  switch (pinning) {
    case Pinning::none: break;
    case Pinning::compact: return compact_order(topology(), allowed_processors());
    case Pinning::scatter: return scatter_order(topology(), allowed_processors());
  }
  return {};
}

struct PinnedTeam::Saved {
  long thread = -1;  ///< -1 if the runtime provided fewer threads
  std::vector<int> affinity;
  int refusal = 0;
};

PinnedTeam::PinnedTeam(int threads, Pinning pinning) {
  const std::vector<int> order = pinning_order(pinning);
  if (order.empty()) return;
  saved_.resize(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
    const auto number = static_cast<std::size_t>(omp_get_thread_num());
    Saved& saved = saved_[number];
    saved.thread = thread_identity();
    saved.affinity = thread_affinity();
    saved.refusal = bind_thread(0, {order[number % order.size()]});
  }
  for (std::size_t number = 0; number < saved_.size(); ++number) {
    if (saved_[number].refusal == 0) continue;
    const std::string reason = std::generic_category().message(saved_[number].refusal);
    restore();
    throw Error("cannot bind thread " + std::to_string(number) + " to CPU " +
                std::to_string(order[number % order.size()]) + ": " + reason + " (pinning 'none' needs no permission)");
  }
}

PinnedTeam::~PinnedTeam() { restore(); }

void PinnedTeam::restore() noexcept {
  if (saved_.empty()) return;
#pragma omp parallel num_threads(static_cast <int>(saved_.size()))
  {
    // A thread that was started after the pinning has inherited the pinning of thread 0. It gets the affinity that the
    // replaced thread had before.
    const auto own = std::ranges::find(saved_, thread_identity(), &Saved::thread);
    const Saved& saved = own != saved_.end() ? *own : saved_[static_cast<std::size_t>(omp_get_thread_num())];
    if (saved.thread >= 0) bind_thread(0, saved.affinity);
  }
}

}  // namespace gradus::cpu
