// The options and the memory of a fit in one object, for tests that change both.
#pragma once

#include "gradus/kmeans.hpp"
#include "kmeans/cases.hpp"

namespace gradus {

using kmeans_detail::accept_coinciding_points;

template <class T>
struct KMeansJob : KMeansOptions, KMeansMemory<T> {};

template <RowsOf<float, double> Points>
KMeansResult<ElementOf<Points>> kmeans(const Points& points, const KMeansJob<ElementOf<Points>>& job,
                                       const Execution& execution = {}) {
  return kmeans(points, job, job, execution);
}

}  // namespace gradus
