// openmp_locked: one shared set of sums, guarded by any lock of the ladder of locks. A thread acquires the lock once
// per point, once per chunk of points, or once per iteration.
//
// What changes from `openmp_critical`: you choose the lock and how often a thread acquires it. With one acquisition per
// point, the lock dominates: all threads contend for it n times per iteration, and the iteration takes as long as n
// hand-offs. This setting compares locks. With one acquisition per chunk, each thread first sums its chunk privately.
// All threads together acquire the lock n / 512 times, so any lock is fast enough. With one acquisition per thread, the
// variant equals the next rung, `openmp_reduce`, except that threads add their sums to the total one at a time.
//
// Work per iteration: n k d subtractions, multiplications and additions; n (d + 2) additions, and k (d + 2) more each
// time private sums are added to the shared ones; n, n / 512 or `threads` lock operations; n d elements read from
// memory.
// Memory: one set of sums, 8 k (d + 2) bytes, and another set per thread unless points are added one at a time.
// Limits: the order of additions, and with it the last bits of the sums, differs from run to run. With `no_lock`,
// updates are lost and the result is incorrect; the running time shows how fast a lock without any cost would be.
// Source: E. W. Dijkstra, "Cooperating sequential processes" (1965); the locks: include/gradus/locks/.
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <type_traits>

#include "core/variant_options.hpp"
#include "cpu/posix_locks.hpp"
#include "gradus/locks/array_lock.hpp"
#include "gradus/locks/clh_lock.hpp"
#include "gradus/locks/cna_lock.hpp"
#include "gradus/locks/mcs_lock.hpp"
#include "gradus/locks/park_lock.hpp"
#include "gradus/locks/tas_lock.hpp"
#include "gradus/locks/ticket_lock.hpp"
#include "gradus/locks/ttas_lock.hpp"
#include "kmeans/lloyd/textbook.hpp"
#include "kmeans/problem.hpp"

