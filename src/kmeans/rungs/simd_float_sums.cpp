// simd_float_sums: the vectorised search of simd_small_dim with the textbook's sums.
//
// What changes from the rungs before: the search. A float filter across points (simd_small_dim.cpp) decides nearly all
// labels, about ten times as fast as the loop over centroids and coordinates. The sums stay as in `openmp_reduce`: in
// every iteration each thread adds each of its points to a private copy in double. These sums cannot be updated
// incrementally, because subtracting a moved point does not undo the rounding of earlier additions.
//
// The rung shows what exact sums cost or save: `simd_small_dim` is this variant with integer sums. The labels of an
// iteration are canonical for its centroids. The centroids, and through them later labels, depend on the number of
// threads.
//
// Work per iteration: the search of simd_small_dim, n (d + 2) additions, and `threads` * k (d + 2) additions at the
// end.
// Memory: 8 k (d + 2) bytes per thread, and the memory of the search.
// Limits: d <= 16.
#include <memory>

#include "core/failure.hpp"
#include "kmeans/assign/small_dim_assigner.hpp"
#include "kmeans/means/float_sums.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

namespace {

template <class T>
class FloatSumsEngine {
 public:
  FloatSumsEngine(const Problem<T>& problem, int threads)
      : problem_(problem), threads_(threads), assigner_(problem), sums_(problem),
        workers_(static_cast<std::size_t>(threads)) {}

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) {
    assigner_.prepare(centroids);
    std::int64_t changed = 0;
    std::int64_t rechecked = 0;
    core::FirstFailure failure;
#pragma omp parallel for num_threads(threads_) schedule(static, 1) reduction(+ : changed, rechecked)
    for (int part = 0; part < threads_; ++part) {
      std::unique_ptr<Worker>& worker = workers_[static_cast<std::size_t>(part)];
      failure.run([&] {
        if (!worker) worker = std::make_unique<Worker>(problem_, assigner_);  // allocated by the thread that uses it
        worker->sums.clear();
        const cpu::Range range = cpu::share(problem_.n(), part, threads_, block_points);
        for (std::int64_t first = range.begin; first < range.end; first += block_points) {
          if (problem_.stop.stop_requested()) break;
          BlockRows<T>& rows = worker->rows;
          rows.begin({first, std::min(first + block_points, range.end)});
          const cpu::Range block = rows.range();
          rechecked += assigner_.assign(rows, labels + first, worker->labels, worker->scratch);
          if (problem_.stop.stop_requested()) break;  // invalid labels, because a stop may have ended the search
          changed += find_changed(worker->labels, labels + first, block.size(), worker->changed);
          for (std::int64_t point = block.begin; point < block.end; ++point)
            worker->sums.add(point, worker->labels[point - block.begin]);
          std::copy_n(worker->labels, block.size(), labels + first);
        }
      });
    }
    failure.rethrow();
    sums_.clear();
    for (const std::unique_ptr<Worker>& worker : workers_) sums_.merge(worker->sums);
    assignments_ += problem_.n();
    rechecked_ += rechecked;
    return {changed};
  }

  const FloatSums<T>& sums() const { return sums_; }

  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool labels_are_current) {
    if (!labels_are_current) pass(centroids, labels);
    return total_inertia(problem_, centroids, labels, threads_);
  }

  double rechecked() const {
    return assignments_ > 0 ? static_cast<double>(rechecked_) / static_cast<double>(assignments_) : 0.0;
  }

 private:
  struct Worker {
    Worker(const Problem<T>& problem, const SmallDimAssigner<T>& assigner)
        : sums(problem), scratch(assigner), rows(problem.points, block_points) {}
    FloatSums<T> sums;
    typename SmallDimAssigner<T>::Scratch scratch;
    BlockRows<T> rows;
    std::int32_t labels[block_points];
    std::int32_t changed[block_points];
  };

  const Problem<T>& problem_;
  int threads_;
  SmallDimAssigner<T> assigner_;
  FloatSums<T> sums_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::int64_t assignments_ = 0;
  std::int64_t rechecked_ = 0;
};

}  // namespace

template <class T>
KMeansResult<T> simd_float_sums(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  FloatSumsEngine<T> engine(problem, cpu::thread_count(execution));
  return lloyd(problem, execution, engine, phases);
}

namespace {

core::Memory float_sums_small_dim(const Shape& shape, int threads) {
  return {.host = float_sums_per_thread(shape, threads).host + assigner_bytes<SmallDimAssigner>(shape, threads)};
}

}  // namespace

extern constinit const Variant simd_float_sums_rung{
    .name = "simd_float_sums",
    .summary = "the search of simd_small_dim, private copies of float sums as in openmp_reduce",
    .change =
        "the search: a float filter across points; sums are still rounded at every addition and recomputed each "
        "time",
    .contract = textbook,
    .backend = core::Backend::simd,
    .supports = small_dim,
    .memory = float_sums_small_dim,
    .run = {simd_float_sums<float>, simd_float_sums<double>},
};

}  // namespace gradus::kmeans_detail
