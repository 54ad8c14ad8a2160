// openmp_critical: the threads share the points, and one critical section guards the shared sums.
//
// What changes from `openmp_shared`: one lock around d + 2 plain additions replaces d + 2 atomic additions per point.
// So there are fewer locked instructions. But atomic additions collide only if two threads need the same cache line.
// With one lock, threads wait for each other even if they add to different clusters. By Amdahl's law the speed-up is at
// most (search time + addition time) / addition time, where both times are per point. In addition, passing a contended
// lock between cores costs more than the additions that the lock guards. The rung shows how much the choice of lock and
// the length of the critical section matter.
//
// Work per iteration: n k d subtractions, multiplications and additions; n (d + 2) additions, one thread at a time; n
// lock operations; n d elements read from memory. Memory: one set of sums, 8 k (d + 2) bytes.
// Limits: the order of additions, and with it the last bits of the sums, differs from run to run.
// Source: E. W. Dijkstra, "Cooperating sequential processes" (1965), for the critical section; the OpenMP
// specification's `critical` construct.
#include "kmeans/lloyd/textbook.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> openmp_critical(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  const auto assign_and_sum = [threads](const Problem<T>& job, MatrixView<const T> centroids, std::int32_t* labels,
                                        FloatSums<T>& sums) {
    const std::int64_t n = job.n();
    std::int64_t changed = 0;
    double inertia = 0;
    const std::int64_t block = points_between_polls(job, threads);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changed, inertia)
    for (std::int64_t first = 0; first < n; first += block) {
      if (job.stop.stop_requested()) continue;
      for (std::int64_t point = first; point < std::min(first + block, n); ++point) {
        const Nearest<T> nearest = nearest_centroid(job.points.row(point), centroids);
        changed += labels[point] != nearest.cluster;
        inertia += job.weight(point) * static_cast<double>(nearest.distance);
        labels[point] = nearest.cluster;
#pragma omp critical(gradus_kmeans_sums)
        sums.add(point, nearest.cluster);
      }
    }
    return Outcome{changed, inertia};
  };
  TextbookEngine engine(problem, assign_and_sum);
  return lloyd(problem, execution, engine, phases);
}

extern constinit const Variant openmp_critical_rung{
    .name = "openmp_critical",
    .summary = "points among threads, one set of sums, one critical section",
    .change = "one lock around the addition of a point instead of an atomic operation per sum",
    .contract = textbook,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .memory = one_float_sum,
    .run = {openmp_critical<float>, openmp_critical<double>},
};

}  // namespace gradus::kmeans_detail
