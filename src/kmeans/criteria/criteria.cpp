// kmeans_criteria() (gradus/kmeans_criteria.hpp): measures how well labelings separate clusters. The silhouette is in
// silhouette.hpp. The Calinski-Harabasz and Davies-Bouldin indices need only the means of the clusters and read the
// points twice per labeling.
//
// The points are divided into parts that depend only on the shape. Within a part, the rows are added in ascending
// order. The sums of the parts are also added in ascending order. Therefore the bits of the result do not depend on the
// number of threads. The sums add differences from the first point, so that coordinates far from zero lose no accuracy.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/checked.hpp"
#include "core/options.hpp"
#include "core/phases.hpp"
#include "core/philox.hpp"
#include "core/stop.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans_criteria.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/criteria/criteria.hpp"
#include "kmeans/criteria/silhouette.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/points/unit_rows.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

void check_criteria_options(const KMeansCriteriaOptions& options) {
  core::check_choice(options.metric, "metric");
  if (options.silhouette_points < 2)
    throw UsageError("the silhouette needs at least 2 points, not " + std::to_string(options.silhouette_points));
}

void check_place(MemoryPlace place, const char* what) {
  if (!place.is_host())
    throw UnsupportedError(about(what) + "they are on " + execution::gpu_number(place.gpu) +
                           ", but criteria are measured on the CPU; copy them to host memory");
}

template <class T>
void check_input(const room::PointRows<T>& points, std::span<const VectorView<const std::int32_t>> labelings,
                 const Execution& execution) {
  room::check_points(points, execution);
  check_place(points.place(), "points");
  for (const auto& labels : labelings) {
    execution::check_view(labels, "labels");
    check_place(labels.place(), "labels");
    if (labels.size() != points.rows())
      throw InputError(about("labels") + "there are " + std::to_string(labels.size()) + ", but " +
                       std::to_string(points.rows()) + " points");
  }
}

/// Returns the number of clusters that have points. Throws InputError if the criteria are undefined for these labels.
std::int64_t check_labels(VectorView<const std::int32_t> labels) {
  const std::int64_t n = labels.size();
  std::vector<bool> seen(static_cast<std::size_t>(n));
  std::int64_t clusters = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    const std::int32_t label = labels[row];
    if (label < 0 || label >= n)
      throw InputError(about("labels") + "row " + std::to_string(row) + " is " + std::to_string(label) +
                       "; labels must be between 0 and the number of points less one, " + std::to_string(n - 1));
    if (!seen[static_cast<std::size_t>(label)]) ++clusters;
    seen[static_cast<std::size_t>(label)] = true;
  }
  if (clusters < 2 || clusters > n - 1)
    throw InputError(about("labels") + std::to_string(clusters) + " of the clusters have points, of which there are " +
                     std::to_string(n) + "; criteria need at least 2 clusters, and fewer than points");
  return clusters;
}

std::int64_t label_count(VectorView<const std::int32_t> labels) {
  std::int32_t most = 0;
  for (std::int64_t row = 0; row < labels.size(); ++row) most = std::max(most, labels[row]);
  return std::int64_t{most} + 1;
}

/// Returns the number of parts into which the points are divided. The sums of all parts together take at most 64 MiB,
/// and each part has enough work for a thread.
std::int64_t parts_of(std::int64_t points, std::int64_t clusters, std::int64_t columns) {
  constexpr std::int64_t most_sums = std::int64_t{1} << 23;
  constexpr std::int64_t most_parts = 64;
  constexpr std::int64_t least_values = std::int64_t{1} << 14;
  const std::int64_t by_memory = most_sums / std::max<std::int64_t>(clusters * (columns + 2), 1);
  const std::int64_t by_work = points * columns / least_values;
  return std::clamp<std::int64_t>(std::min(by_memory, by_work), 1, most_parts);
}

