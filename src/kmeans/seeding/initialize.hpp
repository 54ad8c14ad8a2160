// The first centroids.
#pragma once

#include <vector>

#include "kmeans/checkpoint/seeding_state.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Whether the choice among points in host memory takes the memory for a copy in 8 bits (byte_rows.hpp), or for all
/// distances (dense_cover.hpp; `dense`: wherever it can). Its result does not depend on it.
enum class SeedingFilter { where_it_pays, never, always, dense };

template <class T>
struct FirstCentroids {
  Matrix<T> centroids;             ///< k x d
  std::vector<std::int64_t> rows;  ///< of the points; empty for KMeansInit::given
};

/// Returns true if a fit is made where there are fewer different points than clusters.
bool accepts_fewer_different(const KMeansOptions& options);

/// k x d centroids by `options.init` for restart number `restart`; a function of data, options and seed alone.
/// `points` are finite and hold at least k different rows of positive weight, or the options accept fewer.
/// `gpu`: their object where they lie on a GPU, which then does the work; weights and given centroids are in host
/// memory all the same. `copy`: where a copy of points in host memory in bytes is wanted, which costs little while the
/// points are read anyway; stays null where the choice reads none. `ranks`: where points and weights are those of this
/// rank's rows; the row numbers are those of all.
template <class T>
FirstCentroids<T> initialize(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                             const Execution& execution, int restart, const GpuPoints<T>* gpu = nullptr,
                             SeedingFilter filter = SeedingFilter::where_it_pays,
                             std::shared_ptr<ByteRows<T>>* copy = nullptr, core::Ranks* ranks = nullptr,
                             const SeedingSoFar& so_far = {});

/// What the choice takes in host memory, with points there; `copy`: of it the copy that is wanted beside.
std::uint64_t seeding_bytes(const Shape& shape, KMeansInit init, SeedingFilter filter, std::uint64_t copy = 0);

/// Distances of each point that the choice of `clusters` first centroids takes: all pairs, or the share of them that
/// the filter costs where it is used.
double first_distances(KMeansInit init, std::int64_t clusters, std::int64_t columns);

}  // namespace gradus::kmeans_detail
