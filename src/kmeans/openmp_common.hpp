// What the OpenMP rungs with private sums share: all but where each thread's copy of the sums lies.
#pragma once

#include <span>
#include <vector>

#include "kmeans/textbook.hpp"

namespace gradus::kmeans_detail {

/// One thread's copy of the sums, in memory that the rung lays out.
struct PrivateSums {
  double* sums;          ///< k x d
  double* weights;       ///< k
  std::int64_t* counts;  ///< k
};

/// Assigns the points to the nearest centroids, each thread adding its share of the points to its own copy, then adds
/// up the copies, clusters shared among threads. The copies are added in ascending order, so that the result depends
/// on their number but not on the threads' timing. `total` is all zeros at first.
template <class T>
Outcome assign_and_reduce(const Problem<T>& problem, MatrixView<const T> centroids, std::int32_t* labels,
                          std::span<const PrivateSums> copies, FloatSums<T>& total) {
  const std::int64_t k = problem.k();
  const std::int64_t d = problem.d();
  const int parts = static_cast<int>(copies.size());
  std::vector<Outcome> outcomes(copies.size());
#pragma omp parallel num_threads(parts)
  {
    // A loop over parts, and not the thread's number, so that a team smaller than asked for still does all of them.
#pragma omp for schedule(static)
    for (int part = 0; part < parts; ++part) {
      const PrivateSums own = copies[static_cast<std::size_t>(part)];
      std::fill_n(own.sums, k * d, 0.0);
      std::fill_n(own.weights, k, 0.0);
      std::fill_n(own.counts, k, std::int64_t{0});
      Outcome outcome{0, 0.0};  // on the thread's stack: no cache line is shared until the end
      const cpu::Range range = cpu::share(problem.n(), part, parts);
      for (std::int64_t point = range.begin; point < range.end; ++point) {
        const Nearest<T> nearest = nearest_centroid(problem.points.row(point), centroids);
        outcome.changed += labels[point] != nearest.cluster;
        outcome.inertia += problem.weight(point) * static_cast<double>(nearest.distance);
        labels[point] = nearest.cluster;
        add_point(problem, point, nearest.cluster, own.sums, own.weights, own.counts);
      }
      outcomes[static_cast<std::size_t>(part)] = outcome;
    }  // and its implied barrier: every copy is complete
#pragma omp for schedule(static)
    for (std::int64_t cluster = 0; cluster < k; ++cluster)
      for (const PrivateSums& copy : copies) {
        for (std::int64_t dim = 0; dim < d; ++dim) total.sums[cluster * d + dim] += copy.sums[cluster * d + dim];
        total.weights[cluster] += copy.weights[cluster];
        total.counts[cluster] += copy.counts[cluster];
      }
  }
  Outcome all{0, 0.0};
  for (const Outcome& outcome : outcomes) {
    all.changed += outcome.changed;
    all.inertia += outcome.inertia;
  }
  return all;
}

}  // namespace gradus::kmeans_detail
