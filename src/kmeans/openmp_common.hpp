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

/// Pieces into which openmp_reduce_first_touch cuts the share of each thread: enough to even out cores of different
/// speed, of at least some thousand points, and not so many that their sums fill the caches.
inline int first_touch_pieces(const Shape& shape, int threads) {
  constexpr std::int64_t most_pieces = 16;
  constexpr std::int64_t least_points = 4096;
  constexpr std::int64_t most_bytes = std::int64_t{4} << 20;
  const auto bytes = static_cast<std::int64_t>(FloatSums<double>::bytes(shape));
  return static_cast<int>(
      std::clamp<std::int64_t>(std::min(shape.points / threads / least_points, most_bytes / bytes), 1, most_pieces));
}

/// Assigns the points to the nearest centroids, adds each part of the points to its own copy, then adds up the copies,
/// clusters shared among threads. Each thread has as many parts; one that is done with its own helps with those that
/// others have not begun. The copies are added in ascending order, so that the result depends on their number but not
/// on the threads' timing. `total` is all zeros at first.
template <class T>
Outcome assign_and_reduce(const Problem<T>& problem, MatrixView<const T> centroids, std::int32_t* labels,
                          std::span<const PrivateSums> copies, int threads, FloatSums<T>& total) {
  const std::int64_t k = problem.k();
  const std::int64_t d = problem.d();
  const int parts = static_cast<int>(copies.size());
  std::vector<Outcome> outcomes(copies.size());
  cpu::SharedWork work(parts, threads, 1);
  const std::int64_t stretch = points_between_looks(problem);
  const auto add_part = [&](int part) {
    const PrivateSums own = copies[static_cast<std::size_t>(part)];
    std::fill_n(own.sums, k * d, 0.0);
    std::fill_n(own.weights, k, 0.0);
    std::fill_n(own.counts, k, std::int64_t{0});
    Outcome outcome{0, 0.0};  // on the thread's stack: no cache line is shared until the end
    const cpu::Range range = cpu::share(problem.n(), part, parts);
    for (std::int64_t first = range.begin; first < range.end && !problem.stop.stop_requested(); first += stretch)
      for (std::int64_t point = first; point < std::min(first + stretch, range.end); ++point) {
        const Nearest<T> nearest = nearest_centroid(problem.points.row(point), centroids);
        outcome.changed += labels[point] != nearest.cluster;
        outcome.inertia += problem.weight(point) * static_cast<double>(nearest.distance);
        labels[point] = nearest.cluster;
        add_point(problem, point, nearest.cluster, own.sums, own.weights, own.counts);
      }
    outcomes[static_cast<std::size_t>(part)] = outcome;
  };
#pragma omp parallel num_threads(threads)
  {
    // A loop over threads, and not the thread's number, so that a team smaller than asked for still does all parts.
#pragma omp for schedule(static)
    for (int thread = 0; thread < threads; ++thread) {
      for (cpu::Range next = work.next(thread); next.size() > 0; next = work.next(thread))
        add_part(static_cast<int>(next.begin));
    }  // and its implied barrier: every copy is complete
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

}  // namespace gradus::kmeans_detail
