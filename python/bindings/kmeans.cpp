// gradus.kmeans and what belongs to it.
#include "gradus/kmeans.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "python/bindings/arrays.hpp"
#include "python/bindings/choices.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/module.hpp"

namespace gradus::python {

namespace {

KMeansMetric metric_of(const std::string& text) {
  constexpr std::array<std::string_view, 2> names{"euclidean", "cosine"};
  return choice<KMeansMetric>("metric", text, names);
}

KMeansOptions options_of(std::int64_t clusters, const std::string& init, int restarts, int max_iterations,
                         double tolerance, double changed, const std::string& empty, const std::string& fewer_distinct,
                         const std::string& metric, std::uint64_t seed) {
  constexpr std::array<std::string_view, 5> inits{"k-means++", "k-means||", "random", "first", "given"};
  constexpr std::array<std::string_view, 3> empties{"relocate", "keep", "error"};
  constexpr std::array<std::string_view, 2> fewer{"error", "accept"};
  return {.clusters = clusters,
          .init = choice<KMeansInit>("init", init, inits),
          .restarts = restarts,
          .max_iterations = max_iterations,
          .tolerance = tolerance,
          .changed_fraction = changed,
          .empty = choice<KMeansEmptyCluster>("empty", empty, empties),
          .fewer_distinct = choice<KMeansFewerDistinct>("fewer_distinct", fewer_distinct, fewer),
          .metric = metric_of(metric),
          .seed = seed};
}

template <class T>
Fields fitted(KMeansResult<T> result) {
  nb::list history;
  for (const KMeansIteration& iteration : result.history)
    history.append(nb::make_tuple(iteration.inertia, iteration.changed, iteration.shift, iteration.seconds));
  const std::string_view reason = to_string(result.stop_reason);
  return nb::make_tuple(to_numpy(std::move(result.centroids)), to_numpy(std::move(result.counts)), result.inertia,
                        result.iterations, result.converged, nb::str(reason.data(), reason.size()), history,
                        result.restart, to_python(result.report));
}

Fields fit(const Input& points, const Output& labels, std::int64_t clusters, const std::string& init,
           const std::optional<Input>& initial_centroids, const std::optional<Input>& weights, int restarts,
           int max_iterations, double tolerance, double changed, const std::string& empty,
           const std::string& fewer_distinct, const std::string& metric, std::uint64_t seed, const Request& request) {
  return with_element_of(points, [&]<class T>(T) {
    const KMeansOptions options =
        options_of(clusters, init, restarts, max_iterations, tolerance, changed, empty, fewer_distinct, metric, seed);
    const auto view = matrix_of<const T>(points, "points");
    const KMeansMemory<T> memory{.initial_centroids = matrix_of<T>(initial_centroids, "init"),
                                 .weights = vector_of<T>(weights, "weights"),
                                 .labels = vector_of<std::int32_t>(labels, "labels")};
    return fitted(
        Job(request).run([&](const Execution& execution) { return kmeans(view, options, memory, execution); }));
  });
}

Fields first_centroids(const Input& points, std::int64_t clusters, const std::string& init,
                       const std::optional<Input>& initial_centroids, const std::optional<Input>& weights,
                       const std::string& fewer_distinct, const std::string& metric, std::uint64_t seed,
                       const Request& request) {
  return with_element_of(points, [&]<class T>(T) -> Fields {
    const KMeansOptions options = options_of(clusters, init, 1, 300, 0, 0, "relocate", fewer_distinct, metric, seed);
    const auto view = matrix_of<const T>(points, "points");
    const KMeansMemory<T> memory{.initial_centroids = matrix_of<T>(initial_centroids, "init"),
                                 .weights = vector_of<T>(weights, "weights")};
    KMeansInitialCentroids<T> first = Job(request).run(
        [&](const Execution& execution) { return kmeans_initial_centroids(view, options, memory, execution); });
    return nb::make_tuple(to_numpy(std::move(first.centroids)), to_numpy(std::move(first.rows)),
                          to_python(first.report));
  });
}

Fields predict(const Input& centroids, const Input& points, const Output& labels, const std::optional<Input>& weights,
               const std::string& metric, const Request& request) {
  return with_element_of(points, [&]<class T>(T) -> Fields {
    const auto rows = matrix_of<const T>(points, "points");
    const auto means = matrix_of<const T>(centroids, "centroids");
    const KMeansMemory<T> memory{.weights = vector_of<T>(weights, "weights"),
                                 .labels = vector_of<std::int32_t>(labels, "labels")};
    const KMeansMetric by = metric_of(metric);
    const KMeansPrediction result = Job(request).run(
        [&](const Execution& execution) { return kmeans_predict(means, rows, memory, by, execution); });
    return nb::make_tuple(result.inertia, to_python(result.report));
  });
}

/// (the distances where `distances` is none; the report)
Fields transform(const Input& centroids, const Input& points, const std::optional<Output>& distances,
                 const std::string& metric, const Request& request) {
  return with_element_of(points, [&]<class T>(T) -> Fields {
    const auto rows = matrix_of<const T>(points, "points");
    const auto means = matrix_of<const T>(centroids, "centroids");
    const KMeansMetric by = metric_of(metric);
    if (!distances) {
      Matrix<T> made =
          Job(request).run([&](const Execution& execution) { return kmeans_transform(means, rows, by, execution); });
      return nb::make_tuple(to_numpy(std::move(made)), nb::none());
    }
    const auto written = matrix_of<T>(*distances, "out");
    const RunReport report = Job(request).run(
        [&](const Execution& execution) { return kmeans_transform(means, rows, written, by, execution); });
    return nb::make_tuple(nb::none(), to_python(report));
  });
}

Fields memory_of(std::int64_t points, std::int64_t dimensions, int element_bytes, bool weighted, std::optional<int> gpu,
                 std::int64_t clusters, const std::string& init, int restarts, const std::string& metric,
                 const Request& request) {
  const KMeansShape shape{.points = points,
                          .dimensions = dimensions,
                          .element_bytes = element_bytes,
                          .weighted = weighted,
                          .place = gpu ? MemoryPlace::on_gpu(*gpu) : MemoryPlace::host()};
  const KMeansOptions options = options_of(clusters, init, restarts, 300, 0, 0, "relocate", "error", metric, 0);
  const MemoryEstimate estimate = kmeans_memory(shape, options, request.execution);
  return nb::make_tuple(estimate.host, estimate.device);
}

}  // namespace

void bind_kmeans(nb::module_& module) {
  using nb::arg;
  module.def("kmeans", &fit, arg("points"), arg("labels"), arg("clusters"), arg("init"),
             arg("initial_centroids").none(), arg("weights").none(), arg("restarts"), arg("max_iterations"),
             arg("tolerance"), arg("changed"), arg("empty"), arg("fewer_distinct"), arg("metric"), arg("seed"),
             arg("request"));
  module.def("kmeans_initial_centroids", &first_centroids, arg("points"), arg("clusters"), arg("init"),
             arg("initial_centroids").none(), arg("weights").none(), arg("fewer_distinct"), arg("metric"), arg("seed"),
             arg("request"));
  module.def("kmeans_predict", &predict, arg("centroids"), arg("points"), arg("labels"), arg("weights").none(),
             arg("metric"), arg("request"));
  module.def("kmeans_transform", &transform, arg("centroids"), arg("points"), arg("distances").none(), arg("metric"),
             arg("request"));
  module.def("kmeans_memory", &memory_of, arg("points"), arg("dimensions"), arg("element_bytes"), arg("weighted"),
             arg("gpu").none(), arg("clusters"), arg("init"), arg("restarts"), arg("metric"), arg("request"));
}

}  // namespace gradus::python
