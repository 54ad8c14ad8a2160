// k-means as include/gradus/kmeans.hpp defines it, one line after the other, in exact arithmetic where the definition
// says "exact". It shares no code with the library.
#pragma once

#include <cstdint>
#include <vector>

#include "kmeans/tests/job.hpp"

namespace gradus::attack {

struct KMeansStep {
  std::int64_t changed = 0;
  double shift = 0;
  double inertia = 0;
  double inertia_bound = 0;  ///< how far the history's inertia may be off; infinite or NaN: unknown
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

/// A whole fit. Only options.init `given` and `first` are known. Throws what kmeans() must throw.
template <class T>
KMeansAnswer<T> kmeans_reference(MatrixView<const T> points, const KMeansJob<T>& options);

/// Labels, counts and inertia of an assignment to `centroids`, as kmeans_predict() has it; with `weights` that of a
/// fit.
template <class T>
KMeansAnswer<T> predict_reference(MatrixView<const T> centroids, MatrixView<const T> points,
                                  VectorView<const T> weights, KMeansMetric metric);

/// n x k distances.
template <class T>
std::vector<T> transform_reference(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric);

}  // namespace gradus::attack
