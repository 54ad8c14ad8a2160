// openmp_reduce_first_touch: each private copy of the sums has separate pages, which its thread allocates and writes
// first. Each thread's share of the points is cut into pieces, so that a thread that finishes early can help others.
//
// What changes from `openmp_reduce`:
// 1. Placement. Each copy starts a new page, so no cache line belongs to two copies and false sharing is gone. The
//    operating system places a page on the NUMA node of the core that first writes to it, so each copy is on its
//    thread's node. Pages come directly from the operating system, because another thread may have touched heap memory
//    before. `--pin` keeps a thread near its pages; without it the operating system may move the thread away.
// 2. Pieces. Each share of the points has up to sixteen pieces, each with its own copy of the sums. The slowest core
//    determines when an iteration ends, and cores are not equally fast: a core that shares its execution units with
//    another program has been measured at little more than half of its usual speed. A thread first processes its own
//    pieces and then pieces that other threads have not started. A copy per piece, rather than per thread, keeps the
//    sums independent of which thread computes them.
//
// Work per iteration: as before. Memory: 8 k (d + 2) bytes per piece, rounded up to whole pages, and one more copy for
// the total. If a thread's share has more than one piece, the thread's copies take at most 4 MiB.
// Limits: the points stay where the caller or a mapped file put them, because a copy on the threads' nodes would double
// the memory. A caller that allocates points should write them in parallel, as `gradus bench` does. The driver lets
// each thread touch its labels first (lloyd.hpp).
// Source: C. Lameter, "NUMA (non-uniform memory access): an overview", ACM Queue 11 (2013), on first-touch placement.
#include <sys/mman.h>

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "kmeans/lloyd/textbook.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

