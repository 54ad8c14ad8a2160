// Code that several teaching variants use, because they search like `sequential`: the search for the nearest centroid,
// and an engine that calls the part in which the variants differ.
#pragma once

#include <cstdint>

#include "core/stop.hpp"
#include "kmeans/lloyd/lloyd.hpp"
#include "kmeans/means/float_sums.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct Nearest {
  std::int32_t cluster = 0;
  T distance = 0;  ///< squared distance
};

/// Searches like `sequential`: computes the complete distance to every centroid. On ties, returns the first of the
/// nearest centroids.
template <class T>
Nearest<T> nearest_centroid(const T* point, MatrixView<const T> centroids) {
  Nearest<T> best{0, std::numeric_limits<T>::infinity()};
  const std::int64_t d = centroids.columns();
  for (std::int64_t cluster = 0; cluster < centroids.rows(); ++cluster) {
    const T* centroid = centroids.row(cluster);
    T sum = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const T difference = point[dim] - centroid[dim];
      sum += difference * difference;
    }
    if (sum < best.distance) best = {static_cast<std::int32_t>(cluster), sum};
  }
  return best;
}

/// Returns how many points `threads` threads process, all together, between two polls of the stop request.
template <class T>
std::int64_t points_between_polls(const Problem<T>& problem, int threads = 1) {
  return core::chunk_length(problem.n(), problem.k() * problem.d(), threads);
}

/// Makes an engine for Lloyd's driver from a function `assign_and_sum(problem, centroids, labels, sums) -> Outcome`.
/// This function computes all labels and all FloatSums in one call. After a stop request, it returns early.
template <class T, class AssignAndSum>
class TextbookEngine {
 public:
  TextbookEngine(const Problem<T>& problem, AssignAndSum assign_and_sum)
      : problem_(problem), sums_(problem), assign_and_sum_(assign_and_sum) {}

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) {
    sums_.clear();
    return assign_and_sum_(problem_, centroids, labels, sums_);
  }
  const FloatSums<T>& sums() const { return sums_; }
  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool /*labels_are_current*/) {
    return pass(centroids, labels).inertia;
  }
  static double rechecked() { return 0; }

 private:
  const Problem<T>& problem_;
  FloatSums<T> sums_;
  AssignAndSum assign_and_sum_;
};

}  // namespace gradus::kmeans_detail
