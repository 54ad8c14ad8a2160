// Sums of the clusters' points in double, as textbooks compute them. Each addition rounds, so the result depends on the
// order of additions. The teaching variants use these sums. The production variants use exact_sums.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "core/checked.hpp"
#include "core/stop.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T>
void add_point(const Problem<T>& problem, std::int64_t point, std::int64_t cluster, double* sums, double* weights,
               std::int64_t* counts) {
  const std::int64_t d = problem.d();
  const T* row = problem.points.row(point);
  const double weight = problem.weight(point);
  double* sum = sums + cluster * d;
  for (std::int64_t dim = 0; dim < d; ++dim) sum[dim] += weight * static_cast<double>(row[dim]);
  weights[cluster] += weight;
  ++counts[cluster];
}

/// The arrays are public, because each variant writes them in a different way.
template <class T>
struct FloatSums {
  const Problem<T>* problem;
  Buffer<double> sums;          ///< k x d
  Buffer<double> weights;       ///< k elements
  Buffer<std::int64_t> counts;  ///< k elements

  explicit FloatSums(const Problem<T>& the_problem)
      : problem(&the_problem), sums(problem->k() * problem->d()), weights(problem->k()), counts(problem->k()) {
    clear();
  }

  void clear() {
    core::fill_until_stopped(problem->stop, sums.begin(), sums.end(), 0.0);
    std::fill(weights.begin(), weights.end(), 0.0);
    std::fill(counts.begin(), counts.end(), std::int64_t{0});
  }

  void add(std::int64_t point, std::int64_t cluster) {
    add_point(*problem, point, cluster, sums.data(), weights.data(), counts.data());
  }

  void merge(const FloatSums& other) {
    for (std::int64_t index = 0; index < sums.size(); ++index) sums[index] += other.sums[index];
    for (std::int64_t cluster = 0; cluster < counts.size(); ++cluster) {
      weights[cluster] += other.weights[cluster];
      counts[cluster] += other.counts[cluster];
    }
  }

  std::int64_t count(std::int64_t cluster) const { return counts[cluster]; }
  double weight(std::int64_t cluster) const { return counts[cluster] > 0 ? weights[cluster] : 0.0; }

  template <class Real>
  void mean(std::int64_t cluster, Real* out, std::span<const RemovedPoint<T>> without) const {
    const std::int64_t d = problem->d();
    for (std::int64_t dim = 0; dim < d; ++dim) {
      double sum = sums[cluster * d + dim];
      double weight = weights[cluster];
      for (const RemovedPoint<T>& point : without) {
        sum -= point.weight * static_cast<double>(point.row[dim]);
        weight -= point.weight;
      }
      out[dim] = static_cast<Real>(sum / weight);
    }
  }

  void mean_from_middle(std::int64_t cluster, double* out) const {
    mean(cluster, out, {});
    for (std::int64_t dim = 0; dim < problem->d(); ++dim)
      out[dim] -= problem->statistics.middle[static_cast<std::size_t>(dim)];
  }

  static std::uint64_t bytes(const Shape& shape) {
    return static_cast<std::uint64_t>(shape.clusters) * (8 * static_cast<std::uint64_t>(shape.dimensions) + 16);
  }
};

// The memory estimates of variants with these sums.

inline core::Memory one_float_sum(const Shape& shape, int) { return {.host = FloatSums<double>::bytes(shape)}; }

inline core::Memory float_sums_per_thread(const Shape& shape, int threads) {
  return {.host =
              core::checked_multiply(FloatSums<double>::bytes(shape), static_cast<std::uint64_t>(threads) + 1, "sums")};
}

}  // namespace gradus::kmeans_detail
