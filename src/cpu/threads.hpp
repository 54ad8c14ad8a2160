// Threads of a job: their number, their CPUs, and their shares of the work.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gradus/execution.hpp"

namespace gradus::cpu {

/// Returns the number of threads of the job. If execution.threads is set, returns this number. Otherwise returns one
/// thread per available core; ranks on one machine share the cores. Returns 1 in a child process for which
/// has_lost_threads() is true. Throws UsageError if execution.threads is negative or above 4096.
int thread_count(const Execution& execution);

/// Returns true in a forked child of a process that ran a job on several threads. The child process does not have these
/// threads.
bool has_lost_threads();

/// Prepares a job to run on `threads` threads, and returns this number. Must be called before the job's first parallel
/// region. Gives the threads the environment of the public call (cpu/call.hpp). Throws Error if the system does not let
/// the process start that many threads. Throws UnsupportedError if `threads` exceeds 1 in a forked child of a process
/// that had several threads, because GNU's OpenMP runtime would hang.
int start_team(int threads);

/// Returns how many threads, at most `threads`, are worth waking for the `operations` (additions or similar).
constexpr int threads_for(std::int64_t operations, int threads) {
  constexpr std::int64_t worth_a_thread = std::int64_t{1} << 14;
  const std::int64_t worth = operations / worth_a_thread;
  return worth < threads ? (worth > 1 ? static_cast<int>(worth) : 1) : threads;
}

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Returns the contiguous share of [0, count) for `part` of `parts`. Shares begin and end at multiples of `granule` or
/// at `count`. The numbers of granules of any two shares differ by at most one. The last granule may be incomplete.
constexpr Range share(std::int64_t count, int part, int parts, std::int64_t granule = 1) {
  const std::int64_t granules = (count + granule - 1) / granule;
  const std::int64_t begin = granules / parts * part + (granules % parts < part ? granules % parts : part);
  const std::int64_t length = granules / parts + (part < granules % parts ? 1 : 0);
  const std::int64_t first = begin * granule < count ? begin * granule : count;
  const std::int64_t last = (begin + length) * granule < count ? (begin + length) * granule : count;
  return {first, last};
}

/// Hands out [0, count) piece by piece to parts (threads). Each part begins with its share(), because the data of this
/// share may be in the caches and memory node of the part's core. When its share is used up, the part takes pieces of
/// other shares. All parts thus end at the same time, even if some cores are slow or some shares need more work.
class SharedWork {
 public:
  /// `piece` is the number of elements handed out at a time, and also the granule of the shares.
  SharedWork(std::int64_t count, int parts, std::int64_t piece)
      : piece_(piece), shares_(static_cast<std::size_t>(parts)) {
    for (int part = 0; part < parts; ++part) {
      const Range range = share(count, part, parts, piece);
      Share& own = shares_[static_cast<std::size_t>(part)];
      own.next.store(range.begin, std::memory_order_relaxed);
      own.end = range.end;
    }
  }

  /// Returns the next piece for `part`, or an empty range if no piece is left. Thread-safe.
  Range next(int part) {
    for (std::size_t step = 0; step < shares_.size(); ++step) {
      Share& from = shares_[(static_cast<std::size_t>(part) + step) % shares_.size()];
      if (from.next.load(std::memory_order_relaxed) >= from.end) continue;
      const std::int64_t begin = from.next.fetch_add(piece_, std::memory_order_relaxed);
      if (begin < from.end) return {begin, begin + piece_ < from.end ? begin + piece_ : from.end};
    }
    return {};
  }

 private:
  struct alignas(64) Share {  // one cache line per share
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  std::int64_t piece_;
  std::vector<Share> shares_;
};

/// Decides how many threads a loop of passes uses. If other programs keep all cores of the machine busy, a barrier
/// waits some milliseconds until the last thread gets a core again. If passes are short, this wait takes many times as
/// long as the work. This class therefore compares the duration of each pass with the CPU time of its work. If one
/// thread with two thirds of a core would have been faster, the next passes use one thread. After that, a pass uses all
/// threads again.
class PayingTeam {
 public:
  /// If `may_shrink` is false, threads() always returns `most`.
  PayingTeam(int most, bool may_shrink) : most_(most), may_shrink_(may_shrink && most > 1) {}

  int threads() const { return backoff_passes_left_ > 0 ? 1 : most_; }

  /// An object of this class exists during a pass.
  class Pass {
   public:
    explicit Pass(PayingTeam& team);
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass();

   private:
    friend class PayingTeam;
    PayingTeam& team_;
    bool timed_;
    std::int64_t start_ = 0;
    std::atomic<std::int64_t> worked_{0};  ///< CPU time of the work, in nanoseconds
  };

  /// An object of this class exists while a thread works on its share of a pass. The thread must not wait for other
  /// threads during this time.
  class Share {
   public:
    explicit Share(Pass& pass);
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();

   private:
    Pass& pass_;
    std::int64_t start_ = 0;
  };

 private:
  int most_;
  bool may_shrink_;
  int backoff_passes_left_ = 0;  ///< number of remaining passes on one thread
  int backoff_passes_ = 8;       ///< number of passes on one thread after the next slow pass
};

/// Returns the number of CPUs that other programs do not keep busy at present, but at least 1 and at most `threads`. A
/// team with more threads would wait for CPUs at each barrier. Returns `threads` if the process may not use all CPUs,
/// or if the load of the CPUs is unknown.
int threads_with_processor(int threads);

/// For tests: returns the number of running threads in a text like /proc/loadavg, or 0 if the text contains no number.
int running_threads(std::string_view loadavg);

/// Returns the number of threads that this process may keep busy. This is the smaller of two numbers: the number of its
/// allowed CPUs, and the control group's quota, rounded up. Computed once.
int usable_cores();

/// Returns the logical CPUs on which this process may run, in ascending order. Computed once, before threads are
/// pinned.
const std::vector<int>& allowed_processors();

/// Returns the allowed CPUs in the order in which threads 0, 1, 2, … are pinned to them.
/// compact: all hardware threads of a core, then all hardware threads of the neighbouring core. scatter: takes cores
/// from each package, memory node and cache in turn, and the first hardware threads of all cores before any second
/// hardware thread. none: returns an empty list.
std::vector<int> pinning_order(Pinning pinning);

/// Returns the logical CPUs on which the calling thread may run, in ascending order.
std::vector<int> thread_affinity();

/// Pins a thread of this process to the given CPUs. `thread` is the kernel's thread id, or 0 for the calling thread.
/// Returns 0 or the operating system's error number.
int bind_thread(int thread, const std::vector<int>& processors);

/// Pins the calling OpenMP team of `threads` threads for the lifetime of the object. Thread t is pinned to element t of
/// pinning_order(), or to element t modulo the length if there are more threads than elements. The destructor restores
/// the threads' former affinity. Does nothing for Pinning::none. Throws Error if the operating system refuses. During
/// the lifetime, parallel regions should have either `threads` threads or one thread. For a smaller team, a runtime may
/// end threads and later start new threads, which are pinned like thread 0.
class PinnedTeam {
 public:
  PinnedTeam(int threads, Pinning pinning);
  PinnedTeam(const PinnedTeam&) = delete;
  PinnedTeam& operator=(const PinnedTeam&) = delete;
  ~PinnedTeam();

 private:
  struct Saved;
  void restore() noexcept;
  std::vector<Saved> saved_;
};

}  // namespace gradus::cpu
