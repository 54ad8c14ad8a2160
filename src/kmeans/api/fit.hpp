// The functions that perform a fit. Several public calls use them.
#pragma once

#include "kmeans/api/plan.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus::kmeans_detail {

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
