// The first centroids.
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
  std::vector<std::int64_t> rows;  ///< of the points; empty for KMeansInit::given
};

/// Returns true if a fit is made where there are fewer different points than clusters.
bool accepts_fewer_different(const KMeansOptions& options);
/// Returns the remedy, which continues a sentence.
ErrorMessage how_to_accept_fewer();

/// k x d centroids by `options.init` for restart number `restart`; a function of data, options and seed alone.
/// `points` are finite and all ranks' hold at least k different rows of positive weight, or the options accept fewer.
/// `given`: centroids in host memory, or none.
template <class T>
FirstCentroids<T> initialize(const PointSource<T>& points, const KMeansOptions& options, MatrixView<const T> given,
                             const Execution& execution, int restart,
                             const SeedingMemory<T>& memory = {SeedingFilter::where_it_pays},
                             const SeedingSoFar& so_far = {});

}  // namespace gradus::kmeans_detail