/// The means of the clusters relative to the first point, and the distances between the points and their means.
struct Clusters {
  std::vector<std::int64_t> counts;
  std::vector<double> means;      ///< clusters x columns
  std::vector<double> distances;  ///< for each cluster: the sum of its points' distances from its mean
  double squares = 0;             ///< the sum of all squared distances
};

template <class T>
class Spread {
 public:
  Spread(const room::PointRows<T>& points, VectorView<const std::int32_t> labels, std::int64_t clusters, int threads,
         const std::stop_token& stop)
      : points_(points), labels_(labels), clusters_(clusters), columns_(points.columns()), threads_(threads),
        stop_(stop), parts_(parts_of(points.rows(), clusters, points.columns())), first_(points.room(1)),
        origin_(points.row(0, first_.data())) {}

  Clusters measure() {
    Clusters clusters;
    clusters.counts.resize(static_cast<std::size_t>(clusters_));
    for (std::int64_t row = 0; row < labels_.size(); ++row) ++clusters.counts[static_cast<std::size_t>(labels_[row])];
    clusters.means = sums(columns_, [&](std::int32_t, const T* row, double* sum) {
      for (std::int64_t dim = 0; dim < columns_; ++dim) sum[dim] += shifted(row, dim);
    });
    for (std::int64_t cluster = 0; cluster < clusters_; ++cluster)
      for (std::int64_t dim = 0; dim < columns_; ++dim)
        if (clusters.counts[static_cast<std::size_t>(cluster)] > 0)
          clusters.means[static_cast<std::size_t>(cluster * columns_ + dim)] /=
              static_cast<double>(clusters.counts[static_cast<std::size_t>(cluster)]);
    const double* const means = clusters.means.data();
    const std::vector<double> spread = sums(2, [&](std::int32_t label, const T* row, double* sum) {
      const double* const mean = means + label * columns_;
      double squares = 0;
      for (std::int64_t dim = 0; dim < columns_; ++dim) {
        const double difference = shifted(row, dim) - mean[dim];
        squares += difference * difference;
      }
      sum[0] += std::sqrt(squares);
      sum[1] += squares;
    });
    for (std::int64_t cluster = 0; cluster < clusters_; ++cluster) {
      clusters.distances.push_back(spread[static_cast<std::size_t>(2 * cluster)]);
      clusters.squares += spread[static_cast<std::size_t>(2 * cluster + 1)];
    }
    return clusters;
  }

 private:
  double shifted(const T* row, std::int64_t dim) const {
    return static_cast<double>(row[dim]) - static_cast<double>(origin_[dim]);
  }

  /// Calls add(label, row, sums) for each row, with the sums of the row's cluster. Returns the sums of all clusters,
  /// with `width` numbers per cluster.
  template <class Add>
  std::vector<double> sums(std::int64_t width, const Add& add) const {
    const std::int64_t size = clusters_ * width;
    std::vector<double> parts(static_cast<std::size_t>(parts_ * size));
    const std::int64_t stretch = core::chunk_length(points_.rows(), columns_);
    Buffer<T> room(points_.room(threads_));
#pragma omp parallel for num_threads(threads_) schedule(dynamic) if (threads_ > 1)
    for (std::int64_t part = 0; part < parts_; ++part) {
      const cpu::Range rows = cpu::share(points_.rows(), static_cast<int>(part), static_cast<int>(parts_));
      double* const own = parts.data() + part * size;
      for (std::int64_t first = rows.begin; first < rows.end && !stop_.stop_requested(); first += stretch)
        for (std::int64_t row = first; row < std::min(first + stretch, rows.end); ++row)
          add(labels_[row], points_.row(row, room.data(), omp_get_thread_num()), own + labels_[row] * width);
    }
    core::honour_stop(stop_, "stopped while measuring clusters");
    std::vector<double> total(static_cast<std::size_t>(size));
    for (std::int64_t part = 0; part < parts_; ++part)
      for (std::int64_t at = 0; at < size; ++at)
        total[static_cast<std::size_t>(at)] += parts[static_cast<std::size_t>(part * size + at)];
    return total;
  }

