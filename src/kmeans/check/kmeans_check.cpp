// kmeans_check(): verifies labels and centroids.
#include <optional>
#include <string>
#include <utility>

#include "core/phases.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/api/model_call.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/check/arguments.hpp"
#include "kmeans/check/block_check.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/unit_rows.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

/// The check of rows that are split over ranks.
template <class T>
KMeansCheck check_on_ranks(const KMeansModel<T>& model, MatrixView<const T> points,
                           VectorView<const std::int32_t> labels, const KMeansCheckOptions& options,
                           VectorView<const T> weights, const Execution& here, core::Ranks& ranks) {
  const auto start = core::Clock::now();
  int threads = 1;
  Matrix<T> unit;
  ranks.agree([&] {
    check_options(options);
    require_in_host_memory(points.place(), "points");
    require_in_host_memory(weights.place(), "weights");
    require_exact_variant(here);
    threads = team_for(points.rows() * points.columns(), here);
    unit = checked_centroids(model);
    check_model(model.centroids, PointRows<T>(points), model.metric, here);
    execution::check_number(weights, points.rows(), "weights", "points");
  });
  core::require_same_call(ranks, core::call_line("tolerance", core::number_text(options.tolerance)) +
                                     core::call_line("reference_rows", std::to_string(options.reference_rows)));
  const core::RankRows rows(ranks, points.rows());
  ranks.agree([&] { check_given_labels(labels, points.rows(), model.centroids.rows(), rows.first()); });
  const MatrixView<const T> centroids = compared_centroids(model, unit);
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
    return execution::whole_call<T>("kmeans_check", execution, [&](const Execution& here, core::Ranks& ranks) {
      return room::check_on_ranks(model, points, labels, options, weights, here, ranks);
    });
  return execution::whole_call([&] {
    const auto start = core::Clock::now();
    execution::check_view(weights, "weights");
    room::require_in_host_memory(weights.place(), "weights");
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
