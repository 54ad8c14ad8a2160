// openmp_reduce_first_touch_points: private sums and points, on pages first written by the thread that reads them.
//
// What changes from `openmp_reduce_first_touch`: the placement of the points. They are on the node of the thread that
// wrote them first. If one thread wrote all points, all threads share the memory channels of one node while the other
// nodes idle. Here each thread copies its share of the points in the first pass, and later passes read only the copies.
// Shares are not cut into pieces that other threads could take.
//
// Work per iteration: as before. The first pass also reads and writes n d elements to copy the points. Memory: a second
// copy of the points, 8 k (d + 2) bytes per thread rounded up to whole pages, and the total.
// Limits: the copy pays only if the machine has several NUMA nodes, threads are bound (`--pin`), and there are many
// iterations. It gains nothing if each thread has already written the points that it reads, as in `gradus bench`.
// Source: C. Lameter, "NUMA (non-uniform memory access): an overview", ACM Queue 11 (2013), on first-touch placement.
#include <sys/mman.h>

#include <cstring>
#include <utility>
#include <vector>

#include "kmeans/lloyd/textbook.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Memory that comes directly from the operating system. Its pages are not yet placed on a NUMA node.
class UntouchedPages {
 public:
  explicit UntouchedPages(std::size_t bytes)
      : data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), bytes_(bytes) {
    if (data_ == MAP_FAILED)
      throw OutOfMemoryError("cannot allocate " + std::to_string(bytes) + " bytes: out of memory");
  }
  UntouchedPages(const UntouchedPages&) = delete;
  UntouchedPages& operator=(const UntouchedPages&) = delete;
  ~UntouchedPages() { munmap(data_, bytes_); }
  void* data() const { return data_; }

 private:
  void* data_;
  std::size_t bytes_;
};

/// Memory for the points and sums. No thread touches it before the first pass, because the driver binds the threads to
/// CPUs only then.
template <class T>
class PrivateCopies {
 public:
  PrivateCopies(const Problem<T>& problem, int threads)
      : n_(problem.n()), d_(problem.d()), k_(problem.k()), threads_(threads),
        points_(static_cast<std::size_t>(n_ * d_) * sizeof(T)),
        sums_(copy_bytes() * static_cast<std::size_t>(threads)) {}

  MatrixView<const T> points() const { return {static_cast<const T*>(points_.data()), n_, d_}; }
  double* sums(int thread) const {
    return reinterpret_cast<double*>(static_cast<char*>(sums_.data()) +
                                     static_cast<std::size_t>(thread) * copy_bytes());
  }

  /// Copies the share of `thread`, which must be the calling thread.
  void copy(const Problem<T>& job, int thread) const {
    const cpu::Range share = cpu::share(n_, thread, threads_);
    const std::int64_t block = points_between_polls(job);
    for (std::int64_t first = share.begin; first < share.end && !job.stop.stop_requested(); first += block)
      for (std::int64_t point = first; point < std::min(first + block, share.end); ++point)
        std::copy_n(job.points.row(point), d_, static_cast<T*>(points_.data()) + point * d_);
  }

 private:
  std::size_t copy_bytes() const {
    constexpr std::size_t page = 4096;
    return (static_cast<std::size_t>(k_ * (d_ + 2)) * sizeof(double) + page - 1) / page * page;
  }
  std::int64_t n_;
  std::int64_t d_;
  std::int64_t k_;
  int threads_;
  UntouchedPages points_;
  UntouchedPages sums_;
};

