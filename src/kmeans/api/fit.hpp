// The functions that perform a fit. Several public calls use them.
#pragma once

#include "kmeans/api/plan.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus::kmeans_detail {

/// Makes the public call on points in the type of the job, or on stored points.
template <class T>
KMeansResult<T> kmeans_of(const PointRows<T>& points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                          const Execution& execution) {
  if constexpr (sizeof(T) == sizeof(float))
    if (points.is_stored()) return kmeans(points.stored(), options, memory, execution);
  return detail::kmeans<T>(points.shape(), options, memory, execution);
}

/// Fits the points without standardization.
template <class T>
KMeansResult<T> fit(const FitCall<T>& call);

/// Fits a standardized copy of the points. The given centroids and the returned centroids are in the units of the data.
template <class T>
KMeansResult<T> fit_standardized(const FitCall<T>& call);
/// Fits a standardized copy that already exists. `here`: points.here(), possibly with a lower memory limit. May list
/// GPUs.
template <class T>
KMeansResult<T> fit_standardized(const StandardizedPoints<T>& points, const KMeansOptions& options,
                                 const KMeansMemory<T>& memory, const Execution& here);

}  // namespace gradus::kmeans_detail
