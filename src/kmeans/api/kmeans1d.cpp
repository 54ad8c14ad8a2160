// kmeans1d(): the optimum in one dimension.
#include "gradus/kmeans1d.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/memory.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/error.hpp"
#include "kmeans/assign/simd_rows.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/line/borders.hpp"
#include "kmeans/line/options.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/options.hpp"
#include "kmeans/seeding/initialize.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

template <class T>
class Optimum1d {
 public:
  Optimum1d(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
            const Execution& execution)
      : points_(points), options_(options), memory_(memory), execution_(execution) {}

  KMeans1dResult<T> run() {
    const auto start = core::Clock::now();
    check();
    estimate();
    {
      const core::PhaseTimer timer(result_.report.phases, "sort");
      statistics_ = room::examine(points_, memory_.weights, MatrixView<const T>{}, 1, execution_.stop);
      line_ = room::sorted_line(points_, memory_.weights, execution_.stop);
      check_groups();
    }
    {
      const core::PhaseTimer timer(result_.report.phases, "borders");
      place_borders();
    }
    {
      const core::PhaseTimer timer(result_.report.phases, "labels");
      label();
    }
    result_.report.device = execution::device_name(false, execution_);
    result_.report.threads = 1;
    core::add_phase(result_.report.phases, "total", core::seconds_since(start));
    return std::move(result_);
  }

 private:
  void check() const {
    execution::check_execution(execution_);
    if (execution_.device == Device::gpu || !points_.place().is_host() || !memory_.weights.place().is_host() ||
        !memory_.labels.place().is_host())
      throw UnsupportedError(
          "the optimum in one dimension is computed on the CPU; keep points, weights and labels in host memory, and "
          "ask for no GPU");
    if (!execution_.variant.empty() || !execution_.variant_options.empty())
      throw UnsupportedError(about("variant") + "the optimum in one dimension has no variants; leave it out");
    room::check_arguments<T>(points_, options_, memory_, execution_, true);
    for (const core::Option& row : core::option_rows<KMeansOptions>)
      if (!room::is_of_optimum(row) && row.get(&options_) != row.default_value()) refuse_option(row.name);
    if (!options_.checkpoint.file.empty()) refuse_option("checkpoint");
    execution::check_extent(points_, "points");
    if (points_.columns() != 1)
      throw InputError(
          about("points") + "there are " + std::to_string(points_.columns()) +
              " columns, but the optimum is known for one column only; choose a column, or use Lloyd's "
              "algorithm",
          {.code = error_code::shape_mismatch, .value = std::to_string(points_.columns()), .allowed = "1"});
  }

  [[noreturn]] static void refuse_option(std::string_view name) {
    throw UsageError(about(name) + "an option of Lloyd's algorithm, which the optimum in one dimension does not use",
                     {.code = error_code::no_effect, .argument = std::string(name)});
  }

  void estimate() const {
    execution::check_memory(
        room::bytes_of_line(static_cast<std::uint64_t>(points_.rows()), static_cast<std::uint64_t>(options_.clusters),
                            !memory_.weights.empty()),
        execution_, "fewer points need less");
  }

  void check_groups() const {
    if (options_.clusters <= line_.groups() || room::accepts_fewer_different(options_)) return;
    room::throw_too_few(options_.clusters, line_.groups(), "different point",
                        memory_.weights.empty() ? "" : " of positive weight", room::how_to_accept_fewer());
  }

  void place_borders() {
    const std::int64_t used = std::min(options_.clusters, line_.groups());
    const room::LineSums sums(line_, execution_.stop);
    const std::vector<std::int32_t> borders = room::best_borders(line_, sums, used, execution_);
    result_.centroids = Matrix<T>(options_.clusters, 1);
    for (std::int64_t cluster = 0; cluster < options_.clusters; ++cluster) {
      const auto index = static_cast<std::size_t>(cluster % used);
      result_.centroids(cluster, 0) = cluster < used
                                          ? room::rounded_mean<T>(line_, sums, borders[index], borders[index + 1])
                                          : result_.centroids(cluster % used, 0);
    }
    for (std::int64_t cluster = 0; cluster < used; ++cluster)
      starts_.push_back(line_.values[static_cast<std::size_t>(borders[static_cast<std::size_t>(cluster)])]);
  }

  void label() {
    const std::int64_t n = points_.rows();
    const VectorView<const T> weights = memory_.weights;
    if (memory_.labels.empty()) result_.labels = Buffer<std::int32_t>(n);
    std::int32_t* const labels = memory_.labels.empty() ? result_.labels.data() : memory_.labels.data();
    cpu::prefer_large_pages(labels, static_cast<std::uint64_t>(n) * sizeof(*labels));
    result_.counts.assign(static_cast<std::size_t>(options_.clusters), 0);
    std::array<double, 128 * room::values_together> values{};
    for (std::int64_t first = 0; first < n; first += std::ssize(values)) {
      core::honour_stop(execution_.stop, "stopped while labelling");
      const std::int64_t count = std::min(std::ssize(values), n - first);
      for (std::int64_t index = 0; index < count; ++index)
        values[static_cast<std::size_t>(index)] = static_cast<double>(points_(first + index, 0));
      room::ranges_of(starts_, values.data(), count, labels + first);
      for (std::int64_t row = first; row < first + count; ++row) {
        if (!weights.empty() && !(weights[row] > 0))
          labels[row] = static_cast<std::int32_t>(nearest(static_cast<double>(points_(row, 0)), labels[row]));
        ++result_.counts[static_cast<std::size_t>(labels[row])];
      }
    }
    room::Problem<T> problem;
    problem.points = points_;
    problem.weights = weights;
    problem.initial_centroids = result_.centroids.view();
    problem.statistics = statistics_;
    problem.stop = execution_.stop;
    result_.inertia = room::total_inertia(problem, problem.initial_centroids, labels, 1);
    core::honour_stop(execution_.stop, "stopped while labelling");
    if (!std::isfinite(result_.inertia))
      throw InputError("the inertia is beyond the range of double; scale the points or their weights down");
  }

  /// Returns the cluster with the nearest centroid for a value between the first values of this cluster and the next.
  std::int64_t nearest(double value, std::int64_t cluster) const {
    if (cluster + 1 < std::ssize(starts_) && squared_distance(value, cluster + 1) < squared_distance(value, cluster))
      return cluster + 1;
    while (cluster > 0 && squared_distance(value, cluster - 1) <= squared_distance(value, cluster)) --cluster;
    return cluster;
  }

  double squared_distance(double value, std::int64_t cluster) const {
    const double difference = value - static_cast<double>(result_.centroids(cluster, 0));
    return difference * difference;
  }

  MatrixView<const T> points_;
  const KMeansOptions& options_;
  const KMeansMemory<T>& memory_;
  const Execution& execution_;
  room::Statistics statistics_;
  room::LineValues line_;
  std::vector<double> starts_;  ///< the first value of each cluster that has points
  KMeans1dResult<T> result_;
};

}  // namespace

namespace detail {

template <class T>
KMeans1dResult<T> kmeans1d(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                           const Execution& execution) {
  return execution::whole_call(
      execution, [&](const Execution& here) { return Optimum1d<T>(points, options, memory, here).run(); });
}

template KMeans1dResult<float> kmeans1d(MatrixView<const float>, const KMeansOptions&, const KMeansMemory<float>&,
                                        const Execution&);
template KMeans1dResult<double> kmeans1d(MatrixView<const double>, const KMeansOptions&, const KMeansMemory<double>&,
                                         const Execution&);

}  // namespace detail

}  // namespace gradus
