// Checks the arguments of the public calls. This is the first step of each call.
#include <cmath>
#include <limits>
#include <string>

#include "core/options.hpp"
#include "execution/request.hpp"
#include "kmeans/graph_file.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/quality/moves.hpp"
#include "kmeans/sizes/limited_sizes.hpp"

namespace gradus::kmeans_detail {

namespace {

template <class T>
void check_fit_memory(const KMeansMemory<T>& memory) {
  execution::check_view(memory.weights, "weights");
  execution::check_view(memory.labels, "labels");
}

/// Calls use() with a view of the bytes of the points: of their elements, or of unsigned integers of the same size.
template <class T, class Use>
void with_bytes_of(const PointRows<T>& points, const Use& use) {
  if (!points.is_stored()) return use(points.shape());
  const StoredMatrixView& stored = points.stored();
  const auto view = [&]<class Element>(Element) {
    return MatrixView<const Element>(static_cast<const Element*>(stored.data()), stored.rows(), stored.columns(),
                                     stored.row_stride(), stored.place());
  };
  if (bytes_of(stored.type()) == 1) use(view(std::uint8_t{}));
  else use(view(std::uint16_t{}));
}

template <class T>
void check_against_points(const PointRows<T>& points, const KMeansOptions& options, const KMeansMemory<T>& memory) {
  const std::int64_t n = points.rows();
  execution::check_number(memory.weights, n, "weights", "points");
  if (!memory.labels.empty()) check_labels(memory.labels, n);
  with_bytes_of(points, [&](auto view) { execution::check_apart(memory.labels, "labels", view, "points"); });
  execution::check_apart(memory.labels, "labels", memory.weights, "weights");
  const MatrixView<const T>& given = memory.initial_centroids;
  execution::check_view(given, "initial centroids");
  execution::check_apart(memory.labels, "labels", given, "initial centroids");
  if (options.init != KMeansInit::given) {
    if (given.rows() == 0) return;
    throw UsageError(about("initial centroids") + "there are some, but the method of choosing them is not `given`");
  }
  if (given.rows() != options.clusters || given.columns() != points.columns())
    throw InputError(about("initial centroids") + "the shape is " + std::to_string(given.rows()) + " x " +
                     std::to_string(given.columns()) + ", but " + std::to_string(options.clusters) + " x " +
                     std::to_string(points.columns()) + " is needed (clusters x columns of the points)");
}

/// Throws UsageError if the caller has set an option that is allowed only for a single fit.
void check_only_fit(const KMeansOptions& options, const Execution& execution) {
  const auto refuse = [](const std::string& what) {
    throw UsageError(what + " to one fit, but several numbers of clusters are compared; leave it out");
  };
  if (options.init == KMeansInit::given) refuse("init: the given centroids belong");
  if (!graph_file(execution).empty()) refuse("dump_graph: the graph belongs");
  if (!options.checkpoint.file.empty()) refuse("checkpoint: the file belongs");
  if (options.quality)
    throw UsageError(
        flag("KMeansOptions::quality") + ": several numbers of clusters are compared",
        {.argument = "quality", .remedy = "set the number of moves: " + option("KMeansOptions::quality_moves")});
}

}  // namespace

template <class T>
void check_points(const PointRows<T>& points, const Execution& execution) {
  with_bytes_of(points, [](auto view) { execution::check_extent(view, "points", most_points); });
  if (points.is_stored() && !points.place().is_host())
    throw UnsupportedError(about("points") + "values of type " + std::string(to_string(points.stored().type())) +
                           " are on a GPU, but must be in host memory; convert them to float there");
  if ((points.rows() < 1 && execution.communicator == nullptr) || points.columns() < 1)
    throw InputError(about("points") + "at least one row and one column are needed, not " +
                     std::to_string(points.rows()) + " x " + std::to_string(points.columns()));
}

void check_labels(VectorView<std::int32_t> labels, std::int64_t n) {
  execution::check_view(labels, "labels");
  if (labels.size() == n) return;
  throw UsageError(about("labels") + "there is room for " + std::to_string(labels.size()) + ", but there are " +
                   std::to_string(n) + " points");
}

void throw_too_few(std::int64_t clusters, std::int64_t count, const char* point, const char* which,
                   const ErrorMessage& other_remedy) {
  throw InputError(about("points") + std::to_string(clusters) + " clusters were asked for, but there " +
                       (count == 1 ? "is" : "are") + " only " + std::to_string(count) + " " + point +
                       (count == 1 ? "" : "s") + which,
                   {.code = error_code::too_few_points,
                    .value = std::to_string(clusters),
                    .allowed = "at most " + std::to_string(count),
                    .remedy = ErrorMessage("ask for at most that many clusters") + other_remedy});
}

void check_clusters(const KMeansOptions& options, std::int64_t n) {
  if (options.clusters > n) throw_too_few(options.clusters, n, "point");
  size_limits(options, n);
  if (options.init_rows > 0 && options.init_rows < options.clusters)
    throw UsageError(option("KMeansOptions::init_rows", options.init_rows) + ": the rows are fewer than the " +
                         std::to_string(options.clusters) + " first centroids to choose from them",
                     {.code = error_code::too_few_points,
                      .argument = "init_rows",
                      .value = std::to_string(options.init_rows),
                      .allowed = "0, or at least " + std::to_string(options.clusters)});
  if (options.init_rows > 0 && options.init == KMeansInit::hierarchical)
    throw UsageError(option("KMeansOptions::init_rows", options.init_rows) + ": " +
                         option("KMeansOptions::init", to_string(options.init)) + " uses all rows",
                     {.code = error_code::no_effect, .argument = "init_rows", .remedy = "leave it out"});
}

template <class T>
void check_arguments(const PointRows<T>& points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                     const Execution& execution, bool alone) {
  execution::check_execution(execution, execution::SupportsRanks::yes);
  check_options(options);
  check_size_limits(options, !memory.weights.empty(), execution);
  check_moves(options, execution);
  check_fit_memory(memory);
  check_points(points, execution);
  if (alone) check_clusters(options, points.rows());
  check_against_points(points, options, memory);
}

void check_choice_options(const KMeansOptions& options, const KMeansChoiceOptions& choice, const Execution& execution) {
  core::check_choice(choice.criterion, "criterion");
  if (choice.clusters.empty())
    throw UsageError(about("clusters") + "there is no number of clusters; at least one is needed");
  for (std::size_t index = 1; index < choice.clusters.size(); ++index)
    if (choice.clusters[index] <= choice.clusters[index - 1])
      throw UsageError(about("clusters") + std::to_string(choice.clusters[index]) + " follows " +
                       std::to_string(choice.clusters[index - 1]) + "; ascending numbers are needed, each one once");
  if (choice.silhouette_points < 2)
    throw UsageError("the silhouette needs at least 2 points, not " + std::to_string(choice.silhouette_points));
  if (choice.clusters.size() > 1) check_only_fit(options, execution);
}

void check_standardization(const KMeansStandardization& by, std::int64_t columns) {
  if (std::ssize(by.mean) != columns || std::ssize(by.scale) != columns)
    throw UsageError(about("standardization") + "there are " + std::to_string(by.mean.size()) + " means and " +
                     std::to_string(by.scale.size()) + " scales for " + std::to_string(columns) +
                     " columns; one of each is needed for each column");
  for (std::size_t column = 0; column < by.mean.size(); ++column)
    if (!std::isfinite(by.mean[column]) || !std::isfinite(by.scale[column]) || !(by.scale[column] > 0))
      throw UsageError(about("standardization") + "column " + std::to_string(column) + " (counted from 0) has mean " +
                       std::to_string(by.mean[column]) + " and scale " + std::to_string(by.scale[column]) +
                       "; a finite mean and a positive scale are needed");
}

template <class T>
void check_no_labels(const KMeansMemory<T>& memory) {
  if (!memory.labels.empty())
    throw UsageError(about("labels") + "the first centroids have none; leave their memory out");
}

template <class T>
void check_model(MatrixView<const T> centroids, const PointRows<T>& points, KMeansMetric metric,
                 const Execution& execution) {
  execution::check_execution(execution, execution::SupportsRanks::yes);
  core::check_choice(metric, "metric");
  check_points(points, execution);
  execution::check_extent(centroids, "centroids");
  if (centroids.rows() < 1 || centroids.columns() != points.columns())
    throw InputError(about("centroids") + "the shape is " + std::to_string(centroids.rows()) + " x " +
                     std::to_string(centroids.columns()) + ", but the points have " + std::to_string(points.columns()) +
                     " columns");
}

template <class T>
void check_prediction(MatrixView<const T> centroids, const PointRows<T>& points, const KMeansMemory<T>& memory,
                      const Execution& execution) {
  check_points(points, execution);
  check_fit_memory(memory);
  if (memory.initial_centroids.rows() > 0)
    throw UsageError(about("initial centroids") + "a prediction has none; its centroids are a separate argument");
  execution::check_number(memory.weights, points.rows(), "weights", "points");
  if (!memory.labels.empty()) check_labels(memory.labels, points.rows());
  with_bytes_of(points, [&](auto view) { execution::check_apart(memory.labels, "labels", view, "points"); });
  execution::check_apart(memory.labels, "labels", centroids, "centroids");
  execution::check_apart(memory.labels, "labels", memory.weights, "weights");
}

template <class T>
void check_distances(MatrixView<const T> centroids, const PointRows<T>& points, MatrixView<T> distances) {
  execution::check_view(distances, "distances");
  if (distances.rows() != points.rows() || distances.columns() != centroids.rows())
    throw UsageError(about("distances") + "the shape is " + std::to_string(distances.rows()) + " x " +
                     std::to_string(distances.columns()) + ", but " + std::to_string(points.rows()) + " x " +
                     std::to_string(centroids.rows()) + " is needed (points x centroids)");
  with_bytes_of(points, [&](auto view) { execution::check_apart(distances, "distances", view, "points"); });
  execution::check_apart(distances, "distances", centroids, "centroids");
}

#define GRADUS_INSTANTIATE(T)                                                                                         \
  template void check_arguments(const PointRows<T>&, const KMeansOptions&, const KMeansMemory<T>&, const Execution&,  \
                                bool);                                                                                \
  template void check_points(const PointRows<T>&, const Execution&);                                                  \
  template void check_model(MatrixView<const T>, const PointRows<T>&, KMeansMetric, const Execution&);                \
  template void check_prediction(MatrixView<const T>, const PointRows<T>&, const KMeansMemory<T>&, const Execution&); \
  template void check_no_labels(const KMeansMemory<T>&);                                                              \
  template void check_distances(MatrixView<const T>, const PointRows<T>&, MatrixView<T>)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
