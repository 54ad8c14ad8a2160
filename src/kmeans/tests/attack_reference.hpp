// k-means as include/gradus/kmeans.hpp defines it, in plain sequential code. Arithmetic is exact where the definition
// says "exact". The code uses no code of the library.
#pragma once

#include <cstdint>
#include <vector>

#include "kmeans/tests/job.hpp"

namespace gradus::attack {

struct KMeansStep {
  std::int64_t changed = 0;
  double shift = 0;
  double inertia = 0;
  double inertia_bound = 0;  ///< error bound of the history's inertia; infinite or NaN if unknown
};

template <class T>
struct KMeansAnswer {
  std::vector<T> centroids;  ///< k x d
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> counts;
  double inertia = 0;
  bool converged = false;
  KMeansStopReason stop_reason = KMeansStopReason::iteration_limit;
  std::vector<KMeansStep> history;
};

/// Computes a whole fit. Supports only `given` and `first` as options.init. Throws the same errors as kmeans().
template <class T>
KMeansAnswer<T> kmeans_reference(MatrixView<const T> points, const KMeansJob<T>& options);

/// Computes labels, counts and inertia for given centroids. Without `weights`, returns the same result as
/// kmeans_predict().
template <class T>
KMeansAnswer<T> predict_reference(MatrixView<const T> centroids, MatrixView<const T> points,
                                  VectorView<const T> weights, KMeansMetric metric);

/// Returns the n x k distances between points and centroids.
template <class T>
std::vector<T> transform_reference(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric);

}  // namespace gradus::attack
