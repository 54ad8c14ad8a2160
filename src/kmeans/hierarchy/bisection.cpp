#include "kmeans/hierarchy/bisection.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "core/checked.hpp"
#include "core/exact_accumulator.hpp"
#include "core/phases.hpp"
#include "core/philox.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/hierarchy/some_rows.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/seeding/initialize.hpp"

namespace gradus::kmeans_detail {

namespace {

/// A cluster that may be split: rows begin to end of the order.
struct Cluster {
  double score = 0;
  double inertia = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t child = -1;  ///< its row in the tree; -1: the root

  bool operator<(const Cluster& other) const {  // the largest is split next
    return std::tuple(score, -begin) < std::tuple(other.score, -other.begin);
  }
};

template <class T>
class Bisection {
 public:
  Bisection(MatrixView<const T> points, const KMeansOptions& options, KMeansSplit split, const KMeansMemory<T>& memory,
            const Execution& execution, const KMeansFirstTwo<T>& first_two)
      : points_(points), options_(options), split_(split), memory_(memory), execution_(execution),
        first_two_(first_two), threads_(cpu::thread_count(execution)), random_(options.seed) {}

  KMeansBisection<T> run() {
    result_.tree.centroids = Matrix<T>(2 * (options_.clusters - 1), points_.columns());
    order_ = Buffer<std::int64_t>(points_.rows());
    std::iota(order_.begin(), order_.end(), 0);
    {
      const core::PhaseTimer timer(result_.report.phases, "split");
      if (options_.clusters > 1) split_until_done();
      else found_.push_back({.end = points_.rows()});
    }
    {
      const core::PhaseTimer timer(result_.report.phases, "labels");
      label();
    }
    return std::move(result_);
  }

 private:
  void split_until_done() {
    std::priority_queue<Cluster> open;
    open.push({.end = points_.rows()});
    while (!open.empty() && std::ssize(found_) + std::ssize(open) < options_.clusters) {
      const Cluster next = open.top();
      open.pop();
      if (!try_to_split(next, open)) found_.push_back(next);
      if (execution_.progress)
        execution_.progress({"split", std::ssize(found_) + std::ssize(open), options_.clusters, ""});
    }
    for (; !open.empty(); open.pop()) found_.push_back(open.top());
  }

  /// Splits a cluster in two. Returns false if its points of positive weight are equal, or if all their squared
  /// distances to the centroid are zero.
  bool try_to_split(const Cluster& cluster, std::priority_queue<Cluster>& open) {
    const std::span<std::int64_t> rows =
        std::span(order_.begin(), order_.end())
            .subspan(static_cast<std::size_t>(cluster.begin), static_cast<std::size_t>(cluster.end - cluster.begin));
    if (cluster.child >= 0 && !(cluster.inertia > 0)) return false;
    SomeRows<T> some;
    if (cluster.child >= 0) some = some_rows<T>(points_, memory_.weights, rows, threads_, execution_.stop);
    const MatrixView<const T> points = cluster.child < 0 ? points_ : std::as_const(some.rows).view();
    const VectorView<const T> weights = cluster.child < 0 ? memory_.weights : std::as_const(some.weights).view();
    if (count_different<T>(HostPoints<T>(points, weights, threads_, execution_.stop), 2) < 2) return false;
    const KMeansResult<T> two = best_fit(points, weights, rows);
    const std::int32_t* const labels = two.labels.data();
    core::ExactAccumulator sums[2];
    std::int64_t weighted[2] = {};
    add_up(points, weights, two.centroids.view(), labels, sums, weighted);
    const double inertia[2] = {sums[0].round<double>(), sums[1].round<double>()};
    if (weighted[0] == 0 || weighted[1] == 0) return false;

    const auto split = static_cast<std::int32_t>(result_.tree.next.size() / 2);
    if (cluster.child >= 0) result_.tree.next[static_cast<std::size_t>(cluster.child)] = split;
    result_.tree.next.insert(result_.tree.next.end(), 2, 0);
    for (std::int64_t side = 0; side < 2; ++side)
      std::copy_n(two.centroids.row(side), points_.columns(),
                  result_.tree.centroids.row(2 * std::int64_t{split} + side));
    const std::int64_t border = cluster.begin + partition(rows, labels);
    const auto score = [&](int side) {
      return split_ == KMeansSplit::biggest_inertia ? inertia[side]
                                                    : static_cast<double>(two.counts[static_cast<std::size_t>(side)]);
    };
    open.push({score(0), inertia[0], cluster.begin, border, 2 * split});
    open.push({score(1), inertia[1], border, cluster.end, 2 * split + 1});
    return true;
  }

  /// Moves the rows of label 0 before the other rows, and keeps the order otherwise. Returns their number.
  static std::int64_t partition(std::span<std::int64_t> rows, const std::int32_t* labels) {
    std::vector<std::int64_t> right;
    auto left = rows.begin();
    for (const std::int64_t row : rows)
      if (*labels++ == 0) *left++ = row;
      else right.push_back(row);
    std::ranges::copy(right, left);
    return left - rows.begin();
  }

  /// Returns the fit of two clusters to the points of one cluster.
  KMeansResult<T> best_fit(MatrixView<const T> points, VectorView<const T> weights,
                           std::span<const std::int64_t> rows) {
    KMeansOptions options = options_;
    options.clusters = 2;
    accept_fewer_different(options);
    options.seed = random_.bits(splits_++);
    Execution quiet = execution_;
    quiet.progress = nullptr;
    KMeansMemory<T> memory{.weights = weights};
    if (!first_two_) return kmeans(points, options, memory, quiet);
    options.init = KMeansInit::given;
    options.restarts = 1;
    std::optional<KMeansResult<T>> best;
    for (int restart = 0; restart < options_.restarts; ++restart) {
      const Matrix<T> first = first_two_(rows);
      memory.initial_centroids = first.view();
      KMeansResult<T> result = kmeans(points, options, memory, quiet);
      if (!best || result.inertia < best->inertia) best = std::move(result);
    }
    return *std::move(best);
  }