  room::PointRows<T> points_;
  VectorView<const std::int32_t> labels_;
  std::int64_t clusters_;
  std::int64_t columns_;
  int threads_;
  std::stop_token stop_;
  std::int64_t parts_;
  Buffer<T> first_;  ///< memory for the first row
  const T* origin_;  ///< the first row
};

double squared_distance_of(const double* one, const double* other, std::int64_t columns) {
  double squares = 0;
  for (std::int64_t dim = 0; dim < columns; ++dim) squares += (one[dim] - other[dim]) * (one[dim] - other[dim]);
  return squares;
}

double calinski_harabasz(const Clusters& clusters, std::int64_t present, std::int64_t points, std::int64_t columns) {
  if (clusters.squares == 0) return 1;
  std::vector<double> mean(static_cast<std::size_t>(columns));
  for (std::size_t cluster = 0; cluster < clusters.counts.size(); ++cluster)
    for (std::size_t dim = 0; dim < mean.size(); ++dim)
      mean[dim] += static_cast<double>(clusters.counts[cluster]) / static_cast<double>(points) *
                   clusters.means[cluster * mean.size() + dim];
  double between = 0;
  for (std::size_t cluster = 0; cluster < clusters.counts.size(); ++cluster)
    between += static_cast<double>(clusters.counts[cluster]) *
               squared_distance_of(clusters.means.data() + cluster * mean.size(), mean.data(), columns);
  return between / static_cast<double>(present - 1) / (clusters.squares / static_cast<double>(points - present));
}

double davies_bouldin(const Clusters& clusters, std::int64_t present, std::int64_t columns, int threads,
                      const std::stop_token& stop) {
  const std::ptrdiff_t all = std::ssize(clusters.counts);
  std::vector<double> spread(clusters.counts.size());
  std::vector<double> worst(clusters.counts.size());
  for (std::size_t cluster = 0; cluster < spread.size(); ++cluster)
    if (clusters.counts[cluster] > 0)
      spread[cluster] = clusters.distances[cluster] / static_cast<double>(clusters.counts[cluster]);
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
  for (std::ptrdiff_t one = 0; one < all; ++one) {
    if (stop.stop_requested() || clusters.counts[static_cast<std::size_t>(one)] == 0) continue;
    for (std::ptrdiff_t other = 0; other < all; ++other) {
      if (other == one || clusters.counts[static_cast<std::size_t>(other)] == 0) continue;
      const double distance = std::sqrt(
          squared_distance_of(clusters.means.data() + one * columns, clusters.means.data() + other * columns, columns));
      if (distance == 0) continue;
      worst[static_cast<std::size_t>(one)] =
          std::max(worst[static_cast<std::size_t>(one)],
                   (spread[static_cast<std::size_t>(one)] + spread[static_cast<std::size_t>(other)]) / distance);
    }
  }
  core::honour_stop(stop, "stopped while measuring clusters");
  double sum = 0;
  for (const double ratio : worst) sum += ratio;
  return sum / static_cast<double>(present);
}

/// Draws `count` different row numbers between 0 and n - 1. Returns them in ascending order.
std::vector<std::int64_t> drawn_rows(std::int64_t n, std::int64_t count, std::uint64_t seed) {
  constexpr std::uint64_t stream = 0x53494C48;  // a random stream that only these draws use
  const core::Philox random(seed, stream);
  // Draws the sample or its complement, whichever is smaller.
  const std::int64_t draws = std::min(count, n - count);
  std::vector<bool> drawn(static_cast<std::size_t>(n));
  std::uint64_t index = 0;
  for (std::int64_t done = 0; done < draws;) {
    const std::uint64_t row = random.below(index++, static_cast<std::uint64_t>(n));
    if (drawn[row]) continue;
    drawn[row] = true;
    ++done;
  }
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < n; ++row)
    if (drawn[static_cast<std::size_t>(row)] == (draws == count)) rows.push_back(row);
  return rows;
}

