// openmp_critical: the points are dealt out to threads, and one critical section guards the addition of a point to the
// shared sums.
//
// What changes from `openmp_shared`: the d + 2 atomic additions of a point become d + 2 plain ones under one lock. That
// is fewer locked instructions, but where atomics collide only when two threads want the same cache line, here every
// thread waits for every other, also for one that adds to another cluster. By Amdahl's law the speed-up cannot pass the
// time of a point's search divided by the time of its addition, and a lock that is passed around costs more than the
// addition it guards. The rung shows how much the choice of a lock, and the length of what it guards, matter.
//
// Work of an iteration: n k d subtractions, multiplications and additions, n (d + 2) additions one thread at a time, n
// lock operations; n d element reads from memory. Memory: one set of sums, 8 k (d + 2) bytes.
// Limits: the order of the additions differs from run to run, and so do the last bits of the sums.
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
    const std::int64_t stretch = points_between_looks(job, threads);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changed, inertia)
    for (std::int64_t first = 0; first < n; first += stretch) {
      if (job.stop.stop_requested()) continue;
      for (std::int64_t point = first; point < std::min(first + stretch, n); ++point) {
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
