// Binds k-means: fit, fits of a batch, choice of k, initial centroids, prediction, check, transformation, projection
// and memory estimate.
#include "gradus/kmeans.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "gradus/kmeans1d.hpp"
#include "gradus/kmeans_batch.hpp"
#include "gradus/kmeans_certify.hpp"
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
                        result.restart, to_python(result.report), standardization, result.quality_moves);
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

/// Stacks the results of all problems.
template <class T>
Fields fitted(const KMeansBatchResult<T>& result) {
  const auto problems = static_cast<std::int64_t>(result.problems.size());
  const KMeansResult<T>& first = result.problems.front();
  const std::int64_t clusters = first.centroids.rows();
  const std::int64_t columns = first.centroids.columns();
  const bool standardized = !first.standardization.empty();
  Matrix<T> centroids(problems * clusters, columns);
  Matrix<T> standardized_centroids(standardized ? problems * clusters : 0, columns);
  Matrix<double> mean(standardized ? problems : 0, columns);
  Matrix<double> scale(standardized ? problems : 0, columns);
  Matrix<std::int64_t> counts(problems, clusters);
  std::vector<double> inertia;
  std::vector<std::int64_t> iterations;
  std::vector<std::uint8_t> converged;
  for (std::int64_t problem = 0; problem < problems; ++problem) {
    const KMeansResult<T>& one = result.problems[static_cast<std::size_t>(problem)];
    std::copy_n(one.centroids.data(), clusters * columns, centroids.row(problem * clusters));
    std::ranges::copy(one.counts, counts.row(problem));
    inertia.push_back(one.inertia);
    iterations.push_back(one.iterations);
    converged.push_back(one.converged ? 1 : 0);
    if (!standardized) continue;
    std::copy_n(one.standardized_centroids.data(), clusters * columns, standardized_centroids.row(problem * clusters));
    std::ranges::copy(one.standardization.mean, mean.row(problem));
    std::ranges::copy(one.standardization.scale, scale.row(problem));
  }
  nb::object standardization = nb::none();
  if (standardized)
    standardization = nb::make_tuple(to_numpy(std::move(mean)), to_numpy(std::move(scale)),
                                     to_numpy(std::move(standardized_centroids)));
  return nb::make_tuple(to_numpy(std::move(centroids)), to_numpy(std::move(counts)), to_numpy(std::move(inertia)),
                        to_numpy(std::move(iterations)), to_numpy(std::move(converged)), to_python(result.report),
                        standardization);
}

/// The first matrix of a three-dimensional array with contiguous rows.
struct FirstMatrix {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t stride = 0;  ///< elements from a matrix to the next
  MemoryPlace place = {};

  template <class T>
  MatrixView<const T> view() const {
    return {static_cast<const T*>(data), rows, columns, row_stride, place};
  }
};

FirstMatrix first_matrix_of(const Input& array, const char* what, nb::dlpack::dtype type) {
  if (array.ndim() != 3)
    throw UsageError(about(what) + "an array of " + std::to_string(array.ndim()) +
                     " dimensions; three are needed, a matrix for each problem");
  if (array.dtype() != type) throw UsageError(about(what) + "the element type differs from the type of the points");
  FirstMatrix first{.data = array.data(),
                    .rows = static_cast<std::int64_t>(array.shape(1)),
                    .columns = static_cast<std::int64_t>(array.shape(2)),
                    .place = place_of(array.device_type(), array.device_id())};
  if (array.size() > 0 && first.columns > 1 && array.stride(2) != 1)
    throw UsageError(about(what) + "the elements of a row are not contiguous");
  first.row_stride = first.rows > 1 && first.columns > 0 ? array.stride(1) : first.columns;
  first.stride = array.shape(0) > 1 ? array.stride(0) : 0;
  return first;
}

/// Fits the matrices of a batch that begin with `first`. T is the type of the job.
template <class T, class View>
Fields fit_matrices(const MatrixBatch<View>& points, const Output& labels,
                    const std::optional<Input>& initial_centroids, const std::optional<Input>& weights,
                    const KMeansOptions& options, const Request& request) {
  KMeansBatchMemory<T> memory{.weights = matrix_of<T>(weights, "weights"),
                              .labels = matrix_of<std::int32_t>(labels, "labels")};
  if (initial_centroids) {
    const FirstMatrix given = first_matrix_of(*initial_centroids, "init", nb::dtype<T>());
    memory.initial_centroids = {given.view<T>(), static_cast<std::int64_t>(initial_centroids->shape(0)), given.stride};
  }
  return fitted(
      Job(request).run([&](const Execution& execution) { return kmeans_batch(points, options, memory, execution); }));
}