/// Returns the labels of the rows, renumbered in order of first appearance.
room::Labeling labeling_of(VectorView<const std::int32_t> labels, const std::vector<std::int64_t>& rows) {
  std::vector<std::int32_t> number(static_cast<std::size_t>(label_count(labels)), -1);
  room::Labeling labeling;
  for (const std::int64_t row : rows) {
    std::int32_t& own = number[static_cast<std::size_t>(labels[row])];
    if (own < 0) own = static_cast<std::int32_t>(labeling.clusters++);
    labeling.labels.push_back(own);
  }
  return labeling;
}

template <class T>
class Criteria {
 public:
  Criteria(const room::PointRows<T>& points, std::span<const VectorView<const std::int32_t>> labelings,
           const KMeansCriteriaOptions& options, const Execution& execution)
      : points_(points), labelings_(labelings), options_(options), execution_(execution),
        threads_(cpu::thread_count(execution)) {}

  KMeansCriteriaResult measure() {
    const auto start = core::Clock::now();
    KMeansCriteriaResult result;
    std::vector<Phase>& phases = result.report.phases;
    {
      const core::PhaseTimer timer(phases, "examine");
      for (const auto& labels : labelings_) present_.push_back(check_labels(labels));
      const std::int64_t side = std::min<std::int64_t>(sample_size(), 1 << 12);
      // Counts only some of the columns if there are many, because the product could otherwise exceed 2^63. The result
      // does not change.
      const std::int64_t columns = std::min<std::int64_t>(points_.columns(), 1 << 10);
      execution::check_memory(bytes(), execution_, "fewer labelings at a time, or fewer points for the silhouette");
      constexpr double nanoseconds_a_product = 0.4;
      threads_ = cpu::start_team(cpu::chosen_threads(
          nanoseconds_a_product * static_cast<double>((points_.rows() + side * side) * columns), execution_));
      room::examine<T>(
          *room::points_in_host_memory<T>(points_, {}, threads_, execution_.stop, core::RankRows(points_.rows())), {});
      if (options_.metric == KMeansMetric::cosine) {
        unit_ = room::unit_rows<T>(points_, "points", threads_, execution_.stop);
        points_ = std::as_const(unit_).view();
      }
    }
    {
      const core::PhaseTimer timer(phases, "indices");
      for (std::size_t index = 0; index < labelings_.size(); ++index)
        result.labelings.push_back(indices(labelings_[index], present_[index]));
    }
    {
      const core::PhaseTimer timer(phases, "silhouette");
      add_silhouettes(result.labelings);
    }
    result.silhouette_points = sample_size();
    result.report.device = execution::device_name(false, execution_);
    result.report.threads = threads_;
    core::add_phase(phases, "total", core::seconds_since(start));
    return result;
  }

 private:
  std::int64_t sample_size() const { return std::min(points_.rows(), options_.silhouette_points); }

  std::uint64_t bytes() const {
    std::vector<std::int64_t> clusters;
    for (const auto& labels : labelings_) clusters.push_back(label_count(labels));
    return room::criteria_bytes({points_.rows(), points_.columns(), room::element_bytes(points_)}, clusters, options_,
                                threads_);
  }

  KMeansCriteria indices(VectorView<const std::int32_t> labels, std::int64_t present) const {
    const Clusters clusters = Spread<T>(points_, labels, label_count(labels), threads_, execution_.stop).measure();
    return {.silhouette = {},
            .calinski_harabasz = calinski_harabasz(clusters, present, points_.rows(), points_.columns()),
            .davies_bouldin = davies_bouldin(clusters, present, points_.columns(), threads_, execution_.stop)};
  }

