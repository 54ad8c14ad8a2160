#include "kmeans/api/prepared_points.hpp"

#include <string>

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/gpu_source.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/points/unit_rows.hpp"
#include "kmeans/seeding/initialize.hpp"

namespace gradus::kmeans_detail {

template <class T>
PreparedPoints<T>::PreparedPoints(const JobPlan<T>& plan, const PointRows<T>& given, MatrixView<const T> centroids,
                                  KMeansMetric metric, GpuNeeds needs, std::vector<Phase>& phases)
    : centroids_(centroids) {
  source_ = plan.rows.ranks().agree([&] {
    const int threads = cpu::thread_count(plan.here);
    PointRows<T> points = given;
    if (given.is_stored() && widens_points(plan.variant, plan.stays_on_gpu)) {
      const core::PhaseTimer timer(phases, "widen");
      widened_ = widened(given, threads, plan.here.stop);
      points = std::as_const(widened_).view();
    }
    if (!plan.stays_on_gpu) return points_in_host_memory(points, plan.weights, threads, plan.here.stop, plan.rows);
    const core::PhaseTimer timer(phases, "to_device");
    if (metric == KMeansMetric::cosine)
      needs.bytes += static_cast<std::uint64_t>(points.rows() * points.columns()) * sizeof(T);
    return points_on_gpu(points, plan.weights, plan.here, needs, plan.rows);
  });
  const core::PhaseTimer timer(phases, "examine");
  statistics_ = examine(*source_, centroids_);
  if (metric != KMeansMetric::cosine) return;
  source_->to_unit_rows();
  if (centroids_.rows() > 0) scale_centroids(plan);
  statistics_ = examine(*source_, centroids_);
  allow_unit_centroids(statistics_, plan.rows.all());
}

template <class T>
void PreparedPoints<T>::scale_centroids(const JobPlan<T>& plan) {
  unit_centroids_ = unit_centroids(centroids_, "initial centroids", plan.here.stop);
  centroids_ = std::as_const(unit_centroids_).view();
}

template <class T>
std::int64_t PreparedPoints<T>::different_points(const KMeansOptions& options) const {
  const std::int64_t count = count_different(*source_, options.clusters);
  if (count == options.clusters || accepts_fewer_different(options)) return count;
  throw_too_few(options.clusters, count, "different point",
                source_->host_weights().empty() ? "" : " of positive weight", how_to_accept_fewer());
}

template <class T>
void PreparedPoints<T>::require_distances(std::int64_t clusters) const {
  if (clusters > 1) kmeans_detail::require_distances(statistics_);
}

template <class T>
Problem<T> PreparedPoints<T>::problem() {
  Problem<T> problem;
  problem.points = source_->rows();
  problem.stored = source_->stored();
  problem.weights = source_->host_weights();
  problem.initial_centroids = centroids_;
  problem.statistics = statistics_;
  problem.source = source_.get();
  problem.stop = source_->stop();
  if (!source_->ranks().is_alone()) problem.rank_inertia = &rank_inertia_;
  return problem;
}

template class PreparedPoints<float>;
template class PreparedPoints<double>;

}  // namespace gradus::kmeans_detail
