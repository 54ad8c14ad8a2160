// Threads of a job: how many, where they run, and which share of the work each takes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gradus/execution.hpp"

namespace gradus::cpu {

/// The number of threads the job takes: execution.threads, or one per available core; of a rank, of its share of them.
/// One in a child that has_lost_threads(). UsageError when negative or above 4096.
int thread_count(const Execution& execution);

/// Returns true in a forked child of a process that ran a job on several threads, which the child does not have.
bool has_lost_threads();

/// Begins a job's work on `threads` threads, before its first parallel region, and returns their number. Gives them the
/// environment of the public call (cpu/call.hpp). Throws Error if the system lets the process start fewer, and
/// UnsupportedError for several in a forked child of a process that had several: GNU's runtime would hang there.
int start_team(int threads);

/// As many of `threads` as have work for longer than to wake them takes, of so many additions or the like.
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

/// The contiguous share of [0, count) that `part` of `parts` takes. Shares differ by at most
/// one granule, of which the last may be cut short, and begin and end on a multiple of it or at `count`.
constexpr Range share(std::int64_t count, int part, int parts, std::int64_t granule = 1) {
  const std::int64_t granules = (count + granule - 1) / granule;
  const std::int64_t begin = granules / parts * part + (granules % parts < part ? granules % parts : part);
  const std::int64_t length = granules / parts + (part < granules % parts ? 1 : 0);
  const std::int64_t first = begin * granule < count ? begin * granule : count;
  const std::int64_t last = (begin + length) * granule < count ? (begin + length) * granule : count;
  return {first, last};
}

/// Hands out [0, count) piece by piece. Each part begins with its share(), so that it finds again what lies in its
/// caches and its memory node; a part that has finished its own takes pieces of the others', so that all end together
/// although some cores or some shares are slower.
class SharedWork {
 public:
  /// `piece` elements at a time, which is also the shares' granule.
  SharedWork(std::int64_t count, int parts, std::int64_t piece)
      : piece_(piece), shares_(static_cast<std::size_t>(parts)) {
    for (int part = 0; part < parts; ++part) {
      const Range range = share(count, part, parts, piece);
      Share& own = shares_[static_cast<std::size_t>(part)];
      own.next.store(range.begin, std::memory_order_relaxed);
      own.end = range.end;
    }
  }

  /// The next piece for `part`; an empty range when everything has been handed out. Threads may call this at once.
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
  struct alignas(64) Share {  // each on a cache line of its own
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  std::int64_t piece_;
  std::vector<Share> shares_;
};

/// The team of a loop of passes, as long as it pays. On a machine whose cores are all busy with something else, a
/// barrier waits until the last thread was given a core again, some milliseconds, which for short passes is many times
/// the work. So a pass is compared with the processor time that its work took: where it lasted longer than one thread
/// would have, even one that gets two thirds of a core, the next passes are made by one thread, before another attempt.
class PayingTeam {
 public:
  /// `may_shrink` false: always `most` threads.
  PayingTeam(int most, bool may_shrink) : most_(most), may_shrink_(may_shrink && most > 1) {}

  /// For the next pass.
  int threads() const { return alone_ > 0 ? 1 : most_; }

  /// Exists while a pass is made.
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
    std::atomic<std::int64_t> worked_{0};  ///< nanoseconds of processors
  };

  /// Exists while a thread works on its share of a pass, without waiting.
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
  int alone_ = 0;     ///< passes by one thread that are left
  int sentence_ = 8;  ///< and how many there will be the next time
};

/// How many of `threads` find a processor that no other program keeps busy at this moment, but at least 1. A team of
/// more waits at each barrier until the last thread is given a processor again. Where the process may not use all
/// processors, or the system does not say, all of them.
int threads_with_processor(int threads);

/// For tests: the number of running threads in a text like that of /proc/loadavg; 0 where there is none.
int running_threads(std::string_view loadavg);

/// Threads that this process may keep busy: the number of its allowed processors, or its control group's quota rounded
/// up if that is less. Found out once.
int usable_cores();

/// The logical processors that this process may run on, ascending. Found out once, so that a thread which has been
/// bound since still sees all of them.
const std::vector<int>& allowed_processors();

/// The allowed processors in the order in which threads 0, 1, 2, … are bound to them.
/// compact: all hardware threads of a core, then its neighbour's. scatter: a core from every package, memory node and
/// cache in turn, and the first hardware thread of every core before any second one. none: an empty order.
std::vector<int> pinning_order(Pinning pinning);

/// The logical processors that the calling thread may run on, ascending.
std::vector<int> thread_affinity();

/// Binds a thread of this process, by the kernel's number (0: the calling one), to the processors given. Returns 0, or
/// the error number of the operating system's refusal.
int bind_thread(int thread, const std::vector<int>& processors);

/// Binds the calling OpenMP team of `threads` to cores for the life of the object, thread t to the processor
/// pinning_order[t modulo its size], and restores the threads' former affinity afterwards. Does nothing for
/// Pinning::none. Parallel regions meanwhile should have `threads` threads too (or one): a runtime may end the threads
/// that a smaller region does not need, and start new ones bound as thread 0 is.
/// Throws gradus::Error where the operating system refuses.
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