  void add_silhouettes(std::vector<KMeansCriteria>& criteria) const {
    const std::vector<std::int64_t> rows = drawn_rows(points_.rows(), sample_size(), options_.seed);
    std::vector<room::Labeling> labelings;
    for (const auto& labels : labelings_) labelings.push_back(labeling_of(labels, rows));
    Matrix<T> copy;
    MatrixView<const T> sample = points_.shape();
    if (points_.is_stored() || std::ssize(rows) < points_.rows()) {
      copy = Matrix<T>(std::ssize(rows), points_.columns());
      for (std::size_t row = 0; row < rows.size(); ++row)
        points_.copy(rows[row], 1, copy.row(static_cast<std::int64_t>(row)));
      sample = std::as_const(copy).view();
    }
    const auto means =
        room::silhouettes(sample, labelings, options_.metric == KMeansMetric::cosine, threads_, execution_.stop);
    for (std::size_t index = 0; index < means.size(); ++index) criteria[index].silhouette = means[index];
  }

  room::PointRows<T> points_;
  std::span<const VectorView<const std::int32_t>> labelings_;
  KMeansCriteriaOptions options_;
  const Execution& execution_;
  int threads_;
  std::vector<std::int64_t> present_;  ///< for each labeling: the number of clusters with points
  Matrix<T> unit_;
};

}  // namespace

namespace kmeans_detail {

std::uint64_t criteria_bytes(const KMeansShape& shape, std::span<const std::int64_t> clusters,
                             const KMeansCriteriaOptions& options, int threads) {
  const auto rows = static_cast<std::uint64_t>(shape.points);
  const auto columns = static_cast<std::uint64_t>(shape.dimensions);
  const auto element_bytes = static_cast<std::uint64_t>(bytes_in_job(shape));
  const std::int64_t sample = std::min(shape.points, options.silhouette_points);
  std::uint64_t most = rows / 8;
  std::vector<Labeling> sizes;
  for (const std::int64_t count : clusters) {
    const std::int64_t parts = parts_of(shape.points, count, shape.dimensions);
    most = std::max(
        most, core::checked_multiply(static_cast<std::uint64_t>(8 * (parts + 2) * count), columns + 2, "clusters"));
    sizes.push_back({{}, std::min(count, sample)});
  }
  const auto drawn = static_cast<std::uint64_t>(sample);
  std::uint64_t all = drawn * 4 * clusters.size() + silhouette_bytes(sample, sizes, threads);
  if (drawn < rows || is_stored(shape)) all += drawn * columns * element_bytes;
  all = std::max(all, most);
  if (options.metric == KMeansMetric::cosine)
    all = core::checked_add(all, core::checked_multiply(rows * element_bytes, columns, "points"), "points");
  if (is_stored(shape)) all += visit_bytes(shape.points, shape.dimensions);
  return all;
}

template <class T>
KMeansCriteriaResult criteria_of(const PointRows<T>& points, std::span<const VectorView<const std::int32_t>> labelings,
                                 const KMeansCriteriaOptions& options, const Execution& execution) {
  execution::check_execution(execution);
  check_criteria_options(options);
  check_input(points, labelings, execution);
  return execution::whole_call(
      execution, [&](const Execution& here) { return Criteria<T>(points, labelings, options, here).measure(); });
}
template KMeansCriteriaResult criteria_of(const PointRows<float>&, std::span<const VectorView<const std::int32_t>>,
                                          const KMeansCriteriaOptions&, const Execution&);
template KMeansCriteriaResult criteria_of(const PointRows<double>&, std::span<const VectorView<const std::int32_t>>,
                                          const KMeansCriteriaOptions&, const Execution&);

}  // namespace kmeans_detail

namespace detail {

template <class T>
KMeansCriteriaResult kmeans_criteria(MatrixView<const T> points,
                                     std::span<const VectorView<const std::int32_t>> labelings,
                                     const KMeansCriteriaOptions& options, const Execution& execution) {
  return room::criteria_of<T>(points, labelings, options, execution);
}

template KMeansCriteriaResult kmeans_criteria(MatrixView<const float>, std::span<const VectorView<const std::int32_t>>,
                                              const KMeansCriteriaOptions&, const Execution&);
template KMeansCriteriaResult kmeans_criteria(MatrixView<const double>, std::span<const VectorView<const std::int32_t>>,
                                              const KMeansCriteriaOptions&, const Execution&);

}  // namespace detail

}  // namespace gradus