/// Runs the loop and the reduction of `openmp_reduce`. The first pass also copies the points.
template <class T>
Outcome assign_and_reduce(const Problem<T>& job, MatrixView<const T> centroids, std::int32_t* labels,
                          const PrivateCopies<T>& own, bool& is_first, int threads, FloatSums<T>& total) {
  const std::int64_t k = job.k();
  const std::int64_t d = job.d();
  const std::int64_t block = points_between_polls(job);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (int thread = 0; thread < threads; ++thread) {
      if (is_first) own.copy(job, thread);
      double* const sums = own.sums(thread);
      double* const weights = sums + k * d;
      auto* const counts = reinterpret_cast<std::int64_t*>(weights + k);
      std::memset(sums, 0, static_cast<std::size_t>(k * (d + 2)) * sizeof(double));
      Outcome outcome{0, 0.0};
      const cpu::Range share = cpu::share(job.n(), thread, threads);
      for (std::int64_t first = share.begin; first < share.end && !job.stop.stop_requested(); first += block)
        for (std::int64_t point = first; point < std::min(first + block, share.end); ++point) {
          const T* const row = own.points().row(point);
          const Nearest<T> nearest = nearest_centroid(row, centroids);
          const double weight = job.weight(point);
          outcome.changed += labels[point] != nearest.cluster;
          outcome.inertia += weight * static_cast<double>(nearest.distance);
          labels[point] = nearest.cluster;
          double* const sum = sums + nearest.cluster * d;
          for (std::int64_t dim = 0; dim < d; ++dim) sum[dim] += weight * static_cast<double>(row[dim]);
          weights[nearest.cluster] += weight;
          ++counts[nearest.cluster];
        }
      outcomes[static_cast<std::size_t>(thread)] = outcome;
    }  // implied barrier: every copy is complete
#pragma omp for schedule(static)
    for (std::int64_t cluster = 0; cluster < k; ++cluster) {
      if (job.stop.stop_requested()) continue;
      for (int thread = 0; thread < threads; ++thread) {
        const double* const sums = own.sums(thread);
        for (std::int64_t dim = 0; dim < d; ++dim) total.sums[cluster * d + dim] += sums[cluster * d + dim];
        total.weights[cluster] += sums[k * d + cluster];
        total.counts[cluster] += reinterpret_cast<const std::int64_t*>(sums + k * (d + 1))[cluster];
      }
    }
  }
  is_first = false;
  Outcome all{0, 0.0};
  for (const Outcome& outcome : outcomes) {
    all.changed += outcome.changed;
    all.inertia += outcome.inertia;
  }
  return all;
}

}  // namespace

template <class T>
KMeansResult<T> openmp_reduce_first_touch_points(const Problem<T>& problem, const Execution& execution,
                                                 std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  const PrivateCopies<T> own(problem, threads);
  bool is_first = true;
  const auto assign_and_sum = [&own, &is_first, threads](const Problem<T>& job, MatrixView<const T> centroids,
                                                         std::int32_t* labels, FloatSums<T>& total) {
    return assign_and_reduce<T>(job, centroids, labels, own, is_first, threads, total);
  };
  TextbookEngine engine(problem, assign_and_sum);
  return lloyd(problem, execution, engine, phases);
}

namespace {

/// Returns the memory of the total sums, of one copy of the sums per thread on separate pages, and of the second copy
/// of the points.
core::Memory float_sums_and_points_on_pages(const Shape& shape, int threads) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t copy = (FloatSums<double>::bytes(shape) + page - 1) / page * page;
  return {.host = FloatSums<double>::bytes(shape) +
                  core::checked_multiply(copy, static_cast<std::uint64_t>(threads), "sums") +
                  static_cast<std::uint64_t>(shape.bytes()) + page};
}

}  // namespace

extern constinit const Variant openmp_reduce_first_touch_points_rung{
    .name = "openmp_reduce_first_touch_points",
    .summary = "as openmp_reduce_first_touch, with points copied by the threads that read them",
    .change = "each thread copies its share of the points once and reads only the copy",
    .contract = textbook,
    .backend = core::Backend::openmp,
    .memory = float_sums_and_points_on_pages,
    .run = {openmp_reduce_first_touch_points<float>, openmp_reduce_first_touch_points<double>},
};

}  // namespace gradus::kmeans_detail
