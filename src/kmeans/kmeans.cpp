// The public entry points: check, choose, run.
#include "gradus/kmeans.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/checked.hpp"
#include "core/phases.hpp"
#include "core/request.hpp"
#include "cpu/threads.hpp"
#include "kmeans/distance.hpp"
#include "kmeans/initialize.hpp"
#include "kmeans/lloyd.hpp"
#include "kmeans/statistics.hpp"

namespace gradus {

namespace room = kmeans_detail;

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::labels_unchanged: return "no label changed";
    case StopReason::centroids_settled: return "the centroids moved less than the tolerance";
    case StopReason::few_labels_changed: return "few labels changed";
    case StopReason::iteration_limit: return "the iteration limit was reached";
  }
  return "?";
}

namespace {

template <class T>
void check_points(MatrixView<const T> points) {
  core::check_rows(points, "points");
  if (points.rows() < 1 || points.columns() < 1)
    throw InputError("points: at least one row and one column are needed, not " + std::to_string(points.rows()) +
                     " x " + std::to_string(points.columns()));
}

template <class T>
void check_options(const KMeansOptions<T>& options) {
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
}

template <class T>
void check_against_points(MatrixView<const T> points, const KMeansOptions<T>& options) {
  const std::int64_t n = points.rows();
  if (options.clusters > n)
    throw InputError("points: " + std::to_string(options.clusters) + " clusters were asked for, but there are only " +
                     std::to_string(n) + " points; ask for at most that many clusters");
  core::check_one_for_each(options.weights, n, "weights", "points");
  if (options.init != KMeansInit::given) return;
  const MatrixView<const T>& given = options.initial_centroids;
  core::check_place(given.place(), "initial centroids");
  if (given.rows() != options.clusters || given.columns() != points.columns())
    throw InputError("initial centroids: the shape is " + std::to_string(given.rows()) + " x " +
                     std::to_string(given.columns()) + ", but " + std::to_string(options.clusters) + " x " +
                     std::to_string(points.columns()) + " is needed (clusters x columns of the points)");
}

template <class T>
room::Shape shape_of(std::int64_t n, std::int64_t d, const KMeansOptions<T>& options) {
  return {n, d, options.clusters, static_cast<int>(sizeof(T)), !options.weights.empty()};
}

void check_graph_file(const room::Variant& variant, const Execution& execution) {
  if (execution.graph_file.empty() || variant.writes_graph) return;
  std::string writers;
  for (const room::Variant& other : room::variants())
    if (other.writes_graph) writers += (writers.empty() ? "'" : ", '") + std::string(other.name) + "'";
  throw UsageError("kmeans variant '" + std::string(variant.name) + "' has no task graph to write to '" +
                   execution.graph_file + "'; the variants that have one: " + writers);
}

const room::Variant& select(const room::Shape& shape, const Execution& execution) {
  const room::Variant& variant = core::wanted_variant(room::variants(), room::choose, shape, execution, "kmeans");
  check_graph_file(variant, execution);
  core::check_runs_here(variant, shape, execution, "kmeans");
  return variant;
}

template <class T>
std::uint64_t memory_needed(const room::Shape& shape, const KMeansOptions<T>& options, const Execution& execution,
                            const room::Variant& variant) {
  const auto n = static_cast<std::uint64_t>(shape.points);
  const auto centroid_bytes =
      core::checked_multiply(core::checked_multiply(static_cast<std::uint64_t>(shape.clusters),
                                                    static_cast<std::uint64_t>(shape.dimensions), "centroids"),
                             std::uint64_t{sizeof(T)}, "centroids");
  std::uint64_t bytes = 4 * n + 4 * centroid_bytes;  // labels; centroids of this, the next and the best fit
  if (options.restarts > 1) bytes += 4 * n;
  if (options.metric == Metric::cosine)
    bytes += core::checked_multiply(n * sizeof(T), static_cast<std::uint64_t>(shape.dimensions), "points");
  const bool samples = options.init == KMeansInit::kmeans_plus_plus || options.init == KMeansInit::kmeans_parallel;
  std::uint64_t initialization = samples ? 16 * n : 0;
  if (options.init == KMeansInit::kmeans_parallel)  // the sample of about 10 k rows
    initialization += core::checked_multiply(std::uint64_t{11}, centroid_bytes, "centroids");
  return bytes + std::max(initialization, variant.memory(shape, cpu::thread_count(execution)));
}

template <class T>
Matrix<T> unit_rows(MatrixView<const T> points, const char* what, int threads) {
  Matrix<T> unit(points.rows(), points.columns());
  std::int64_t zero_row = points.rows();
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : zero_row)
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    bool zero = true;
    for (std::int64_t dim = 0; dim < points.columns(); ++dim) {
      unit(row, dim) = points(row, dim);
      zero = zero && points(row, dim) == 0;
    }
    if (zero) zero_row = std::min(zero_row, row);
    room::normalize_rows(unit.view().slice(row, 1));
  }
  if (zero_row < points.rows())
    throw InputError(std::string(what) + ": row " + std::to_string(zero_row) +
                     " (counted from 0) is all zeros and has no direction; the cosine metric needs one");
  return unit;
}

}  // namespace

