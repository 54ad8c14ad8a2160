// Chooses the first centroids.
#pragma once

#include <vector>

#include "gradus/execution.hpp"
#include "kmeans/checkpoint/seeding_state.hpp"
#include "kmeans/points/point_source.hpp"
#include "kmeans/seeding/plan.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct FirstCentroids {
  Matrix<T> centroids;  ///< k x d
  std::vector<std::int64_t>
      rows;  ///< numbers of these rows among the points; empty for KMeansInit::given and KMeansInit::hierarchical
};

/// Returns true if the options allow a fit of points that have fewer different rows than clusters.
bool accepts_fewer_different(const KMeansOptions& options);
/// Lets a fit accept such points.
void accept_fewer_different(KMeansOptions& options);
/// Returns the end of the error message about too few different rows, which states the remedy.
ErrorMessage how_to_accept_fewer();

/// Returns k x d initial centroids, chosen by the method `options.init` for fit number `restart`. They depend only on
/// the data, the options and the seed. `points` must be finite. The points of all ranks together must have at least k
/// different rows of positive weight, unless the options accept fewer different rows. `given` contains the given
/// centroids in host memory, or no rows. KMeansInit::hierarchical is not one of these methods (hierarchy.hpp).
template <class T>
FirstCentroids<T> initialize(const PointSource<T>& points, const KMeansOptions& options, MatrixView<const T> given,
                             const Execution& execution, int restart,
                             const SeedingMemory<T>& memory = {SeedingFilter::where_it_pays},
                             const SeedingSoFar& so_far = {});

}  // namespace gradus::kmeans_detail
