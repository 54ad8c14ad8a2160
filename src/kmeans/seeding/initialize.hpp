// Choice of the first centroids.
#pragma once

#include <vector>

#include "gradus/execution.hpp"
#include "kmeans/checkpoint/seeding_state.hpp"
#include "kmeans/points/point_source.hpp"
#include "kmeans/seeding/plan.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct FirstCentroids {
  Matrix<T> centroids;             ///< k x d
  std::vector<std::int64_t> rows;  ///< row numbers in the points; empty for KMeansInit::given
};

/// Returns true if the options allow a fit with fewer distinct points than clusters.
bool accepts_fewer_different(const KMeansOptions& options);
/// Returns the remedy, as the continuation of a sentence.
ErrorMessage how_to_accept_fewer();

/// Returns k x d centroids by `options.init` for restart number `restart`: a function of data, options and seed alone.
/// `points` must be finite and have, over all ranks, at least k distinct rows of positive weight, unless the options
/// accept fewer. `given`: centroids in host memory, or none.
template <class T>
FirstCentroids<T> initialize(const PointSource<T>& points, const KMeansOptions& options, MatrixView<const T> given,
                             const Execution& execution, int restart,
                             const SeedingMemory<T>& memory = {SeedingFilter::where_it_pays},
                             const SeedingSoFar& so_far = {});

}  // namespace gradus::kmeans_detail
