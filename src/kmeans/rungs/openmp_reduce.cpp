// openmp_reduce: every thread adds to a private copy of the sums, and one reduction at the end adds up the copies.
//
// What changes from `openmp_critical`: the threads share nothing while they read the points, so they need no lock. The
// n (d + 2) synchronised additions become plain additions. Only one barrier and a reduction of `threads` * k (d + 2)
// additions remain, and the threads divide the reduction by clusters. This technique is called privatisation, and it
// makes k-means scale.
//
// Work per iteration: n k d subtractions, multiplications and additions; n (d + 2) additions; `threads` * k (d + 2)
// additions at the end; n d elements read from memory. Memory: 8 k (d + 2) bytes per thread, and the same for the
// total. Limits: the copies are adjacent in one array, which the calling thread allocates and clears. If a copy is
// small, its end and the start of the next copy share a cache line. That line then travels between cores although no
// thread needs another thread's numbers (false sharing). With k = 4 and d = 1, the line travels for every point. On a
// machine with several NUMA nodes, all copies are on the calling thread's node. The next rung fixes both problems,
// false sharing and placement. Source: the `reduction` clause of the OpenMP specification, written out by hand; false
// sharing: W. J. Bolosky and M. L. Scott, "False sharing and its effect on shared memory performance" (1993).
#include "kmeans/lloyd/textbook.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> openmp_reduce(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  // The private copies, one after another. Each copy consists of k x d sums, k weights and k counts.
  Buffer<double> sums(threads * problem.k() * problem.d());
  core::fill_until_stopped(problem.stop, sums.begin(), sums.end(), 0.0);
  Buffer<double> weights(threads * problem.k(), 0.0);
  Buffer<std::int64_t> counts(threads * problem.k(), 0);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(threads));

  const auto assign_and_sum = [&](const Problem<T>& job, MatrixView<const T> centroids, std::int32_t* labels,
                                  FloatSums<T>& total) {
    const std::int64_t k = job.k();
    const std::int64_t d = job.d();
    const std::int64_t block = points_between_polls(job);
#pragma omp parallel num_threads(threads)
    {
      // The loop runs over copies and not over thread numbers. So every copy is filled, even if the system provides
      // fewer threads than requested.
#pragma omp for schedule(static)
      for (int copy = 0; copy < threads; ++copy) {
        double* const own_sums = sums.data() + copy * k * d;
        double* const own_weights = weights.data() + copy * k;
        std::int64_t* const own_counts = counts.data() + copy * k;
        std::fill_n(own_sums, k * d, 0.0);
        std::fill_n(own_weights, k, 0.0);
        std::fill_n(own_counts, k, std::int64_t{0});
        Outcome outcome{0, 0.0};  // on the thread's stack, because threads should share no cache line during the loop
        const cpu::Range range = cpu::share(job.n(), copy, threads);
        for (std::int64_t first = range.begin; first < range.end && !job.stop.stop_requested(); first += block)
          for (std::int64_t point = first; point < std::min(first + block, range.end); ++point) {
            const T* const row = job.points.row(point);
            const Nearest<T> nearest = nearest_centroid(row, centroids);
            const double weight = job.weight(point);
            outcome.changed += labels[point] != nearest.cluster;
            outcome.inertia += weight * static_cast<double>(nearest.distance);
            labels[point] = nearest.cluster;

            double* const sum = own_sums + nearest.cluster * d;
            for (std::int64_t dim = 0; dim < d; ++dim) sum[dim] += weight * static_cast<double>(row[dim]);
            own_weights[nearest.cluster] += weight;
            ++own_counts[nearest.cluster];
          }
        outcomes[static_cast<std::size_t>(copy)] = outcome;
      }  // implied barrier: every copy is complete

      // The reduction is divided by clusters: each thread adds up all copies of its clusters in ascending order. The
      // result depends on the number of threads but not on their timing.
#pragma omp for schedule(static)
      for (std::int64_t cluster = 0; cluster < k; ++cluster) {
        if (job.stop.stop_requested()) continue;
        for (int copy = 0; copy < threads; ++copy) {
          const double* const sum = sums.data() + (copy * k + cluster) * d;
          for (std::int64_t dim = 0; dim < d; ++dim) total.sums[cluster * d + dim] += sum[dim];
          total.weights[cluster] += weights[copy * k + cluster];
          total.counts[cluster] += counts[copy * k + cluster];
        }
      }
    }
    Outcome all{0, 0.0};
    for (const Outcome& outcome : outcomes) {
      all.changed += outcome.changed;
      all.inertia += outcome.inertia;
    }
    return all;
  };
  TextbookEngine engine(problem, assign_and_sum);
  return lloyd(problem, execution, engine, phases);
}

extern constinit const Variant openmp_reduce_rung{
    .name = "openmp_reduce",
    .summary = "points among threads, private copies of the sums, one reduction at the end",
    .change = "nothing is shared while the points are read; the copies are added up once per iteration",
    .contract = textbook,
    .backend = core::Backend::openmp,
    .memory = float_sums_per_thread,
    .run = {openmp_reduce<float>, openmp_reduce<double>},
};

}  // namespace gradus::kmeans_detail
