// A local search: transfers of single points between clusters, and exchanges of a centroid for a point.
//
// If a point leaves cluster A of mass a and joins cluster B of mass b, both means move, and the inertia changes by
// w b / (b + w) |x - B|^2 - w a / (a - w) |x - A|^2. This may be negative although A is nearer than B (J. A. Hartigan,
// "Clustering algorithms", 1975, chapter 4). Lloyd's algorithm never makes such a transfer; from the means after some
// transfers, it continues to a smaller inertia.
//
// An exchange empties a cluster, moves its mean to a point, and then transfers points near both places until that gains
// little. It thus costs a part of a fit. If the inertia is not smaller, the exchange is undone.
//
// Bounds skip most points of a pass, as in simd_bounds. They grow by a share of the movements of few neighbours, so
// that a pass may miss a transfer. All numbers are estimates in float: a fit decides whether the result is better. One
// thread examines the points in a fixed order, so the bits depend on the arguments alone.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/philox.hpp"
#include "gradus/array.hpp"

namespace gradus::kmeans_detail {

/// Points with coordinates of at most about 1.
struct LocalRows {
  Matrix<float> rows;
  std::vector<double> weights;
};

class LocalSearch {
 public:
  /// `rows` must stay valid. `means` has the coordinates of one cluster after another. `masses` may count further
  /// points, which stay in their clusters.
  LocalSearch(const LocalRows& rows, std::span<const std::int32_t> labels, std::vector<double> means,
              std::span<const double> masses, std::stop_token stop);
  LocalSearch(const LocalSearch& other);
  LocalSearch(LocalSearch&& other) noexcept;
  LocalSearch& operator=(LocalSearch&& other) noexcept;
  ~LocalSearch();

  /// Transfers points until a pass gains little. The first call examines all points.
  void polish();
  /// Tries exchanges until `work` distances have been measured since the first pass. `rows` must have all points.
  void exchange(const core::Philox& random, std::int64_t work);

  /// Returns by how much the inertia has become smaller.
  double gain() const { return gain_; }
  const std::vector<double>& means() const { return means_; }

 private:
  static constexpr std::size_t most_others = 6;

  struct Point {
    std::int32_t label = 0;
    float own = 0;     ///< squared distance to the mean of its cluster when it was last measured
    float second = 0;  ///< the least cost in another cluster when it was last measured
    float gap = -1;    ///< the point is skipped until `shift` of its cluster reaches this value
    float bound = -1;  ///< `others` are not measured until `reach` of its cluster and its cost reach this value
    float rest = -1;   ///< `others` are the nearest until `reach` of its cluster and its cost reach this value
    std::int32_t others[most_others] = {};
  };
  struct Cluster {
    double mass = 0;
    std::int64_t points = 0;
    float shift = 0;  ///< movements of its mean and of its nearest neighbours
    float reach = 0;  ///< movements of its nearest neighbours
  };
  /// The best other cluster of a point, and what the point costs there and saves in its own cluster.
  struct Choice {
    std::int32_t cluster;
    float joins;
    float leaves;
  };
  /// The distance to another mean, and its cluster.
  using Neighbour = std::pair<float, std::int32_t>;
  struct OldCluster {
    std::int32_t number;
    Cluster state;
    std::vector<double> mean;
    std::vector<Neighbour> neighbours;
  };

  static void sort(std::span<Neighbour> list);
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  const float* row(std::int32_t point) const { return rows_->rows.row(point); }
  double weight(std::int32_t point) const { return rows_->weights[at(point)]; }
  const float* mean(std::int32_t number) const { return rounded_.data() + number * columns_; }
  Point& point(std::int32_t number) { return points_[at(number)]; }
  Cluster& cluster(std::int32_t number) { return clusters_[at(number)]; }
  std::span<Neighbour> neighbours(std::int32_t number);
  std::span<Neighbour> near(std::int32_t number);
  std::span<const std::int32_t> block(std::int32_t number) const;

  float distance(const float* a, const float* b);
  void find_neighbours();
  void search(std::int32_t number);
  void choose(std::int32_t number, Choice& choice);
  Choice examine(std::int32_t number);
  void mark_moved(std::int32_t number);
  void move_mean(std::int32_t number, const float* to, double share);
  void move(std::int32_t number, std::int32_t to);
  void settle();
  double pass();
  template <class T>
  void set_mean(std::int32_t number, const T* from);
  void remember(std::int32_t number);
  void remember_cluster(std::int32_t number);
  void undo();
  void value();
  double gain_at(std::int32_t number);
  double disperse(std::int32_t removed);
  void meet(std::int32_t removed, std::span<const std::int32_t> places);
  double join(std::int32_t number, std::int32_t cluster);
  double attempt(std::int32_t centre, std::int32_t removed);

  const LocalRows* rows_;
  std::int64_t columns_;
  std::stop_token stop_;
  std::vector<Point> points_;
  std::vector<Cluster> clusters_;
  std::vector<double> means_;
  std::vector<float> rounded_;       ///< means_ as float
  std::vector<float> settled_;       ///< rounded_ when `shift` and `reach` were last updated
  std::vector<std::int32_t> order_;  ///< the points, by their first clusters
  std::vector<std::size_t> blocks_;  ///< begin of the points of each first cluster in order_
  std::size_t neighbour_count_;
  std::vector<Neighbour> neighbours_;  ///< for each cluster, nearest first
  std::vector<std::int32_t> moved_;    ///< clusters whose means differ from settled_
  std::vector<bool> is_moved_;
  std::vector<float> drifts_;    ///< zeros between two calls of settle()
  std::vector<bool> is_active_;  ///< for each cluster: its `shift` has grown since the last pass
  std::vector<double> costs_;    ///< for each point: sum of the costs of all points up to it
  std::vector<double> prices_;   ///< for each cluster: by how much the inertia grows without it
  bool is_undoable_ = false;
  std::uint32_t attempts_ = 0;
  std::vector<std::uint32_t> seen_;  ///< for each point: the last attempt that has changed it
  std::vector<std::uint32_t> seen_clusters_;
  std::vector<std::pair<std::int32_t, Point>> old_points_;
  std::vector<OldCluster> old_clusters_;
  std::int64_t work_ = 0;  ///< number of distances since the first pass
  double inertia_ = 0;     ///< before all transfers; 0: not measured yet
  double gain_ = 0;
};

}  // namespace gradus::kmeans_detail