/// Fits each matrix of a three-dimensional array. With `subspaces`, messages call a matrix a subspace.
Fields fit_batch(const Input& points, const Output& labels, const std::optional<Input>& initial_centroids,
                 const std::optional<Input>& weights, const std::optional<std::string>& stored, bool subspaces,
                 const OptionValues& given, const Request& request) {
  const auto options = options_of<KMeansOptions>(given);
  const FirstMatrix first = first_matrix_of(points, "points", points.dtype());
  const auto fit = [&]<class T>(const auto& view, T) {
    return fit_matrices<T>(
        MatrixBatch{view, static_cast<std::int64_t>(points.shape(0)), first.stride, subspaces ? "subspace" : "problem"},
        labels, initial_centroids, weights, options, request);
  };
  if (!stored) return with_element_of(points, [&]<class T>(T type) { return fit(first.view<T>(), type); });
  const std::optional<StoredType> type = from_string<StoredType>(*stored);
  if (!type || static_cast<int>(points.itemsize()) != bytes_of(*type))
    throw UsageError(about("points") + "there is no type '" + *stored + "' of this size");
  return fit(StoredMatrixView(first.data, *type, first.rows, first.columns, first.row_stride, first.place), float{});
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
                                 nb::none(), 0));
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

Fields certify(const Input& centroids, const Input& points, const Input& labels, const std::optional<Input>& weights,
               const std::string& metric, const std::optional<Input>& mean, const std::optional<Input>& scale,
               double inertia, double effort, const Request& request) {
  return with_element_of(points, [&]<class T>(T) -> Fields {
    const auto rows = matrix_of<const T>(points, "points");
    const KMeansModel<T> model{matrix_of<const T>(centroids, "centroids"), choice<KMeansMetric>("metric", metric),
                               standardization_of(mean, scale)};
    const auto given = vector_of<const std::int32_t>(labels, "labels");
    const VectorView<const T> weighed = vector_of<T>(weights, "weights");
    const KMeansCertificate result = Job(request).run(
        [&](const Execution& execution) { return kmeans_certify(model, rows, given, weighed, execution, effort); });
    return nb::make_tuple(result.bound, result.gap(inertia), std::string(to_string(result.method)),
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
  bind_kmeans_bisecting(module);
  bind_options<KMeansOptions>(module, "kmeans_options");
  module.def("kmeans", &fit, arg("points"), arg("labels"), arg("initial_centroids").none(), arg("weights").none(),
             arg("stored").none(), arg("options"), arg("request"));
  module.def("kmeans_batch", &fit_batch, arg("points"), arg("labels"), arg("initial_centroids").none(),
             arg("weights").none(), arg("stored").none(), arg("subspaces"), arg("options"), arg("request"));
  module.def("kmeans1d", &optimum, arg("points"), arg("labels"), arg("weights").none(), arg("options"), arg("request"));
  module.def("kmeans_parts", &fit_parts, arg("points"), arg("labels"), arg("initial_centroids").none(),
             arg("weights").none(), arg("options"), arg("request"));
  module.def("kmeans_choose", &choose, arg("points"), arg("labels"), arg("clusters"), arg("criterion"),
             arg("silhouette_points"), arg("weights").none(), arg("stored").none(), arg("options"), arg("request"));
  module.def("kmeans_initial_centroids", &first_centroids, arg("points"), arg("initial_centroids").none(),
             arg("weights").none(), arg("stored").none(), arg("options"), arg("request"));
  module.def("kmeans_predict", &predict, arg("centroids"), arg("points"), arg("labels"), arg("weights").none(),
             arg("metric"), arg("mean").none(), arg("scale").none(), arg("stored").none(), arg("request"));
  module.def("kmeans_certify", &certify, arg("centroids"), arg("points"), arg("labels"), arg("weights").none(),
             arg("metric"), arg("mean").none(), arg("scale").none(), arg("inertia"), arg("effort"), arg("request"));
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
