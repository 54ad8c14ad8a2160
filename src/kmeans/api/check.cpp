// kmeans_check(): verifies labels and centroids.
#include "kmeans/api/check.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/phases.hpp"
#include "core/text.hpp"
#include "cpu/column_ranges.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/api/model_call.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/unit_rows.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

void check_options(const KMeansCheckOptions& options) {
  if (!(options.tolerance >= 0 && options.tolerance <= 1))
    throw UsageError(about("tolerance") + core::number_text(options.tolerance) + " is not a number from 0 to 1",
                     {.argument = "tolerance", .value = core::number_text(options.tolerance), .allowed = "0 to 1"});
  if (options.reference_rows < 0)
    throw UsageError(
        about("reference rows") + std::to_string(options.reference_rows) + " is not a number of rows",
        {.argument = "reference_rows", .value = std::to_string(options.reference_rows), .allowed = "0 or more"});
}

/// Throws UnsupportedError for a variant that finds approximate labels.
void require_exact_variant(const Execution& execution) {
  if (execution.variant.empty()) return;
  const Variant& variant = core::find_variant(variants(), execution.variant, Room::name);
  if (variant.contract.kind != core::Contract::same_bits)
    throw UnsupportedError(about("variant") + "'" + std::string(variant.name) +
                               "' computes with other arithmetic than the canonical rule, so it cannot check a result",
                           {.argument = "variant", .value = std::string(variant.name)});
}

/// Throws UnsupportedError unless the array is in host memory.
void require_host(MemoryPlace place, const char* what) {
  if (!place.is_host())
    throw UnsupportedError(about(what) + "in GPU memory; a result is checked on the CPU, so copy them to host memory");
}

/// Throws InputError unless there is one label per point and each label is the index of a cluster.
void check_labels(VectorView<const std::int32_t> labels, std::int64_t points, std::int64_t clusters,
                  std::int64_t first_row) {
  execution::check_view(labels, "labels");
  if (labels.size() != points)
    throw InputError(about("labels") + "there are " + std::to_string(labels.size()) + " labels for " +
                         std::to_string(points) + " points; one for each is needed",
                     {.code = error_code::shape_mismatch});
  const auto is_cluster = [&](std::int32_t label) { return label >= 0 && label < clusters; };
  bool all = true;
  for (std::int64_t row = 0; row < labels.size(); ++row) all &= is_cluster(labels[row]);
  for (std::int64_t row = 0; row < labels.size() && !all; ++row)
    if (!is_cluster(labels[row]))
      throw InputError(about("labels") + "the label in row " + std::to_string(first_row + row) +
                           " (counted from 0) is " + std::to_string(labels[row]) + ", but there are " +
                           std::to_string(clusters) + " centroids",
                       {.code = error_code::out_of_range,
                        .row = first_row + row,
                        .value = std::to_string(labels[row]),
                        .allowed = "0 to " + std::to_string(clusters - 1)});
}

/// Checks the centroids and, for KMeansMetric::cosine, scales them to unit length.
template <class T>
Matrix<T> checked_centroids(const KMeansModel<T>& model) {
  execution::check_extent(model.centroids, "centroids");
  require_host(model.centroids.place(), "centroids");
  core::check_choice(model.metric, "metric");
  if (model.centroids.rows() < 1 || model.centroids.columns() < 1)
    throw InputError(about("centroids") + "the shape is " + std::to_string(model.centroids.rows()) + " x " +
                         std::to_string(model.centroids.columns()) + "; at least one row and one column are needed",
                     {.code = error_code::shape_mismatch});
  if (!model.standardization.empty()) check_standardization(model.standardization, model.centroids.columns());
  cpu::column_ranges(model.centroids, "centroids", 1);  // throws InputError for values that no fit returns
  if (model.metric == KMeansMetric::euclidean) return {};
  return unit_centroids(model.centroids, "centroids", {});
}

template <class T>
MatrixView<const T> centroids_of(const KMeansModel<T>& model, const Matrix<T>& unit) {
  return model.metric == KMeansMetric::cosine ? unit.view() : model.centroids;
}

/// Throws OutOfMemoryError if the sums of a check need more memory than there is.
template <class T>
void check_sums_memory(MatrixView<const T> centroids, bool is_reference, const Execution& execution) {
  constexpr std::uint64_t words_of_a_sum = 8;  // of usual data; values of very different sizes need more
  const std::uint64_t of_a_sum = is_reference ? sizeof(core::ExactAccumulator) : words_of_a_sum * sizeof(std::int64_t);
  execution::check_memory(core::checked_multiply(static_cast<std::uint64_t>(centroids.rows()) * of_a_sum,
                                                 static_cast<std::uint64_t>(centroids.columns()), "centroids"),
                          execution);
}

}  // namespace

template <class T>
BlockCheck<T>::BlockCheck(const KMeansModel<T>& model, VectorView<const T> weights, std::int64_t rows,
                          const KMeansCheckOptions& options)
    : model_(model), weights_(weights), unit_centroids_(checked_centroids(model)), all_rows_(rows),
      prediction_({model.centroids, model.metric, {}}, weights, rows) {
  check_options(options);
  check_.emplace(centroids_of(model_, unit_centroids_), model.metric, options, rows);
}

