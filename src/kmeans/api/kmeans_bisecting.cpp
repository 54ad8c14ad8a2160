// kmeans_bisecting(): bisecting k-means, and the labels of further points by its tree.
#include "gradus/kmeans_bisecting.hpp"

#include <string>

#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/hierarchy/bisection.hpp"
#include "kmeans/hierarchy/options.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/options.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/seeding/initialize.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

[[noreturn]] void refuse_in_bisecting(std::string_view name) {
  throw UsageError(
      option("KMeansOptions::" + std::string(name)) + ": bisecting k-means does not support this option; leave it out",
      {.code = error_code::no_effect, .argument = std::string(name)});
}

template <class T>
void check_bisecting(MatrixView<const T> points, const KMeansOptions& options, KMeansSplit split,
                     const KMeansMemory<T>& memory, const Execution& execution) {
  execution::check_execution(execution);
  core::check_choice(split, "split");
  if (!points.place().is_host() || !memory.weights.place().is_host() || !memory.labels.place().is_host())
    throw UnsupportedError("bisecting k-means reads points, weights and labels in host memory; copy them there");
  room::check_arguments<T>(points, options, memory, execution, true);
  for (const core::Option& row : core::option_rows<KMeansOptions>)
    if (!room::is_of_bisecting(row) && row.get(&options) != row.default_value()) refuse_in_bisecting(row.name);
  if (!options.checkpoint.file.empty()) refuse_in_bisecting("checkpoint");
  if (options.init == KMeansInit::given) refuse_in_bisecting("init");
  if (options.restarts == 0) refuse_in_bisecting("restarts");
  const std::int64_t different = room::count_different<T>(
      room::HostPoints<T>(points, memory.weights, cpu::thread_count(execution), execution.stop), options.clusters);
  if (different < options.clusters && !room::accepts_fewer_different(options))
    room::throw_too_few(options.clusters, different, "different point",
                        memory.weights.empty() ? "" : " of positive weight", room::how_to_accept_fewer());
}

/// Returns the label of a point.
template <class T>
std::int32_t label_of(const T* point, MatrixView<const T> centroids, std::span<const std::int32_t> next) {
  std::int32_t split = next.empty() ? ~std::int32_t{0} : 0;
  while (split >= 0) {
    const std::int64_t left = 2 * std::int64_t{split};
    const T* const children[] = {centroids.row(left), centroids.row(left + 1)};
    double distances[2];
    room::squared_distances<T>(&point, 1, children, 2, centroids.columns(), distances);
    split = next[static_cast<std::size_t>(distances[1] < distances[0] ? left + 1 : left)];
  }
  return ~split;
}

/// Throws UsageError unless the tree has two centroids per split and each split is the child of an earlier one.
template <class T>
void check_tree(MatrixView<const T> centroids, std::span<const std::int32_t> next) {
  bool is_tree = centroids.rows() == std::ssize(next) && next.size() % 2 == 0;
  for (std::size_t child = 0; is_tree && child < next.size(); ++child)
    is_tree = next[child] < 0 || (next[child] > static_cast<std::int32_t>(child / 2) &&
                                  static_cast<std::size_t>(next[child]) < next.size() / 2);
  if (!is_tree) throw UsageError(about("tree") + "it is not the tree of kmeans_bisecting()");
}

}  // namespace

namespace detail {

template <class T>
KMeansBisection<T> kmeans_bisecting(MatrixView<const T> points, const KMeansOptions& options, KMeansSplit split,
                                    const KMeansMemory<T>& memory, const Execution& execution,
                                    const KMeansFirstTwo<T>& first_two) {
  return execution::whole_call(execution, [&](const Execution& here) {
    const auto start = core::Clock::now();
    check_bisecting(points, options, split, memory, here);
    const KMeansShape shape{points.rows(), points.columns(), static_cast<int>(sizeof(T)), !memory.weights.empty()};
    execution::check_memory(room::bisecting_bytes(shape, options, here), here, "fewer points need less");
    KMeansBisection<T> result = room::bisect(points, options, split, memory, here, first_two);
    result.report.device = execution::device_name(false, here);
    result.report.threads = cpu::thread_count(here);
    core::add_phase(result.report.phases, "total", core::seconds_since(start));
    return result;
  });
}

template <class T>
Buffer<std::int32_t> kmeans_tree_labels(MatrixView<const T> centroids, std::span<const std::int32_t> next,
                                        MatrixView<const T> points, const Execution& execution) {
  return execution::whole_call(execution, [&](const Execution& here) {
    execution::check_execution(here);
    if (!points.place().is_host())
      throw UnsupportedError(about("points") + "the labels of a tree are found in host memory; copy the points there");
    room::check_points<T>(points, here);
    check_tree(centroids, next);
    if (!next.empty()) room::check_model<T>(centroids, points, KMeansMetric::euclidean, here);
    const int threads = cpu::thread_count(here);
    room::HostPoints<T>(points, {}, threads, here.stop).column_ranges();  // throws for NaN and infinity
    Buffer<std::int32_t> labels(points.rows());
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (std::int64_t row = 0; row < points.rows(); ++row)
      if (!here.stop.stop_requested()) labels[row] = label_of(points.row(row), centroids, next);
    core::honour_stop(here.stop, "stopped while labelling");
    return labels;
  });
}

#define GRADUS_INSTANTIATE(T)                                                                                       \
  template KMeansBisection<T> kmeans_bisecting(MatrixView<const T>, const KMeansOptions&, KMeansSplit,              \
                                               const KMeansMemory<T>&, const Execution&, const KMeansFirstTwo<T>&); \
  template Buffer<std::int32_t> kmeans_tree_labels(MatrixView<const T>, std::span<const std::int32_t>,              \
                                                   MatrixView<const T>, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace detail

}  // namespace gradus