namespace {

// Returns the number of pieces per thread. With more pieces, it matters less that cores differ in speed. But a piece
// should have some thousand points, and the sums of a thread's pieces must not fill the caches.
int first_touch_pieces(const Shape& shape, int threads) {
  constexpr std::int64_t most_pieces = 16;
  constexpr std::int64_t least_points = 4096;
  constexpr std::int64_t most_bytes = std::int64_t{4} << 20;
  const auto bytes = static_cast<std::int64_t>(FloatSums<double>::bytes(shape));
  return static_cast<int>(
      std::clamp<std::int64_t>(std::min(shape.points / threads / least_points, most_bytes / bytes), 1, most_pieces));
}

/// Memory that comes directly from the operating system. Its pages are not yet placed on a NUMA node.
class FreshPages {
 public:
  FreshPages() = default;
  explicit FreshPages(std::size_t bytes)
      : data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), bytes_(bytes) {}
  FreshPages(FreshPages&& other) noexcept : data_(std::exchange(other.data_, MAP_FAILED)), bytes_(other.bytes_) {}
  FreshPages& operator=(FreshPages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~FreshPages() {
    if (*this) munmap(data_, bytes_);
  }
  explicit operator bool() const { return data_ != MAP_FAILED; }
  double* data() const { return static_cast<double*>(data_); }

 private:
  void* data_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

struct PrivateSums {
  double* sums;          ///< k x d
  double* weights;       ///< k elements
  std::int64_t* counts;  ///< k elements
};

/// A copy of the sums for each piece of each thread's share. Each thread allocates the copies of its pieces in the
/// first pass. Before this pass, the driver binds the threads to CPUs.
class PrivateSumPages {
 public:
  PrivateSumPages(const Shape& shape, int threads)
      : k_(shape.clusters), d_(shape.dimensions), threads_(threads),
        pages_(static_cast<std::size_t>(threads * first_touch_pieces(shape, threads))) {}

  std::span<const PrivateSums> copies() {
    if (copies_.empty()) allocate();
    return copies_;
  }

 private:
  void allocate() {
    const int parts = static_cast<int>(pages_.size());
    const auto bytes = static_cast<std::size_t>(k_ * (d_ + 2)) * sizeof(double);
    std::vector<PrivateSums> copies(pages_.size());
    // The threads have the same shares of the pieces here as in assign_and_reduce(), and both loops use a static
    // schedule. Each thread therefore allocates the copies for the pieces in its share.
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int thread = 0; thread < threads_; ++thread) {
      const cpu::Range own = cpu::share(parts, thread, threads_);
      for (auto at = static_cast<std::size_t>(own.begin); at < static_cast<std::size_t>(own.end); ++at) {
        pages_[at] = FreshPages(bytes);
        if (!pages_[at]) continue;  // out of memory; the exception is thrown after the parallel region
        double* const sums = pages_[at].data();
        double* const weights = sums + k_ * d_;
        copies[at] = {sums, weights, reinterpret_cast<std::int64_t*>(weights + k_)};
        std::memset(sums, 0, bytes);
      }
    }
    for (const FreshPages& pages : pages_)
      if (!pages)
        throw OutOfMemoryError("cannot allocate " + std::to_string(bytes) +
                               " bytes for a thread's sums: out of memory");
    copies_ = std::move(copies);
  }

  std::int64_t k_;
  std::int64_t d_;
  int threads_;
  std::vector<FreshPages> pages_;
  std::vector<PrivateSums> copies_;
};

/// Runs the loop and the reduction of `openmp_reduce` over pieces. A thread that has finished its pieces takes pieces
/// that other threads have not started. `total` must be zero at the start.
template <class T>
Outcome assign_and_reduce(const Problem<T>& problem, MatrixView<const T> centroids, std::int32_t* labels,
                          std::span<const PrivateSums> copies, int threads, FloatSums<T>& total) {
  const std::int64_t k = problem.k();
  const std::int64_t d = problem.d();
  const int pieces = static_cast<int>(copies.size());
  std::vector<Outcome> outcomes(copies.size());
  cpu::SharedWork work(pieces, threads, 1);
  const std::int64_t block = points_between_polls(problem);
  const auto add_piece = [&](int piece) {
    const PrivateSums own = copies[static_cast<std::size_t>(piece)];
    std::fill_n(own.sums, k * d, 0.0);
    std::fill_n(own.weights, k, 0.0);
    std::fill_n(own.counts, k, std::int64_t{0});
    Outcome outcome{0, 0.0};
    const cpu::Range range = cpu::share(problem.n(), piece, pieces);
    for (std::int64_t first = range.begin; first < range.end && !problem.stop.stop_requested(); first += block)
      for (std::int64_t point = first; point < std::min(first + block, range.end); ++point) {
        const Nearest<T> nearest = nearest_centroid(problem.points.row(point), centroids);
        outcome.changed += labels[point] != nearest.cluster;
        outcome.inertia += problem.weight(point) * static_cast<double>(nearest.distance);
        labels[point] = nearest.cluster;
        add_point(problem, point, nearest.cluster, own.sums, own.weights, own.counts);
      }
    outcomes[static_cast<std::size_t>(piece)] = outcome;
  };
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (int thread = 0; thread < threads; ++thread) {
      for (cpu::Range next = work.next(thread); next.size() > 0; next = work.next(thread))
        add_piece(static_cast<int>(next.begin));
    }  // implied barrier: every copy is complete
#pragma omp for schedule(static)
    for (std::int64_t cluster = 0; cluster < k; ++cluster) {
      if (problem.stop.stop_requested()) continue;
      for (const PrivateSums& copy : copies) {
        for (std::int64_t dim = 0; dim < d; ++dim) total.sums[cluster * d + dim] += copy.sums[cluster * d + dim];
        total.weights[cluster] += copy.weights[cluster];
        total.counts[cluster] += copy.counts[cluster];
      }
    }
  }
  Outcome all{0, 0.0};
  for (const Outcome& outcome : outcomes) {
    all.changed += outcome.changed;
    all.inertia += outcome.inertia;
  }
  return all;
}

}  // namespace

template <class T>
KMeansResult<T> openmp_reduce_first_touch(const Problem<T>& problem, const Execution& execution,
                                          std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  PrivateSumPages pages(shape_of(problem), threads);
  const auto assign_and_sum = [&pages, threads](const Problem<T>& job, MatrixView<const T> centroids,
                                                std::int32_t* labels, FloatSums<T>& total) {
    return assign_and_reduce<T>(job, centroids, labels, pages.copies(), threads, total);
  };
  TextbookEngine engine(problem, assign_and_sum);
  return lloyd(problem, execution, engine, phases);
}

namespace {

core::Memory float_sums_on_pages(const Shape& shape, int threads) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t bytes = FloatSums<double>::bytes(shape);
  const std::uint64_t copy = (bytes + page - 1) / page * page;
  const int copies = threads * first_touch_pieces(shape, threads);
  return {.host = bytes + core::checked_multiply(copy, static_cast<std::uint64_t>(copies), "sums")};
}

}  // namespace

extern constinit const Variant openmp_reduce_first_touch_rung{
    .name = "openmp_reduce_first_touch",
    .summary = "private sums on separate pages, first touched by their thread; shares in pieces",
    .change =
        "no cache line belongs to two copies, and each copy is on its own thread's NUMA node; a thread that "
        "finishes early takes pieces from slower ones",
    .contract = textbook,
    .backend = core::Backend::openmp,
    .memory = float_sums_on_pages,
    .run = {openmp_reduce_first_touch<float>, openmp_reduce_first_touch<double>},
};

}  // namespace gradus::kmeans_detail