template <class T>
void BlockCheck<T>::add(MatrixView<const T> points, VectorView<const std::int32_t> labels, const Execution& execution) {
  require_host(points.place(), "points");
  require_exact_variant(execution);
  check_labels(labels, points.rows(), model_.centroids.rows(), rows_);
  if (rows_ == 0) check_sums_memory(model_.centroids, check_->is_reference(), execution);
  const int threads = cpu::thread_count(execution);
  Execution here = execution;
  std::optional<StandardizedPoints<T>> standardized;
  if (!model_.standardization.empty()) {
    check_model(model_.centroids, points, model_.metric, execution);
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
  KMeansCheck result =
      check_->result(check_->is_reference() ? none : prediction_.exact_inertia(), cpu::thread_count(execution));
  result.report = prediction_.report();
  return result;
}

template class BlockCheck<float>;
template class BlockCheck<double>;

namespace {

/// The check of rows that are split over ranks.
template <class T>
KMeansCheck check_on_ranks(const KMeansModel<T>& model, MatrixView<const T> points,
                           VectorView<const std::int32_t> labels, const KMeansCheckOptions& options,
                           VectorView<const T> weights, const Execution& here, core::Ranks& ranks) {
  const auto start = core::Clock::now();
  const int threads = cpu::thread_count(here);
  Matrix<T> unit;
  ranks.agree([&] {
    check_options(options);
    require_host(points.place(), "points");
    require_host(weights.place(), "weights");
    require_exact_variant(here);
    unit = checked_centroids(model);
    check_model(model.centroids, points, model.metric, here);
    execution::check_number(weights, points.rows(), "weights", "points");
  });
  core::require_same_call(ranks, core::call_line("tolerance", core::number_text(options.tolerance)) +
                                     core::call_line("reference_rows", std::to_string(options.reference_rows)));
  const core::RankRows rows(ranks, points.rows());
  ranks.agree([&] { check_labels(labels, points.rows(), model.centroids.rows(), rows.first()); });
  const MatrixView<const T> centroids = centroids_of(model, unit);
  ResultCheck<T> check(centroids, model.metric, options, rows.all());
  KMeansPrediction prediction = predict_by_model(ModelCall<T>{predict_name, model, points, here, ranks},
                                                 KMeansMemory<T>{.weights = weights}, false);
  std::optional<StandardizedPoints<T>> standardized;
  if (!model.standardization.empty()) {
    standardized.emplace(points, model.standardization, rows, here);
    points = standardized->rows();
  }
  core::ExactAccumulator inertia;
  ranks.agree([&] {
    check_sums_memory(model.centroids, check.is_reference(), here);
    Matrix<T> unit_points;
    if (model.metric == KMeansMetric::cosine) {
      unit_points = unit_rows<T>(points, "points", threads, ranks.stop(), rows.first());
      points = std::as_const(unit_points).view();
    }
    if (!check.is_reference()) {
      Buffer<double> distances(points.rows());
      own_squared_distances(points, centroids, prediction.labels.data(), distances.data(), threads, ranks.stop());
      for (std::int64_t row = 0; row < points.rows(); ++row)
        inertia.add(core::rounded_product(weights.empty() ? 1 : static_cast<double>(weights[row]), distances[row]));
    }
    if (points.rows() > 0)
      check.add({points, weights, labels.data(), prediction.labels.data(), rows.first()}, threads, ranks.stop());
  });
  ranks.add_up(
      core::accumulator_limbs, [] {},
      [&](std::span<std::uint64_t> words) { core::Ranks::put(std::span(&inertia, 1), words); },
      [&](std::span<const std::uint64_t> words) { core::Ranks::take(words, std::span(&inertia, 1)); });
  check.add_up(ranks);
  KMeansCheck result = ranks.agree([&] { return check.result(inertia, threads); });
  result.report = std::move(prediction.report);
  result.report.phases = {{"total", core::seconds_since(start)}};
  return result;
}

}  // namespace

}  // namespace kmeans_detail

namespace detail {

template <class T>
KMeansCheck kmeans_check(const KMeansModel<T>& model, MatrixView<const T> points, VectorView<const std::int32_t> labels,
                         const KMeansCheckOptions& options, VectorView<const T> weights, const Execution& execution) {
  if (execution.communicator != nullptr)
    return execution::whole_call<T>(room::check_name, execution, [&](const Execution& here, core::Ranks& ranks) {
      return room::check_on_ranks(model, points, labels, options, weights, here, ranks);
    });
  return execution::whole_call([&] {
    const auto start = core::Clock::now();
    execution::check_view(weights, "weights");
    room::require_host(weights.place(), "weights");
    room::BlockCheck<T> check(model, weights, points.rows(), options);
    check.add(points, labels, execution);
    KMeansCheck result = check.result(execution);
    result.report.phases = {{"total", core::seconds_since(start)}};
    return result;
  });
}

template KMeansCheck kmeans_check(const KMeansModel<float>&, MatrixView<const float>, VectorView<const std::int32_t>,
                                  const KMeansCheckOptions&, VectorView<const float>, const Execution&);
template KMeansCheck kmeans_check(const KMeansModel<double>&, MatrixView<const double>, VectorView<const std::int32_t>,
                                  const KMeansCheckOptions&, VectorView<const double>, const Execution&);

}  // namespace detail
}  // namespace gradus
