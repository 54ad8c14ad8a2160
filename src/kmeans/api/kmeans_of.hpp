// kmeans() of points of either kind, for calls that make several fits.
#pragma once

#include "gradus/kmeans.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

/// Makes the public call on points in the type of the job, or on stored points.
template <class T>
KMeansResult<T> kmeans_of(const PointRows<T>& points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                          const Execution& execution) {
  if constexpr (sizeof(T) == sizeof(float))
    if (points.is_stored()) return kmeans(points.stored(), options, memory, execution);
  return detail::kmeans<T>(points.shape(), options, memory, execution);
}

}  // namespace gradus::kmeans_detail
