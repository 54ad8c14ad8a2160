// openmp_reduce: every thread adds to a private copy of the sums; one reduction at the end adds up the copies.
//
// What changes from `openmp_critical`: nothing is shared while the points are read, so nothing is locked. The n (d + 2)
// synchronised additions become plain ones, and what is left to synchronise is one barrier and threads k (d + 2)
// additions for the reduction, which the threads share by clusters. This is privatisation, and it is what makes k-means
// scale. The loop itself is in openmp_common.hpp.
//
// Work of an iteration: n k d subtractions, multiplications and additions, n (d + 2) additions, threads k (d + 2)
// additions at the end; n d element reads from memory. Memory: 8 k (d + 2) bytes for each thread and the total.
// Limits: the copies lie one after the other in one array that the calling thread allocated and cleared. Where a copy
// is small, the end of one and the start of the next lie in the same cache line, which then travels between the cores
// although no thread needs the other's numbers (false sharing): with k = 4 and d = 1 at every point. On a machine with
// several memory nodes all copies lie at the calling thread's. The next rung mends both.
// Source: the `reduction` of the OpenMP specification, written out by hand; false sharing: W. J. Bolosky and
// M. L. Scott, "False sharing and its effect on shared memory performance" (1993).
#include "kmeans/openmp_common.hpp"
#include "kmeans/variants.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> openmp_reduce(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const std::int64_t k = problem.k();
  const std::int64_t d = problem.d();
  const int threads = cpu::thread_count(execution);
  Buffer<double> sums(threads * k * d);
  core::fill_until_stopped(problem.stop, sums.begin(), sums.end(), 0.0);
  Buffer<double> weights(threads * k, 0.0);
  Buffer<std::int64_t> counts(threads * k, 0);
  std::vector<PrivateSums> copies;
  for (int thread = 0; thread < threads; ++thread)
    copies.push_back({sums.data() + thread * k * d, weights.data() + thread * k, counts.data() + thread * k});

  const auto assign_and_sum = [&copies](const Problem<T>& job, MatrixView<const T> centroids, std::int32_t* labels,
                                        FloatSums<T>& total) {
    return assign_and_reduce<T>(job, centroids, labels, copies, static_cast<int>(copies.size()), total);
  };
  TextbookEngine engine(problem, assign_and_sum);
  return lloyd(problem, execution, engine, phases);
}

template KMeansResult<float> openmp_reduce(const Problem<float>&, const Execution&, std::vector<Phase>&);
template KMeansResult<double> openmp_reduce(const Problem<double>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::kmeans_detail
