// Checks of the arguments of the public calls, made before anything else.
#include <cmath>
#include <limits>
#include <string>

#include "execution/request.hpp"
#include "kmeans/kmeans.hpp"

namespace gradus::kmeans_detail {

namespace {

/// With several ranks, a rank may hold no rows.
template <class T>
void check_points(MatrixView<const T> points, const Execution& execution) {
  execution::check_extent(points, "points");
  if ((points.rows() < 1 && execution.communicator == nullptr) || points.columns() < 1)
    throw InputError("points: at least one row and one column are needed, not " + std::to_string(points.rows()) +
                     " x " + std::to_string(points.columns()));
}

template <class T>
void check_fit_memory(const KMeansMemory<T>& memory) {
  execution::check_view(memory.weights, "weights");
  execution::check_view(memory.labels, "labels");
}

template <class T>
void check_against_points(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory) {
  const std::int64_t n = points.rows();
  execution::check_number(memory.weights, n, "weights", "points");
  if (!memory.labels.empty()) check_labels(memory.labels, n);
  execution::check_apart(memory.labels, "labels", points, "points");
  execution::check_apart(memory.labels, "labels", memory.weights, "weights");
  const MatrixView<const T>& given = memory.initial_centroids;
  execution::check_view(given, "initial centroids");
  execution::check_apart(memory.labels, "labels", given, "initial centroids");
  if (options.init != KMeansInit::given) {
    if (given.rows() == 0) return;
    throw UsageError("initial centroids: there are some, but the method of choosing them is not `given`");
  }
  if (given.rows() != options.clusters || given.columns() != points.columns())
    throw InputError("initial centroids: the shape is " + std::to_string(given.rows()) + " x " +
                     std::to_string(given.columns()) + ", but " + std::to_string(options.clusters) + " x " +
                     std::to_string(points.columns()) + " is needed (clusters x columns of the points)");
}

}  // namespace

void check_options(const KMeansOptions& options) {
  if (options.clusters < 1)
    throw UsageError("the number of clusters must be at least 1, not " + std::to_string(options.clusters));
  if (options.clusters > std::numeric_limits<std::int32_t>::max())
    throw UsageError("the number of clusters must fit 32 bits, not " + std::to_string(options.clusters));
  if (options.restarts < 1)
    throw UsageError("the number of restarts must be at least 1, not " + std::to_string(options.restarts));
  if (options.max_iterations < 1)
    throw UsageError("the number of iterations must be at least 1, not " + std::to_string(options.max_iterations));
  if (!(options.tolerance >= 0) || std::isinf(options.tolerance))
    throw UsageError("the tolerance must be a finite number and not negative");
  if (!(options.changed_fraction >= 0 && options.changed_fraction <= 1))
    throw UsageError("the changed fraction must lie between 0 and 1");
  if (!(options.checkpoint.seconds > 0))
    throw UsageError("the seconds between two checkpoints must be a positive number");
  if (options.checkpoint.iterations < 0)
    throw UsageError("the number of iterations between two checkpoints must be at least 1, or 0 for none, not " +
                     std::to_string(options.checkpoint.iterations));
  if (options.checkpoint.resume && options.checkpoint.file.empty())
    throw UsageError("to resume a fit, the file of its checkpoint must be named");
  execution::check_choice(options.init, KMeansInit::given, "init");
  execution::check_choice(options.empty, KMeansEmptyCluster::error, "empty");
  execution::check_choice(options.fewer_distinct, KMeansFewerDistinct::accept, "fewer_distinct");
  execution::check_choice(options.metric, KMeansMetric::cosine, "metric");
}

void check_labels(VectorView<std::int32_t> labels, std::int64_t n) {
  execution::check_view(labels, "labels");
  if (labels.size() == n) return;
  throw UsageError("labels: there is room for " + std::to_string(labels.size()) + ", but there are " +
                   std::to_string(n) + " points");
}

void check_clusters(const KMeansOptions& options, std::int64_t n) {
  if (options.clusters > n)
    throw InputError("points: " + std::to_string(options.clusters) + " clusters were asked for, but there are only " +
                     std::to_string(n) + " points; ask for at most that many clusters");
}

template <class T>
void check_arguments(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                     const Execution& execution, bool alone) {
  execution::check_execution(execution, execution::TakesRanks::yes);
  check_options(options);
  check_fit_memory(memory);
  check_points(points, execution);
  if (alone) check_clusters(options, points.rows());
  check_against_points(points, options, memory);
}

template <class T>
void check_fit(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
               const Execution& execution) {
  if (execution.communicator != nullptr)
    throw UnsupportedError(
        "standardize: columns are standardized by one process alone; standardize the rows before, or "
        "give all rows to one process and no communicator");
  check_arguments(points, options, memory, execution, true);
}

template <class T>
void check_no_labels(const KMeansMemory<T>& memory) {
  if (!memory.labels.empty()) throw UsageError("labels: the first centroids have none; leave their memory out");
}

template <class T>
void check_model(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                 const Execution& execution) {
  execution::check_execution(execution, execution::TakesRanks::yes);
  execution::check_choice(metric, KMeansMetric::cosine, "metric");
  check_points(points, execution);
  execution::check_extent(centroids, "centroids");
  if (centroids.rows() < 1 || centroids.columns() != points.columns())
    throw InputError("centroids: the shape is " + std::to_string(centroids.rows()) + " x " +
                     std::to_string(centroids.columns()) + ", but the points have " + std::to_string(points.columns()) +
                     " columns");
}

template <class T>
void check_prediction(MatrixView<const T> centroids, MatrixView<const T> points, const KMeansMemory<T>& memory,
                      const Execution& execution) {
  check_points(points, execution);
  check_fit_memory(memory);
  if (memory.initial_centroids.rows() > 0)
    throw UsageError("initial centroids: a prediction has none; its centroids are an argument of their own");
  execution::check_number(memory.weights, points.rows(), "weights", "points");
  if (!memory.labels.empty()) check_labels(memory.labels, points.rows());
  execution::check_apart(memory.labels, "labels", points, "points");
  execution::check_apart(memory.labels, "labels", centroids, "centroids");
  execution::check_apart(memory.labels, "labels", memory.weights, "weights");
}

template <class T>
void check_distances(MatrixView<const T> centroids, MatrixView<const T> points, MatrixView<T> distances) {
  execution::check_view(distances, "distances");
  if (distances.rows() != points.rows() || distances.columns() != centroids.rows())
    throw UsageError("distances: the shape is " + std::to_string(distances.rows()) + " x " +
                     std::to_string(distances.columns()) + ", but " + std::to_string(points.rows()) + " x " +
                     std::to_string(centroids.rows()) + " is needed (points x centroids)");
  execution::check_apart(distances, "distances", points, "points");
  execution::check_apart(distances, "distances", centroids, "centroids");
}

#define GRADUS_INSTANTIATE(T)                                                                                         \
  template void check_arguments(MatrixView<const T>, const KMeansOptions&, const KMeansMemory<T>&, const Execution&,  \
                                bool);                                                                                \
  template void check_fit(MatrixView<const T>, const KMeansOptions&, const KMeansMemory<T>&, const Execution&);       \
  template void check_model(MatrixView<const T>, MatrixView<const T>, KMeansMetric, const Execution&);                \
  template void check_prediction(MatrixView<const T>, MatrixView<const T>, const KMeansMemory<T>&, const Execution&); \
  template void check_no_labels(const KMeansMemory<T>&);                                                              \
  template void check_distances(MatrixView<const T>, MatrixView<const T>, MatrixView<T>)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