template <class T>
std::uint64_t kmeans_memory(std::int64_t points, std::int64_t dimensions, const KMeansOptions<T>& options,
                            const Execution& execution) {
  const room::Shape shape = shape_of(points, dimensions, options);
  return memory_needed(shape, options, execution, select(shape, execution));
}

template <class T>
KMeansResult<T> kmeans(MatrixView<const T> points, const KMeansOptions<T>& options, const Execution& execution) {
  const auto start = core::Clock::now();
  check_options(options);
  check_points(points);
  check_against_points(points, options);
  const int threads = cpu::thread_count(execution);
  const room::Shape shape = shape_of(points.rows(), points.columns(), options);
  const room::Variant& variant = select(shape, execution);
  core::check_memory(memory_needed(shape, options, execution, variant), execution);

  std::vector<Phase> phases;
  room::Problem<T> problem;
  problem.points = points;
  problem.weights = options.weights;
  problem.max_iterations = options.max_iterations;
  problem.changed_limit = static_cast<std::int64_t>(options.changed_fraction * static_cast<double>(points.rows()));
  problem.empty = options.empty;
  problem.metric = options.metric;

  KMeansOptions<T> initial = options;
  Matrix<T> unit_points;
  Matrix<T> unit_centroids;
  {
    core::PhaseTimer timer(phases, "examine");
    const MatrixView<const T> given =
        options.init == KMeansInit::given ? options.initial_centroids : MatrixView<const T>{};
    problem.statistics = room::examine(points, options.weights, given, threads);
    room::require_distinct(points, options.weights, options.clusters);
    if (options.metric == Metric::cosine) {
      unit_points = unit_rows(points, "points", threads);
      problem.points = std::as_const(unit_points).view();
      if (given.rows() > 0) {
        unit_centroids = unit_rows(given, "initial centroids", 1);
        initial.initial_centroids = std::as_const(unit_centroids).view();
      }
      problem.statistics = room::examine(problem.points, options.weights, initial.initial_centroids, threads);
      room::require_distinct(problem.points, options.weights, options.clusters);
    }
    if (options.tolerance > 0)
      problem.shift_limit = options.tolerance * room::mean_column_variance(problem.points, threads);
  }

  std::optional<KMeansResult<T>> best;
  for (int restart = 0; restart < options.restarts; ++restart) {
    Matrix<T> first;
    {
      core::PhaseTimer timer(phases, "initialize");
      first = room::initialize(problem.points, initial, execution, restart);
    }
    problem.initial_centroids = std::as_const(first).view();
    KMeansResult<T> result = variant.run(problem, execution);
    for (const Phase& phase : result.phases) core::add_phase(phases, phase.name, phase.seconds);
    if (!best || result.inertia < best->inertia) {
      best = std::move(result);
      best->restart = restart;
    }
  }
  best->variant = variant.name;
  best->device = core::device_name(variant, execution);
  core::add_phase(phases, "total", core::seconds_since(start));
  best->phases = std::move(phases);
  return std::move(*best);
}

