// Measures the locks of Gradus and of other libraries on the same work, in turn. bench/baselines/locks.py builds and
// runs this program.
//
// usage: locks SECONDS REPEATS NAME:THREADS:CRITICAL:OUTSIDE...
//
// For each line, THREADS threads enter critical sections of CRITICAL steps of work, and do OUTSIDE steps of work
// between two sections. A measurement takes SECONDS. Each lock is measured REPEATS times, and the order of the locks is
// random each time. Prints JSON: for each line and lock, the nanoseconds between two critical sections, Jain's index
// and the CPU time of each sample. Exits with an error if an update is lost.
#include <absl/synchronization/mutex.h>
#include <ck_spinlock.h>
#include <nsync.h>
#include <pthread.h>
#include <sys/resource.h>
#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gradus/locks.hpp"

namespace {

constexpr int most_threads = 256;

// ---- The locks: with(lock, thread, section) ----

template <class Mutex>
struct Standard {
  alignas(128) Mutex mutex;
  template <class Section>
  void with(int, const Section& section) {
    mutex.lock();
    section();
    mutex.unlock();
  }
};
struct PthreadSpin {
  alignas(128) pthread_spinlock_t spin{};
  PthreadSpin() { pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE); }
  template <class Section>
  void with(int, const Section& section) {
    pthread_spin_lock(&spin);
    section();
    pthread_spin_unlock(&spin);
  }
};
template <class Mutex>
struct Scoped {
  alignas(128) Mutex mutex;
  template <class Section>
  void with(int, const Section& section) {
    const typename Mutex::scoped_lock guard(mutex);
    section();
  }
};
struct Absl {
  alignas(128) absl::Mutex mutex;
  template <class Section>
  void with(int, const Section& section) {
    mutex.Lock();
    section();
    mutex.Unlock();
  }
};
struct Nsync {
  alignas(128) nsync::nsync_mu mutex;
  Nsync() { nsync::nsync_mu_init(&mutex); }
  template <class Section>
  void with(int, const Section& section) {
    nsync::nsync_mu_lock(&mutex);
    section();
    nsync::nsync_mu_unlock(&mutex);
  }
};

