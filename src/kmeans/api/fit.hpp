// A fit, for the calls that make one or several.
#pragma once

#include "kmeans/api/plan.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus::kmeans_detail {

/// Fits the points as they are.
template <class T>
KMeansResult<T> fit(const FitCall<T>& call);

/// Fits a standardized copy of the points. Given centroids are in the units of the data, and so are the result's.
template <class T>
KMeansResult<T> fit_standardized(const FitCall<T>& call);
/// The same with a copy that was made before. `here`: points.here(), with no more memory.
template <class T>
KMeansResult<T> fit_standardized(const StandardizedPoints<T>& points, const KMeansOptions& options,
                                 const KMeansMemory<T>& memory, const Execution& here);

}  // namespace gradus::kmeans_detail
