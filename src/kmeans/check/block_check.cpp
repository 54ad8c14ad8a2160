#include "kmeans/check/block_check.hpp"

#include <utility>

#include "cpu/threads.hpp"
#include "kmeans/check/arguments.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/unit_rows.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus::kmeans_detail {

template <class T>
BlockCheck<T>::BlockCheck(const KMeansModel<T>& model, VectorView<const T> weights, std::int64_t rows,
                          const KMeansCheckOptions& options)
    : model_(model), weights_(weights), unit_centroids_(checked_centroids(model)), all_rows_(rows),
      prediction_({model.centroids, model.metric, {}}, weights, rows) {
  check_options(options);
  check_.emplace(compared_centroids(model_, unit_centroids_), model.metric, options, rows);
}

template <class T>
void BlockCheck<T>::add(MatrixView<const T> points, VectorView<const std::int32_t> labels, const Execution& execution) {
  require_in_host_memory(points.place(), "points");
  require_exact_variant(execution);
  check_given_labels(labels, points.rows(), model_.centroids.rows(), rows_);
  if (rows_ == 0) check_sums_memory(model_.centroids, check_->is_reference(), execution);
  const int threads = team_for(points.rows() * points.columns(), execution);
  Execution here = execution;
  std::optional<StandardizedPoints<T>> standardized;
  if (!model_.standardization.empty()) {
    check_model(model_.centroids, PointRows<T>(points), model_.metric, execution);
    standardized.emplace(points, model_.standardization, core::RankRows(points.rows(), rows_), execution);
    points = standardized->rows();
    here = standardized->here();
  }
  const Buffer<std::int32_t> nearest = prediction_.add(points, here);
  Matrix<T> unit;
  if (model_.metric == KMeansMetric::cosine) {
    unit = unit_rows<T>(points, "points", threads, execution.stop, rows_);
    points = std::as_const(unit).view();
  }
  VectorView<const T> weights;
  if (!weights_.empty()) weights = {weights_.data() + rows_, points.rows()};
  check_->add({points, weights, labels.data(), nearest.data(), rows_}, threads, execution.stop);
  rows_ += points.rows();
}

template <class T>
KMeansCheck BlockCheck<T>::result(const Execution& execution) const {
  const core::ExactAccumulator none;
  const int threads = team_for(model_.centroids.rows() * model_.centroids.columns(), execution);
  KMeansCheck result = check_->result(check_->is_reference() ? none : prediction_.exact_inertia(), threads);
  result.report = prediction_.report();
  return result;
}

template class BlockCheck<float>;
template class BlockCheck<double>;

}  // namespace gradus::kmeans_detail
