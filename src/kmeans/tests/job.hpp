// A fit's options and memory in one object, for tests that vary both.
#pragma once

#include "gradus/kmeans.hpp"

namespace gradus {

/// Lets a fit be made where points coincide, so that a test need not count the different ones.
inline void accept_coinciding_points(KMeansOptions& options) { options.fewer_distinct = KMeansFewerDistinct::accept; }

template <class T>
struct KMeansJob : KMeansOptions, KMeansMemory<T> {};

template <RowsOf<float, double> Points>
KMeansResult<ElementOf<Points>> kmeans(const Points& points, const KMeansJob<ElementOf<Points>>& job,
                                       const Execution& execution = {}) {
  return kmeans(points, job, job, execution);
}

}  // namespace gradus
