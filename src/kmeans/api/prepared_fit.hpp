// Prepares a fit, or the choice of its initial centroids. Runs after the planning and before the job.
#pragma once

#include <memory>
#include <vector>

#include "kmeans/api/estimate.hpp"
#include "kmeans/api/prepared_points.hpp"
#include "kmeans/hierarchy/hierarchy.hpp"
#include "kmeans/points/host_copy.hpp"
#include "kmeans/seeding/initialize.hpp"

namespace gradus::kmeans_detail {

template <class T>
class PreparedFit {
 public:
  /// `fit` fits the parts of KMeansInit::hierarchical.
  PreparedFit(const FitCall<T>& call, const JobPlan<T>& plan, std::vector<Phase>& phases,
              KMeansResult<T> (*fit)(const FitCall<T>&))
      : call_(call), plan_(plan), phases_(phases), fit_(fit),
        points_(plan, call.points, given_centroids(), call.options.metric,
                needs_of(*plan.variant, plan.shape, call.options.init, !call.ranks.is_alone(),
                         device_memory(plan.shape, plan.here, *plan.variant)),
                phases) {
    const core::PhaseTimer timer(phases, "examine");
    different_points_ = points_.different_points(call.options);
    points_.require_distances(call.options.clusters);
  }

  PreparedPoints<T>& points() { return points_; }
  std::int64_t different_points() const { return different_points_; }

  /// Chooses the initial centroids of one restart. Passes `copy` and `so_far` to initialize().
  FirstCentroids<T> first_centroids(int restart, std::shared_ptr<ByteRows<T>>* copy = nullptr,
                                    const SeedingSoFar& so_far = {}) {
    const core::PhaseTimer timer(phases_, "initialize");
    if (call_.options.init == KMeansInit::hierarchical) return {hierarchical(restart), {}};
    return initialize(points_.source(), call_.options, points_.centroids(), plan_.here, restart,
                      SeedingMemory<T>{plan_.filter, copy}, so_far);
  }

 private:
  MatrixView<const T> given_centroids() {
    if (call_.options.init != KMeansInit::given) return {};
    return in_host_memory(call_.memory.initial_centroids, "initial centroids", plan_.here, copied_centroids_);
  }

  Matrix<T> hierarchical(int restart) {
    Execution quiet = plan_.here;
    quiet.progress = nullptr;
    quiet.variant.clear();
    quiet.variant_options.clear();
    const auto fit_rows = [&](const PointRows<T>& rows, VectorView<const T> weights, const KMeansOptions& options,
                              std::uint64_t held) {
      const Execution here = without(held, quiet);
      const KMeansMemory<T> memory{.weights = weights};
      return fit_(FitCall<T>{rows, options, memory, here, call_.ranks});
    };
    const std::int64_t parts = part_count(call_.options.clusters);
    return hierarchical_centroids<T>(points_.source(), call_.options, restart, fit_rows, [&](std::int64_t done) {
      if (plan_.here.progress) plan_.here.progress({"initialize", done, parts, "hierarchical"});
    });
  }

  const FitCall<T>& call_;
  const JobPlan<T>& plan_;
  std::vector<Phase>& phases_;
  KMeansResult<T> (*fit_)(const FitCall<T>&);
  Matrix<T> copied_centroids_;
  PreparedPoints<T> points_;
  std::int64_t different_points_ = 0;
};

}  // namespace gradus::kmeans_detail