namespace gradus {

namespace {

enum class LockName : std::uint8_t {
  no_lock,
  openmp_critical,
  pthread_mutex,
  std_mutex,
  pthread_spin,
  tas_lock,
  ttas_lock,
  ticket_lock,
  array_lock,
  clh_lock,
  mcs_lock,
  cna_lock,
  park_lock
};

/// The work that a thread does while it holds the lock.
enum class LockGranularity : std::uint8_t {
  point,  ///< adds one point
  chunk,  ///< adds the private sums of some hundred points
  thread  ///< adds the private sums of all points of the thread
};

struct LockOptions {
  LockName lock = LockName::std_mutex;
  LockGranularity locked = LockGranularity::point;
};

}  // namespace

template <>
inline constexpr auto enum_names<LockName> =
    std::to_array<EnumName<LockName>>({{LockName::no_lock, "no_lock"},
                                       {LockName::openmp_critical, "openmp_critical"},
                                       {LockName::pthread_mutex, "pthread_mutex"},
                                       {LockName::std_mutex, "std_mutex"},
                                       {LockName::pthread_spin, "pthread_spin"},
                                       {LockName::tas_lock, "tas_lock"},
                                       {LockName::ttas_lock, "ttas_lock"},
                                       {LockName::ticket_lock, "ticket_lock"},
                                       {LockName::array_lock, "array_lock"},
                                       {LockName::clh_lock, "clh_lock"},
                                       {LockName::mcs_lock, "mcs_lock"},
                                       {LockName::cna_lock, "cna_lock"},
                                       {LockName::park_lock, "park_lock"}});
template <>
inline constexpr auto enum_names<LockGranularity> = std::to_array<EnumName<LockGranularity>>(
    {{LockGranularity::point, "point"}, {LockGranularity::chunk, "chunk"}, {LockGranularity::thread, "thread"}});

template <>
inline constexpr auto core::option_rows<LockOptions> = std::to_array<core::Option>({
    core::option<&LockOptions::lock>(
        {.name = "lock", .help = "the lock that threads acquire ('gradus list locks')", .placeholder = "NAME"}),
    core::option<&LockOptions::locked>({.name = "locked",
                                        .help = "what a thread adds under one acquisition of the lock"}),
});

namespace kmeans_detail {

namespace {

constinit const core::OptionTable lock_options = core::option_table<LockOptions>;

struct NoLock {};
struct OpenMpCritical {};

/// Acquires the lock, calls section(), and releases the lock.
template <class Lock, class Section>
void with(Lock& lock, const Section& section) {
  if constexpr (std::is_same_v<Lock, NoLock>) {
    section();
  } else if constexpr (std::is_same_v<Lock, OpenMpCritical>) {
#pragma omp critical(gradus_kmeans_locked)
    section();
  } else {
    const std::scoped_lock guard(lock);
    section();
  }
}

/// Calls use(std::type_identity<Lock>()). Lock is the lock type with this name.
template <class Use>
Outcome with_lock(LockName name, const Use& use) {
  switch (name) {
    case LockName::no_lock: return use(std::type_identity<NoLock>());
    case LockName::openmp_critical: return use(std::type_identity<OpenMpCritical>());
    case LockName::pthread_mutex: return use(std::type_identity<cpu::PthreadMutex>());
    case LockName::pthread_spin: return use(std::type_identity<cpu::PthreadSpin>());
    case LockName::tas_lock: return use(std::type_identity<tas_lock>());
    case LockName::ttas_lock: return use(std::type_identity<ttas_lock>());
    case LockName::ticket_lock: return use(std::type_identity<ticket_lock>());
    case LockName::array_lock: return use(std::type_identity<array_lock>());
    case LockName::clh_lock: return use(std::type_identity<clh_lock>());
    case LockName::mcs_lock: return use(std::type_identity<mcs_lock>());
    case LockName::cna_lock: return use(std::type_identity<cna_lock>());
    case LockName::park_lock: return use(std::type_identity<park_lock>());
    case LockName::std_mutex: break;
  }
  return use(std::type_identity<std::mutex>());
}

/// Adds to a shared sum. If no lock protects the sum, uses relaxed loads and stores. They can lose updates, but their
/// behaviour is defined.
template <bool locked, class T>
void add(T& sum, T value) {
  if constexpr (locked) {
    sum += value;
  } else {
    const std::atomic_ref<T> shared(sum);
    shared.store(shared.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
}

template <bool locked, class T>
void add_one(FloatSums<T>& sums, std::int64_t point, std::int64_t cluster) {
  const Problem<T>& problem = *sums.problem;
  const double weight = problem.weight(point);
  const T* const row = problem.points.row(point);
  double* const sum = sums.sums.data() + cluster * problem.d();
  for (std::int64_t dim = 0; dim < problem.d(); ++dim) add<locked>(sum[dim], weight * static_cast<double>(row[dim]));
  add<locked>(sums.weights[cluster], weight);
  add<locked>(sums.counts[cluster], std::int64_t{1});
}

template <bool locked, class T>
void add_all(FloatSums<T>& sums, const FloatSums<T>& other) {
  for (std::int64_t index = 0; index < sums.sums.size(); ++index) add<locked>(sums.sums[index], other.sums[index]);
  for (std::int64_t cluster = 0; cluster < sums.counts.size(); ++cluster) {
    add<locked>(sums.weights[cluster], other.weights[cluster]);
    add<locked>(sums.counts[cluster], other.counts[cluster]);
  }
}

template <class Lock, class T>
Outcome assign_and_add(const Problem<T>& job, MatrixView<const T> centroids, std::int32_t* labels, FloatSums<T>& sums,
                       std::deque<FloatSums<T>>& own_sums, LockGranularity amount, int threads) {
  constexpr bool locked = !std::is_same_v<Lock, NoLock>;
  constexpr std::int64_t points_of_chunk = 512;
  const std::int64_t block = std::min(points_of_chunk, points_between_polls(job));
  Lock lock;
  std::int64_t changed = 0;
  double inertia = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changed, inertia)
  for (int thread = 0; thread < threads; ++thread) {
    const cpu::Range share = cpu::share(job.n(), thread, threads);
    FloatSums<T>* const own = own_sums.empty() ? nullptr : &own_sums[static_cast<std::size_t>(thread)];
    if (own != nullptr) own->clear();
    for (std::int64_t first = share.begin; first < share.end && !job.stop.stop_requested(); first += block) {
      const std::int64_t last = std::min(first + block, share.end);
      for (std::int64_t point = first; point < last; ++point) {
        const Nearest<T> nearest = nearest_centroid(job.points.row(point), centroids);
        changed += labels[point] != nearest.cluster;
        inertia += job.weight(point) * static_cast<double>(nearest.distance);
        labels[point] = nearest.cluster;
        if (own != nullptr) {
          own->add(point, nearest.cluster);
        } else {
          with(lock, [&] { add_one<locked>(sums, point, nearest.cluster); });
        }
      }
      if (own != nullptr && (amount == LockGranularity::chunk || last == share.end)) {
        with(lock, [&] { add_all<locked>(sums, *own); });
        own->clear();
      }
    }
  }
  return {changed, inertia};
}

}  // namespace

template <class T>
KMeansResult<T> openmp_locked(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  const auto options = core::variant_options<LockOptions>(execution);
  std::deque<FloatSums<T>> own_sums;
  if (options.locked != LockGranularity::point)
    for (int thread = 0; thread < threads; ++thread) own_sums.emplace_back(problem);
  const auto assign_and_sum = [&own_sums, options, threads](const Problem<T>& job, MatrixView<const T> centroids,
                                                            std::int32_t* labels, FloatSums<T>& sums) {
    return with_lock(options.lock, [&](auto lock) {
      return assign_and_add<typename decltype(lock)::type>(job, centroids, labels, sums, own_sums, options.locked,
                                                           threads);
    });
  };
  TextbookEngine engine(problem, assign_and_sum);
  return lloyd(problem, execution, engine, phases);
}

extern constinit const Variant openmp_locked_rung{
    .name = "openmp_locked",
    .summary = "points among threads, one set of sums under any lock, per point, chunk or thread",
    .change = "any lock of the ladder of locks, acquired per point, per chunk of points or per thread",
    .contract = textbook,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .options = &lock_options,
    .memory = float_sums_per_thread,
    .run = {openmp_locked<float>, openmp_locked<double>},
};

}  // namespace kmeans_detail
}  // namespace gradus
