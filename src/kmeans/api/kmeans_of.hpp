// Public calls on points of either kind.
#pragma once

#include "gradus/kmeans.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

/// Returns call(view) for the view of points in the type of the job, or for the view of stored points.
template <class T, class Call>
auto with_view(const PointRows<T>& points, const Call& call) {
  if constexpr (sizeof(T) == sizeof(float))
    if (points.is_stored()) return call(points.stored());
  return call(points.shape());
}

template <class T>
KMeansResult<T> kmeans_of(const PointRows<T>& points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                          const Execution& execution) {
  return with_view(points, [&](const auto& view) { return kmeans(view, options, memory, execution); });
}

}  // namespace gradus::kmeans_detail
