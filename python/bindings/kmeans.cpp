// Binds k-means: fit, choice of k, initial centroids, prediction, check, transformation, projection and memory
// estimate.
#include "gradus/kmeans.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "gradus/kmeans1d.hpp"
#include "gradus/kmeans_check.hpp"
#include "gradus/kmeans_choose.hpp"
#include "gradus/kmeans_gpus.hpp"
#include "gradus/kmeans_parts.hpp"
#include "gradus/kmeans_projection.hpp"
#include "gradus/kmeans_stored.hpp"
#include "kmeans/options.hpp"

#include "python/bindings/arrays.hpp"
#include "python/bindings/choices.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/library.hpp"
#include "python/bindings/module.hpp"
#include "python/bindings/options.hpp"

namespace gradus::python {

namespace {

template <class T>
Fields fitted(KMeansResult<T> result) {
  nb::list history;
  for (const KMeansIteration& iteration : result.history)
    history.append(nb::make_tuple(iteration.inertia, iteration.changed, iteration.shift, iteration.seconds));
  const std::string_view reason = to_string(result.stop_reason);
  nb::object standardization = nb::none();
  if (!result.standardization.empty())
    standardization = nb::make_tuple(to_numpy(std::move(result.standardization.mean)),
                                     to_numpy(std::move(result.standardization.scale)),
                                     to_numpy(std::move(result.standardized_centroids)));
  return nb::make_tuple(to_numpy(std::move(result.centroids)), to_numpy(std::move(result.counts)), result.inertia,
                        result.iterations, result.converged, nb::str(reason.data(), reason.size()), history,
                        result.restart, to_python(result.report), standardization);
}

/// Returns call(execution). If the caller leaves the number of GPUs to the library, adds the GPUs that pay.
template <class T, class Points, class Call>
auto on_paying_gpus(const Request& request, const Points& points, const KMeansMemory<T>& memory,
                    const KMeansOptions& options, const Execution& execution, const Call& call) {
  if (!request.chooses_gpus) return call(execution);
  Execution several = execution;
  several.gpus = kmeans_gpus(
      {points.rows(), points.columns(), static_cast<int>(sizeof(T)), !memory.weights.empty(), points.place()}, options,
      execution);
  return call(several);
}

Fields fit(const Input& points, const Output& labels, const std::optional<Input>& initial_centroids,
           const std::optional<Input>& weights, const std::optional<std::string>& stored, const OptionValues& given,
           const Request& request) {
  return with_points(points, stored, [&]<class T>(T, const auto& view) {
    const auto options = options_of<KMeansOptions>(given);
    const KMeansMemory<T> memory{.initial_centroids = matrix_of<T>(initial_centroids, "init"),
                                 .weights = vector_of<T>(weights, "weights"),
                                 .labels = vector_of<std::int32_t>(labels, "labels")};
    return fitted(Job(request).run([&](const Execution& execution) {
      return on_paying_gpus<T>(request, view, memory, options, execution,
                               [&](const Execution& here) { return kmeans(view, options, memory, here); });
    }));
  });
}

/// Fits the rows of several arrays together. `labels` are for all rows.
Fields fit_parts(const std::vector<Input>& points, const Output& labels, const std::optional<Input>& initial_centroids,
                 const std::optional<Input>& weights, const OptionValues& given, const Request& request) {
  if (points.empty()) throw UsageError(about("points") + "the list of arrays is empty");
  if (request.chooses_gpus)
    throw UsageError(about("gpus") + "'auto', but the points are a list of arrays; name a GPU for each array, or none");
  return with_element_of(points.front(), [&]<class T>(T) {
    const auto options = options_of<KMeansOptions>(given);
    std::vector<MatrixView<const T>> parts;
    for (const Input& part : points) parts.push_back(matrix_of<const T>(part, "points"));
    const KMeansMemory<T> memory{.initial_centroids = matrix_of<T>(initial_centroids, "init"),
                                 .weights = vector_of<T>(weights, "weights"),
                                 .labels = vector_of<std::int32_t>(labels, "labels")};
    return fitted(
        Job(request).run([&](const Execution& execution) { return kmeans_parts(parts, options, memory, execution); }));
  });
}

/// Returns the fields of a fit without iterations.
Fields optimum(const Input& points, const Output& labels, const std::optional<Input>& weights,
               const OptionValues& given, const Request& request) {
  return with_element_of(points, [&]<class T>(T) {
    const auto options = options_of<KMeansOptions>(given);
    const KMeansMemory<T> memory{.weights = vector_of<T>(weights, "weights"),
                                 .labels = vector_of<std::int32_t>(labels, "labels")};
    const auto view = matrix_of<const T>(points, "points");
    KMeans1dResult<T> best =
        Job(request).run([&](const Execution& execution) { return kmeans1d(view, options, memory, execution); });
    return Fields(nb::make_tuple(to_numpy(std::move(best.centroids)), to_numpy(std::move(best.counts)), best.inertia, 0,
                                 true, "no clustering has less inertia", nb::list(), 0, to_python(best.report),
                                 nb::none()));
  });
}

Fields first_centroids(const Input& points, const std::optional<Input>& initial_centroids,
                       const std::optional<Input>& weights, const std::optional<std::string>& stored,
                       const OptionValues& given, const Request& request) {
  return with_points(points, stored, [&]<class T>(T, const auto& view) -> Fields {
    const auto options = options_of<KMeansOptions>(given);
    const KMeansMemory<T> memory{.initial_centroids = matrix_of<T>(initial_centroids, "init"),
                                 .weights = vector_of<T>(weights, "weights")};
    KMeansInitialCentroids<T> first = Job(request).run(
        [&](const Execution& execution) { return kmeans_initial_centroids(view, options, memory, execution); });
    return nb::make_tuple(to_numpy(std::move(first.centroids)), to_numpy(std::move(first.rows)),
                          to_python(first.report));
  });
}

/// Copies the mean and scale of a model; both are empty if the model does not standardize.
KMeansStandardization standardization_of(const std::optional<Input>& mean, const std::optional<Input>& scale) {
  const auto copy = [](const std::optional<Input>& array, const char* what) {
    const VectorView<const double> elements = vector_of<double>(array, what);
    return std::vector<double>(elements.data(), elements.data() + elements.size());
  };
  return {copy(mean, "mean"), copy(scale, "scale")};
}

Fields predict(const Input& centroids, const Input& points, const Output& labels, const std::optional<Input>& weights,
               const std::string& metric, const std::optional<Input>& mean, const std::optional<Input>& scale,
               const std::optional<std::string>& stored, const Request& request) {
  return with_points(points, stored, [&]<class T>(T, const auto& rows) -> Fields {
    const KMeansModel<T> model{matrix_of<const T>(centroids, "centroids"), choice<KMeansMetric>("metric", metric),
                               standardization_of(mean, scale)};
    const KMeansMemory<T> memory{.weights = vector_of<T>(weights, "weights"),
                                 .labels = vector_of<std::int32_t>(labels, "labels")};
    const KMeansPrediction result =
        Job(request).run([&](const Execution& execution) { return kmeans_predict(model, rows, memory, execution); });
    return nb::make_tuple(result.inertia, to_python(result.report));
  });
}

Fields check(const Input& centroids, const Input& points, const Input& labels, const std::optional<Input>& weights,
             const std::string& metric, const std::optional<Input>& mean, const std::optional<Input>& scale,
             double tolerance, std::int64_t reference_rows, const Request& request) {
  return with_element_of(points, [&]<class T>(T) -> Fields {
    const auto rows = matrix_of<const T>(points, "points");
    const KMeansModel<T> model{matrix_of<const T>(centroids, "centroids"), choice<KMeansMetric>("metric", metric),
                               standardization_of(mean, scale)};
    const auto given = vector_of<const std::int32_t>(labels, "labels");
    const VectorView<const T> weighed = vector_of<T>(weights, "weights");
    KMeansCheck result = Job(request).run([&](const Execution& execution) {
      return kmeans_check(model, rows, given, {tolerance, reference_rows}, weighed, execution);
    });
    const KMeansLabelCheck& label = result.labels;
    const KMeansMeanCheck& means = result.means;
    return nb::make_tuple(
        nb::make_tuple(label.incorrect, label.within_tolerance, label.largest_excess, label.row, label.label,
                       label.nearest, label.distance, label.nearest_distance),
        nb::make_tuple(means.incorrect, means.within_tolerance, means.without_mean, means.largest_deviation,
                       means.excess_inertia, means.cluster, means.column, means.value, means.mean, means.ulps),
        result.inertia, to_numpy(std::move(result.counts)), result.reference_rows, result.reference_differences,
        to_python(result.report));
  });
}

/// If `distances` is given, writes the distances to it and returns (None, report). Otherwise returns (distances, None).
Fields transform(const Input& centroids, const Input& points, const std::optional<Output>& distances,
                 const std::string& metric, const std::optional<Input>& mean, const std::optional<Input>& scale,
                 const std::optional<std::string>& stored, const Request& request) {
  return with_points(points, stored, [&]<class T>(T, const auto& rows) -> Fields {
    const KMeansModel<T> model{matrix_of<const T>(centroids, "centroids"), choice<KMeansMetric>("metric", metric),
                               standardization_of(mean, scale)};
    if (!distances) {
      Matrix<T> made =
          Job(request).run([&](const Execution& execution) { return kmeans_transform(model, rows, execution); });
      return nb::make_tuple(to_numpy(std::move(made)), nb::none());
    }
    const auto written = matrix_of<T>(*distances, "out");
    const RunReport report =
        Job(request).run([&](const Execution& execution) { return kmeans_transform(model, rows, written, execution); });
    return nb::make_tuple(nb::none(), to_python(report));
  });
}

template <class T>
Fields chosen(KMeansChoice<T> choice) {
  nb::list candidates;
  for (const KMeansCandidate& one : choice.candidates)
    candidates.append(nb::make_tuple(one.clusters, one.inertia, one.iterations, one.seconds,
                                     kmeans_criterion(one, KMeansCriterion::silhouette),
                                     kmeans_criterion(one, KMeansCriterion::calinski_harabasz),
                                     kmeans_criterion(one, KMeansCriterion::davies_bouldin), one.elbow));
  nb::dict recommended;
  for (const EnumName<KMeansCriterion>& row : enum_names<KMeansCriterion>) {
    const auto best = kmeans_recommended(choice.candidates, row.value);
    recommended[nb::str(row.name.data(), row.name.size())] =
        best ? nb::cast(choice.candidates[*best].clusters) : nb::none();
  }
  return nb::make_tuple(fitted(std::move(choice.result)), candidates, choice.chosen, recommended,
                        choice.silhouette_points, to_python(choice.report));
}

Fields choose(const Input& points, const Output& labels, const std::vector<std::int64_t>& clusters,
              const std::string& criterion, std::int64_t silhouette_points, const std::optional<Input>& weights,
              const std::optional<std::string>& stored, const OptionValues& given, const Request& request) {
  return with_points(points, stored, [&]<class T>(T, const auto& view) {
    const auto options = options_of<KMeansOptions>(given);
    const KMeansChoiceOptions wanted{.clusters = clusters,
                                     .criterion = choice<KMeansCriterion>("criterion", criterion),
                                     .silhouette_points = silhouette_points};
    const KMeansMemory<T> memory{.weights = vector_of<T>(weights, "weights"),
                                 .labels = vector_of<std::int32_t>(labels, "labels")};
    KMeansOptions largest = options;
    if (!clusters.empty()) largest.clusters = clusters.back();
    return chosen(Job(request).run([&](const Execution& execution) {
      return on_paying_gpus<T>(request, view, memory, largest, execution, [&](const Execution& here) {
        return kmeans_choose(view, options, wanted, memory, here);
      });
    }));
  });
}

std::string hash_of(const Input& points) {
  return with_element_of(points, [&]<class T>(T) { return hash_of_rows(matrix_of<const T>(points, "points"), {}); });
}

Fields project(const Input& points, std::int64_t most_points, const OptionValues& given, const Request& request) {
  return with_element_of(points, [&]<class T>(T) -> Fields {
    const auto view = matrix_of<const T>(points, "points");
    const KMeansProjectionOptions options{.points = most_points, .seed = options_of<KMeansOptions>(given).seed};
    KMeansProjection found =
        Job(request).run([&](const Execution& execution) { return kmeans_projection(view, options, execution); });
    return nb::make_tuple(to_numpy(std::move(found.rows)), to_numpy(std::move(found.places)));
  });
}

Fields memory_of(std::int64_t points, std::int64_t dimensions, int element_bytes, bool weighted, std::optional<int> gpu,
                 const OptionValues& given, const Request& request) {
  const KMeansShape shape{.points = points,
                          .dimensions = dimensions,
                          .element_bytes = element_bytes,
                          .weighted = weighted,
                          .place = gpu ? MemoryPlace::on_gpu(*gpu) : MemoryPlace::host()};
  const MemoryEstimate estimate = kmeans_memory(shape, options_of<KMeansOptions>(given), request.execution);
  return nb::make_tuple(estimate.host, estimate.device);
}

}  // namespace

void bind_kmeans(nb::module_& module) {
  using nb::arg;
  bind_kmeans_batches(module);
  bind_options<KMeansOptions>(module, "kmeans_options");
  module.def("kmeans", &fit, arg("points"), arg("labels"), arg("initial_centroids").none(), arg("weights").none(),
             arg("stored").none(), arg("options"), arg("request"));
  module.def("kmeans1d", &optimum, arg("points"), arg("labels"), arg("weights").none(), arg("options"), arg("request"));
  module.def("kmeans_parts", &fit_parts, arg("points"), arg("labels"), arg("initial_centroids").none(),
             arg("weights").none(), arg("options"), arg("request"));
  module.def("kmeans_choose", &choose, arg("points"), arg("labels"), arg("clusters"), arg("criterion"),
             arg("silhouette_points"), arg("weights").none(), arg("stored").none(), arg("options"), arg("request"));
  module.def("kmeans_initial_centroids", &first_centroids, arg("points"), arg("initial_centroids").none(),
             arg("weights").none(), arg("stored").none(), arg("options"), arg("request"));
  module.def("kmeans_predict", &predict, arg("centroids"), arg("points"), arg("labels"), arg("weights").none(),
             arg("metric"), arg("mean").none(), arg("scale").none(), arg("stored").none(), arg("request"));
  module.def("kmeans_check", &check, arg("centroids"), arg("points"), arg("labels"), arg("weights").none(),
             arg("metric"), arg("mean").none(), arg("scale").none(), arg("tolerance"), arg("reference_rows"),
             arg("request"));
  module.def("kmeans_transform", &transform, arg("centroids"), arg("points"), arg("distances").none(), arg("metric"),
             arg("mean").none(), arg("scale").none(), arg("stored").none(), arg("request"));
  module.def("hash_of_rows", &hash_of, arg("points"));
  module.def("kmeans_projection", &project, arg("points"), arg("most_points"), arg("options"), arg("request"));
  module.def("kmeans_memory", &memory_of, arg("points"), arg("dimensions"), arg("element_bytes"), arg("weighted"),
             arg("gpu").none(), arg("options"), arg("request"));
}

}  // namespace gradus::python