#define CK_LOCK(Name, kind)                      \
  struct Name {                                  \
    alignas(128) ck_spinlock_##kind##_t lock;    \
    Name() { ck_spinlock_##kind##_init(&lock); } \
    template <class Section>                     \
    void with(int, const Section& section) {     \
      ck_spinlock_##kind##_lock(&lock);          \
      section();                                 \
      ck_spinlock_##kind##_unlock(&lock);        \
    }                                            \
  }
CK_LOCK(CkFas, fas);
CK_LOCK(CkCas, cas);
CK_LOCK(CkDec, dec);
CK_LOCK(CkTicket, ticket);

struct CkAnderson {
  struct alignas(128) Slot {
    ck_spinlock_anderson_thread_t slot;
  };
  alignas(128) ck_spinlock_anderson_t lock;
  // the library requires contiguous slots
  std::vector<ck_spinlock_anderson_thread_t> slots = std::vector<ck_spinlock_anderson_thread_t>(most_threads);
  CkAnderson() { ck_spinlock_anderson_init(&lock, slots.data(), most_threads); }
  template <class Section>
  void with(int, const Section& section) {
    ck_spinlock_anderson_thread_t* slot = nullptr;
    ck_spinlock_anderson_lock(&lock, &slot);
    section();
    ck_spinlock_anderson_unlock(&lock, slot);
  }
};
struct CkClh {
  struct alignas(128) Node {
    ck_spinlock_clh_t node;
  };
  alignas(128) ck_spinlock_clh_t* lock = nullptr;
  std::vector<Node> nodes = std::vector<Node>(most_threads + 1);
  // spaced out, so that each thread's pointer is in a separate cache line
  std::vector<Node*> own = std::vector<Node*>(16 * most_threads);
  CkClh() {
    ck_spinlock_clh_init(&lock, &nodes[most_threads].node);
    for (int thread = 0; thread < most_threads; ++thread)
      own[static_cast<std::size_t>(16 * thread)] = &nodes[static_cast<std::size_t>(thread)];
  }
  template <class Section>
  void with(int thread, const Section& section) {
    auto*& node = reinterpret_cast<ck_spinlock_clh_t*&>(own[static_cast<std::size_t>(16 * thread)]);
    ck_spinlock_clh_lock(&lock, node);
    section();
    ck_spinlock_clh_unlock(&node);
  }
};
struct CkMcs {
  alignas(128) ck_spinlock_mcs_t lock = nullptr;
  template <class Section>
  void with(int, const Section& section) {
    alignas(128) ck_spinlock_mcs_context_t node;
    ck_spinlock_mcs_lock(&lock, &node);
    section();
    ck_spinlock_mcs_unlock(&lock, &node);
  }
};

// ---- The work ----

struct Line {
  std::string name;
  int threads = 0;
  long critical = 0;
  long outside = 0;
};
struct Sample {
  double nanoseconds = 0;
  double jain = 0;
  double processor_nanoseconds = 0;
};

unsigned long work(unsigned long value, long steps) {
  for (long step = 0; step < steps; ++step) value = value * 6364136223846793005U + 1442695040888963407U;
  return value;
}

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

template <class Lock>
std::optional<Sample> run(const Line& line, double seconds) {
  struct alignas(128) Board {
    long count = 0;
    unsigned long value = 0;
  };
  struct alignas(128) Share {
    long sections = 0;
    unsigned long value = 0;
  };
  Lock lock;
  Board board;
  std::vector<Share> shares(static_cast<std::size_t>(line.threads));
  alignas(128) std::atomic<bool> ends{false};
  std::barrier start(line.threads + 1);
  std::vector<std::jthread> team;
  // Starts an idle thread, because some libraries omit atomic operations in single-threaded processes.
  std::atomic<bool> lives{true};
  std::jthread idle([&] { lives.wait(true); });
  for (int thread = 0; thread < line.threads; ++thread)
    team.emplace_back([&, thread] {
      long sections = 0;
      unsigned long value = static_cast<unsigned long>(thread);
      start.arrive_and_wait();
      while (!ends.load(std::memory_order_relaxed)) {
        lock.with(thread, [&] {
          ++board.count;
          board.value = work(board.value, line.critical);
        });
        ++sections;
        value = work(value, line.outside);
      }
      shares[static_cast<std::size_t>(thread)] = {sections, value};
    });
  start.arrive_and_wait();
  const double processor = processor_seconds();
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  ends.store(true, std::memory_order_relaxed);
  team.clear();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const double used = processor_seconds() - processor;
  lives.store(false);
  lives.notify_all();
  double sum = 0;
  double squares = 0;
  for (const Share& share : shares) {
    sum += static_cast<double>(share.sections);
    squares += static_cast<double>(share.sections) * static_cast<double>(share.sections);
  }
  if (static_cast<long>(sum) != board.count) return std::nullopt;
  return Sample{1e9 * took / sum, sum * sum / (line.threads * squares), 1e9 * used / sum};
}

struct Contestant {
  const char* name;
  const char* library;
  std::optional<Sample> (*run)(const Line&, double);  ///< returns no sample if an update was lost
};
constexpr Contestant contestants[] = {
    {"tas_lock", "gradus", run<Standard<gradus::tas_lock>>},
    {"ttas_lock", "gradus", run<Standard<gradus::ttas_lock>>},
    {"ticket_lock", "gradus", run<Standard<gradus::ticket_lock>>},
    {"array_lock", "gradus", run<Standard<gradus::array_lock>>},
    {"clh_lock", "gradus", run<Standard<gradus::clh_lock>>},
    {"mcs_lock", "gradus", run<Standard<gradus::mcs_lock>>},
    {"cna_lock", "gradus", run<Standard<gradus::cna_lock>>},
    {"park_lock", "gradus", run<Standard<gradus::park_lock>>},
    {"std::mutex", "libstdc++", run<Standard<std::mutex>>},
    {"pthread_spin", "glibc", run<PthreadSpin>},
    {"absl::Mutex", "abseil", run<Absl>},
    {"nsync_mu", "nsync", run<Nsync>},
    {"tbb::spin_mutex", "oneTBB", run<Scoped<tbb::spin_mutex>>},
    {"tbb::queuing_mutex", "oneTBB", run<Scoped<tbb::queuing_mutex>>},
    {"ck fas", "ConcurrencyKit", run<CkFas>},
    {"ck cas", "ConcurrencyKit", run<CkCas>},
    {"ck dec", "ConcurrencyKit", run<CkDec>},
    {"ck ticket", "ConcurrencyKit", run<CkTicket>},
    {"ck anderson", "ConcurrencyKit", run<CkAnderson>},
    {"ck clh", "ConcurrencyKit", run<CkClh>},
    {"ck mcs", "ConcurrencyKit", run<CkMcs>},
};
// The locks of ConcurrencyKit and pthread_spin never yield the CPU. With more threads than cores, passing such a lock
// to the next thread takes whole time slices.

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return std::fprintf(stderr, "usage: locks SECONDS REPEATS NAME:THREADS:CRITICAL:OUTSIDE...\n"), 2;
  const double seconds = std::atof(arguments[1]);
  const int repeats = std::atoi(arguments[2]);
  std::mt19937 random(1);
  std::printf("[");
  for (int at = 3; at < count; ++at) {
    char name[64] = "";
    Line line;
    if (std::sscanf(arguments[at], "%63[^:]:%d:%ld:%ld", name, &line.threads, &line.critical, &line.outside) != 4 ||
        line.threads < 1 || line.threads > most_threads)
      return std::fprintf(stderr, "locks: what is %s?\n", arguments[at]), 2;
    line.name = name;
    std::vector<std::vector<Sample>> samples(std::size(contestants));
    std::vector<std::size_t> order(std::size(contestants));
    for (std::size_t index = 0; index < order.size(); ++index) order[index] = index;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t index : order) {
        const std::optional<Sample> sample = contestants[index].run(line, seconds);
        if (!sample)
          return std::fprintf(stderr, "locks: %s with %d threads: an update was lost\n", contestants[index].name,
                              line.threads),
                 5;
        samples[index].push_back(*sample);
      }
    }
    std::printf("%s\n {\"name\": \"%s\", \"threads\": %d, \"critical\": %ld, \"outside\": %ld, \"locks\": [",
                at > 3 ? "," : "", name, line.threads, line.critical, line.outside);
    for (std::size_t index = 0; index < samples.size(); ++index) {
      std::printf("%s\n  {\"lock\": \"%s\", \"library\": \"%s\", \"samples\": [", index > 0 ? "," : "",
                  contestants[index].name, contestants[index].library);
      for (std::size_t sample = 0; sample < samples[index].size(); ++sample)
        std::printf("%s{\"ns\": %.4g, \"jain\": %.3f, \"cpu_ns\": %.4g}", sample > 0 ? ", " : "",
                    samples[index][sample].nanoseconds, samples[index][sample].jain,
                    samples[index][sample].processor_nanoseconds);
      std::printf("]}");
    }
    std::printf("]}");
    std::fflush(stdout);
  }
  std::printf("\n]\n");
}