  /// Adds up the inertia and the number of points of positive weight of each cluster.
  void add_up(MatrixView<const T> points, VectorView<const T> weights, MatrixView<const T> centroids,
              const std::int32_t* labels, std::span<core::ExactAccumulator> inertia, std::int64_t* weighted) const {
    Buffer<double> distances(points.rows());
    own_squared_distances(points, centroids, labels, distances.data(), threads_, execution_.stop);
    core::RarePoll look(execution_.stop, "stopped while adding up distances");
    for (std::int64_t row = 0; row < points.rows(); ++row) {
      look.honour_stop();
      if (!weights.empty() && !(weights[row] > 0)) continue;
      const std::size_t sum = static_cast<std::size_t>(labels[row]) % inertia.size();
      ++weighted[sum];
      if (weights.empty()) inertia[sum].add(distances[row]);
      else inertia[sum].add(core::rounded_product(static_cast<double>(weights[row]), distances[row]));
    }
  }

  /// Numbers the clusters from left to right, and repeats their centroids if there are too few.
  void label() {
    std::ranges::sort(found_, {}, &Cluster::begin);
    const std::int64_t columns = points_.columns();
    const std::int64_t splits = std::ssize(found_) - 1;
    result_.tree.centroids = Matrix<T>::copy_of(std::as_const(result_.tree.centroids).view().slice(0, 2 * splits));
    result_.centroids = Matrix<T>(options_.clusters, columns);
    if (memory_.labels.empty()) result_.labels = Buffer<std::int32_t>(points_.rows());
    std::int32_t* const labels = memory_.labels.empty() ? result_.labels.data() : memory_.labels.data();
    result_.counts.assign(static_cast<std::size_t>(options_.clusters), 0);
    Matrix<T> whole;
    if (splits == 0) whole = one_cluster();
    for (std::int64_t cluster = 0; cluster < options_.clusters; ++cluster) {
      const Cluster& found = found_[static_cast<std::size_t>(cluster % std::ssize(found_))];
      std::copy_n(splits == 0 ? whole.row(0) : result_.tree.centroids.row(found.child), columns,
                  result_.centroids.row(cluster));
      if (cluster >= std::ssize(found_)) continue;
      if (splits > 0) result_.tree.next[static_cast<std::size_t>(found.child)] = ~static_cast<std::int32_t>(cluster);
      result_.counts[static_cast<std::size_t>(cluster)] = found.end - found.begin;
      for (std::int64_t place = found.begin; place < found.end; ++place)
        labels[order_[place]] = static_cast<std::int32_t>(cluster);
    }
    core::ExactAccumulator total;
    std::int64_t weighted = 0;
    add_up(points_, memory_.weights, result_.centroids.view(), labels, std::span(&total, 1), &weighted);
    result_.inertia = total.round<double>();
  }

  Matrix<T> one_cluster() const {
    KMeansOptions options = options_;
    options.clusters = 1;
    options.restarts = 1;
    options.init = KMeansInit::first;
    Execution quiet = execution_;
    quiet.progress = nullptr;
    return kmeans(points_, options, KMeansMemory<T>{.weights = memory_.weights}, quiet).centroids;
  }

  MatrixView<const T> points_;
  const KMeansOptions& options_;
  KMeansSplit split_;
  const KMeansMemory<T>& memory_;
  const Execution& execution_;
  const KMeansFirstTwo<T>& first_two_;
  int threads_;
  core::Philox random_;
  std::uint64_t splits_ = 0;    ///< number of fits so far
  Buffer<std::int64_t> order_;  ///< the rows, ordered so that the rows of each cluster are consecutive
  std::vector<Cluster> found_;  ///< clusters that are not split
  KMeansBisection<T> result_;
};

}  // namespace

std::uint64_t bisecting_bytes(const KMeansShape& shape, const KMeansOptions& options, const Execution& execution) {
  KMeansOptions of_two = options;
  of_two.clusters = std::min<std::int64_t>(2, options.clusters);
  const auto row_bytes = static_cast<std::uint64_t>(shape.dimensions) * static_cast<std::uint64_t>(shape.element_bytes);
  // A row of a cluster has a copy, its number before and after the split, its label and its distance.
  const std::uint64_t of_row = row_bytes + 2 * sizeof(std::int64_t) + sizeof(std::int32_t) + sizeof(double);
  const std::uint64_t kept =
      core::checked_add(core::checked_multiply(static_cast<std::uint64_t>(shape.points), of_row, "points"),
                        core::checked_multiply(3 * static_cast<std::uint64_t>(options.clusters), row_bytes, "clusters"),
                        "the memory of the job");
  return core::checked_add(kmeans_memory(shape, of_two, execution).host, kept, "the memory of the job");
}

template <class T>
KMeansBisection<T> bisect(MatrixView<const T> points, const KMeansOptions& options, KMeansSplit split,
                          const KMeansMemory<T>& memory, const Execution& execution,
                          const KMeansFirstTwo<T>& first_two) {
  return Bisection<T>(points, options, split, memory, execution, first_two).run();
}

#define GRADUS_INSTANTIATE(T)                                                                                        \
  template KMeansBisection<T> bisect(MatrixView<const T>, const KMeansOptions&, KMeansSplit, const KMeansMemory<T>&, \
                                     const Execution&, const KMeansFirstTwo<T>&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
