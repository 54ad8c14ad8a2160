#include "kmeans/oracle.hpp"

#include <algorithm>
#include <cmath>

#include "core/exact_accumulator.hpp"
#include "kmeans/points/unit_length.hpp"

namespace gradus::kmeans_detail {

namespace {

template <class T>
class Oracle {
 public:
  explicit Oracle(const Problem<T>& problem)
      : problem_(problem), n_(problem.n()), d_(problem.d()), k_(problem.k()), centroids_(at(k_) * at(d_)),
        labels_(at(n_), -1) {
    for (std::int64_t cluster = 0; cluster < k_; ++cluster)
      std::copy_n(problem.initial_centroids.row(cluster), d_, &centroids_[at(cluster * d_)]);
  }

  KMeansResult<T> fit() {
    KMeansResult<T> result;
    while (!result.converged && result.iterations < problem_.max_iterations) {
      KMeansIteration record;
      record.changed = assign();
      record.inertia = inertia();
      const std::vector<T> before = centroids_;
      const bool relocated = update();
      for (std::int64_t cluster = 0; cluster < k_; ++cluster) {
        double squares = 0;
        for (std::int64_t index = cluster * d_; index < (cluster + 1) * d_; ++index) {
          const double moved = static_cast<double>(centroids_[at(index)]) - static_cast<double>(before[at(index)]);
          squares += moved * moved;
        }
        record.shift += squares;
      }
      result.history.push_back(record);
      ++result.iterations;
      result.converged = true;
      if (record.changed == 0 && !relocated) result.stop_reason = StopReason::labels_unchanged;
      else if (problem_.shift_limit > 0 && record.shift <= problem_.shift_limit)
        result.stop_reason = StopReason::centroids_settled;
      else if (problem_.changed_limit > 0 && record.changed <= problem_.changed_limit)
        result.stop_reason = StopReason::few_labels_changed;
      else result.converged = false;
    }
    assign();
    result.inertia = inertia();
    result.centroids = Matrix<T>(k_, d_);
    std::copy(centroids_.begin(), centroids_.end(), result.centroids.data());
    result.labels = Buffer<std::int32_t>(n_);
    std::copy(labels_.begin(), labels_.end(), result.labels.data());
    result.counts.assign(at(k_), 0);
    for (const std::int32_t label : labels_) ++result.counts[at(label)];
    result.report.variant = "oracle";
    return result;
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

  double distance(std::int64_t point, std::int64_t cluster) const {
    return squared_distance(problem_.points.row(point), &centroids_[at(cluster * d_)], d_);
  }

  std::int64_t assign() {
    std::int64_t changed = 0;
    for (std::int64_t point = 0; point < n_; ++point) {
      std::int32_t nearest = 0;
      for (std::int32_t cluster = 1; cluster < k_; ++cluster)
        if (distance(point, cluster) < distance(point, nearest)) nearest = cluster;
      changed += labels_[at(point)] != nearest;
      labels_[at(point)] = nearest;
    }
    return changed;
  }

  double inertia() const {
    core::ExactAccumulator sum;
    for (std::int64_t point = 0; point < n_; ++point)
      sum.add(core::rounded_product(problem_.weight(point), distance(point, labels_[at(point)])));
    const double rounded = sum.round<double>();
    return problem_.metric == Metric::cosine ? 0.5 * rounded : rounded;
  }

  bool update() {
    // For each point: the cluster to whose mean it contributes. This is the point's label or, if the point restarts an
    // empty cluster, that cluster.
    std::vector<std::int32_t> owner = labels_;
    const std::vector<T> before = centroids_;
    std::vector<std::int32_t> surplus;
    std::vector<std::int64_t> members(at(k_));
    for (std::int64_t point = 0; point < n_; ++point) members[at(owner[at(point)])] += problem_.weight(point) > 0;
    if (problem_.empty == EmptyCluster::relocate) {
      std::vector<std::int64_t> order(at(n_));
      for (std::int64_t point = 0; point < n_; ++point) order[at(point)] = point;
      if (std::count(members.begin(), members.end(), 0) > 0)
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
          return distance(a, labels_[at(a)]) > distance(b, labels_[at(b)]);
        });
      const std::vector<std::int64_t> counts = members;
      const auto occupied = k_ - std::count(counts.begin(), counts.end(), 0);
      // Number of different points at which no centroid is placed yet.
      std::int64_t left = problem_.different_points - occupied;
      std::size_t next = 0;
      for (std::int32_t cluster = 0; cluster < k_; ++cluster) {
        if (counts[at(cluster)] > 0) continue;
        if (left-- <= 0) {
          surplus.push_back(cluster);
          continue;
        }
        for (; next < order.size(); ++next) {
          const std::int64_t point = order[next];
          if (members[at(labels_[at(point)])] < 2 || !(problem_.weight(point) > 0)) continue;
          --members[at(labels_[at(point)])];
          owner[at(point)] = cluster;
          ++next;
          break;
        }
      }
    }
    for (std::int32_t cluster = 0; cluster < k_; ++cluster) {
      core::ExactAccumulator weight;
      std::int64_t moved_here = -1;
      for (std::int64_t point = 0; point < n_; ++point)
        if (owner[at(point)] == cluster) {
          weight.add(problem_.weight(point));
          if (labels_[at(point)] != cluster) moved_here = point;
        }
      T* const centroid = &centroids_[at(cluster * d_)];
      if (moved_here >= 0) {
        std::copy_n(problem_.points.row(moved_here), d_, centroid);
        continue;
      }
      if (weight.sign() == 0) continue;  // the cluster keeps its centroid
      for (std::int64_t dim = 0; dim < d_; ++dim) {
        core::ExactAccumulator sum;
        for (std::int64_t point = 0; point < n_; ++point)
          if (owner[at(point)] == cluster)
            sum.add_product(problem_.weight(point), static_cast<double>(problem_.points(point, dim)));
        centroid[dim] = sum.quotient<T>(weight);
      }
      if (problem_.metric == Metric::cosine && !scale_to_unit_length(centroid, d_))
        std::copy_n(&before[at(cluster * d_)], d_, centroid);
    }
    for (const std::int32_t cluster : surplus)
      std::copy_n(&centroids_[at(repeated_by(cluster, before) * d_)], d_, &centroids_[at(cluster * d_)]);
    return owner != labels_ && centroids_ != before;
  }

  /// Returns the lowest cluster with points whose centroid was at the same position as the surplus cluster's centroid.
  /// If there is none, returns the lowest cluster with points.
  std::int32_t repeated_by(std::int32_t surplus, const std::vector<T>& before) const {
    std::vector<bool> has_points(at(k_));
    for (std::int64_t point = 0; point < n_; ++point)
      if (problem_.weight(point) > 0) has_points[at(labels_[at(point)])] = true;
    std::int32_t lowest = -1;
    for (std::int32_t cluster = 0; cluster < k_; ++cluster) {
      if (!has_points[at(cluster)]) continue;
      if (lowest < 0) lowest = cluster;
      if (std::equal(&before[at(cluster * d_)], &before[at(cluster * d_)] + d_, &before[at(surplus * d_)]))
        return cluster;
    }
    return lowest;
  }

  const Problem<T>& problem_;
  std::int64_t n_;
  std::int64_t d_;
  std::int64_t k_;
  std::vector<T> centroids_;
  std::vector<std::int32_t> labels_;
};

}  // namespace

template <class T>
KMeansResult<T> oracle(const Problem<T>& problem) {
  return Oracle<T>(problem).fit();
}

template KMeansResult<float> oracle(const Problem<float>&);
template KMeansResult<double> oracle(const Problem<double>&);

}  // namespace gradus::kmeans_detail
