// openmp_shared: the threads share the points and add to one set of sums with atomic additions.
//
// What changes from `sequential`: one line divides the loop over the points among the threads. The points are
// independent, but the sums are not: two threads that read, add to and write back the same sum at the same time would
// lose an addition. So each addition becomes `omp atomic`. The search for the nearest centroid now scales with the
// cores. The additions do not scale, because CPUs have no atomic addition of doubles. Each atomic addition is a loop
// around a locked compare-and-swap and takes its cache line away from the previous core. With few clusters the threads
// compete for a few cache lines, and more threads make the variant slower.
//
// Work per iteration: n k d subtractions, multiplications and additions; n (d + 2) atomic additions; n d elements read
// from memory. Memory: one set of sums, 8 k (d + 2) bytes for any number of threads.
// Limits: the order of additions, and with it the last bits of the sums, differs from run to run.
// Source: a standard exercise of OpenMP courses; the OpenMP specification's `atomic` construct.
#include "kmeans/lloyd/textbook.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> openmp_shared(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  const auto assign_and_sum = [threads](const Problem<T>& job, MatrixView<const T> centroids, std::int32_t* labels,
                                        FloatSums<T>& sums) {
    const std::int64_t n = job.n();
    const std::int64_t d = job.d();
    std::int64_t changed = 0;
    double inertia = 0;
    const std::int64_t block = points_between_polls(job, threads);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changed, inertia)
    for (std::int64_t first = 0; first < n; first += block) {
      if (job.stop.stop_requested()) continue;
      for (std::int64_t point = first; point < std::min(first + block, n); ++point) {
        const T* row = job.points.row(point);
        const double weight = job.weight(point);
        const Nearest<T> nearest = nearest_centroid(row, centroids);
        changed += labels[point] != nearest.cluster;
        inertia += weight * static_cast<double>(nearest.distance);
        labels[point] = nearest.cluster;

        double* sum = sums.sums.data() + nearest.cluster * d;
        for (std::int64_t dim = 0; dim < d; ++dim) {
          const double value = weight * static_cast<double>(row[dim]);
#pragma omp atomic
          sum[dim] += value;
        }
#pragma omp atomic
        sums.weights[nearest.cluster] += weight;
#pragma omp atomic
        sums.counts[nearest.cluster] += 1;
      }
    }
    return Outcome{changed, inertia};
  };
  TextbookEngine engine(problem, assign_and_sum);
  return lloyd(problem, execution, engine, phases);
}

extern constinit const Variant openmp_shared_rung{
    .name = "openmp_shared",
    .summary = "points among threads, one set of sums, atomic additions",
    .change = "the loop over the points is shared among threads; every addition to a sum is atomic",
    .contract = textbook,
    .backend = core::Backend::openmp,
    .deterministic = false,
    .memory = one_float_sum,
    .run = {openmp_shared<float>, openmp_shared<double>},
};

}  // namespace gradus::kmeans_detail