namespace {

template <class T>
void check_model(MatrixView<const T> centroids, MatrixView<const T> points) {
  check_points(points);
  core::check_place(centroids.place(), "centroids");
  if (centroids.rows() < 1 || centroids.columns() != points.columns())
    throw InputError("centroids: the shape is " + std::to_string(centroids.rows()) + " x " +
                     std::to_string(centroids.columns()) + ", but the points have " + std::to_string(points.columns()) +
                     " columns");
}

}  // namespace

template <class T>
KMeansPrediction<T> kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points, Metric metric,
                                   const Execution& execution) {
  check_model(centroids, points);
  const int threads = cpu::thread_count(execution);
  room::Problem<T> problem;
  problem.points = points;
  problem.initial_centroids = centroids;
  problem.metric = metric;
  problem.max_iterations = 0;  // no update: only the last assignment
  problem.statistics = room::examine<T>(points, {}, centroids, threads);
  Matrix<T> unit_points;
  Matrix<T> unit_centroids;
  if (metric == Metric::cosine) {
    unit_points = unit_rows(points, "points", threads);
    unit_centroids = unit_rows(centroids, "centroids", 1);
    problem.points = std::as_const(unit_points).view();
    problem.initial_centroids = std::as_const(unit_centroids).view();
    problem.statistics = room::examine<T>(problem.points, {}, problem.initial_centroids, threads);
  }
  const room::Shape shape{points.rows(), points.columns(), centroids.rows(), static_cast<int>(sizeof(T)), false};
  KMeansResult<T> result = select(shape, execution).run(problem, execution);
  return {std::move(result.labels), result.inertia};
}

template <class T>
Matrix<T> kmeans_transform(MatrixView<const T> centroids, MatrixView<const T> points, Metric metric,
                           const Execution& execution) {
  check_model(centroids, points);
  const int threads = cpu::thread_count(execution);
  room::examine<T>(points, {}, centroids, threads);
  Matrix<T> unit_points;
  Matrix<T> unit_centroids;
  if (metric == Metric::cosine) {
    unit_points = unit_rows(points, "points", threads);
    unit_centroids = unit_rows(centroids, "centroids", 1);
    points = std::as_const(unit_points).view();
    centroids = std::as_const(unit_centroids).view();
  }
  Matrix<T> distances(points.rows(), centroids.rows());
#pragma omp parallel num_threads(threads)
  {
    // Tiles that stay in the cache: a whole row of the result would not, with many centroids.
    constexpr std::int64_t tile = 64;
    double squared[tile * tile];
    const T* some_points[tile];
    const T* some_centroids[tile];
#pragma omp for schedule(static)
    for (std::int64_t first = 0; first < points.rows(); first += tile) {
      const std::int64_t count = std::min(tile, points.rows() - first);
      for (std::int64_t row = 0; row < count; ++row) some_points[row] = points.row(first + row);
      for (std::int64_t cluster = 0; cluster < centroids.rows(); cluster += tile) {
        const std::int64_t clusters = std::min(tile, centroids.rows() - cluster);
        for (std::int64_t row = 0; row < clusters; ++row) some_centroids[row] = centroids.row(cluster + row);
        room::squared_distances<T>(some_points, count, some_centroids, clusters, points.columns(), squared);
        const double* next = squared;
        for (std::int64_t column = cluster; column < cluster + clusters; ++column)
          for (std::int64_t row = first; row < first + count; ++row, ++next)
            distances(row, column) = static_cast<T>(metric == Metric::cosine ? 0.5 * *next : std::sqrt(*next));
      }
    }
  }
  return distances;
}

#define GRADUS_INSTANTIATE(T)                                                                                      \
  template KMeansResult<T> kmeans(MatrixView<const T>, const KMeansOptions<T>&, const Execution&);                 \
  template KMeansPrediction<T> kmeans_predict(MatrixView<const T>, MatrixView<const T>, Metric, const Execution&); \
  template Matrix<T> kmeans_transform(MatrixView<const T>, MatrixView<const T>, Metric, const Execution&);         \
  template std::uint64_t kmeans_memory(std::int64_t, std::int64_t, const KMeansOptions<T>&, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus
