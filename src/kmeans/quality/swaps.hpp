// Proposes changes of a clustering: some centroids are removed, and rows of the points take their places (swaps), or a
// local search moves single points and centroids (transfers.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/philox.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/quality/transfers.hpp"

namespace gradus::kmeans_detail {

/// A centroid that is replaced by a row. `home` is the cluster of the row.
struct Swap {
  std::int32_t removed = 0;
  std::int32_t home = 0;
  std::int64_t row = 0;  ///< number among the rows of all ranks
};

/// Returns true if searches get all points of such a problem: if measuring the distances between all means is a small
/// part of a search, and a search with one thread a small part of a fit.
bool searches_all_points(std::int64_t points, std::int64_t dimensions, std::int64_t clusters);

/// Estimates what removals, insertions and transfers change in the inertia. All estimates are sums of integers, so that
/// they do not depend on threads and ranks.
template <class T>
class Swaps {
 public:
  Swaps(const Problem<T>& problem, int threads);

  /// Measures the distances of all points to their centroids, and the price of removing each centroid: by how much
  /// the inertia grows if its points move to their second-nearest centroids. Only the nearest other centroids of the
  /// removed one count. Collective. `labels` must stay valid.
  void measure(MatrixView<const T> centroids, const std::int32_t* labels);

  /// Draws candidate rows in proportion to weight and squared distance, and measures by how much each one would lower
  /// the inertia. For up to `most` swaps. Collective.
  void draw(MatrixView<const T> centroids, const core::Philox& random, std::int64_t most);

  /// Pairs the best candidates with the cheapest removals. Returns at most `most` swaps, or none if no candidate is
  /// left. No candidate is in a cluster of `closed`.
  std::vector<Swap> propose(const std::vector<bool>& closed, std::int64_t most) const;

  /// Returns a search after transfers of points. `all` is true if it has all points; otherwise it has those that are
  /// nearly as near to another centroid, and measure() must have been called. `rows` receives the points, and keeps
  /// them from one call with `all` to the next. Collective.
  LocalSearch search(MatrixView<const T> centroids, const std::int32_t* labels, bool all, LocalRows& rows);

  /// Returns the bytes that an object of this class uses.
  static std::uint64_t bytes(const Shape& shape, int threads);

 private:
  /// Points of one cluster.
  struct Tile {
    std::int64_t begin;  ///< index in order_
    std::int32_t count;
    std::int32_t cluster;
  };

  void measure_masses();
  void sort_by_cluster();
  void find_neighbours(MatrixView<const T> centroids);
  template <class Work>
  void for_each_tile(std::int64_t centroids, const Work& work);
  double transfer_ratio(const Tile& tile, const double* squared, std::int64_t point) const;
  std::uint64_t integer(double squared, std::int64_t point) const;

  const Problem<T>& problem_;
  int threads_;
  double scale_;       ///< of squared distances times scaled weights, before they are truncated to integers
  double mass_scale_;  ///< of scaled weights, before they are truncated to integers
  const std::int32_t* labels_ = nullptr;
  Buffer<std::int64_t> order_;  ///< the points, cluster by cluster
  Buffer<double> nearest_;      ///< for each point: the squared distance to its centroid
  Buffer<double> ratios_;       ///< for each point: its cost in another cluster, divided by its cost in its own
  std::vector<Tile> tiles_;
  std::vector<std::int32_t> neighbours_;  ///< for each cluster: its nearest other clusters, nearest first
  std::vector<double> farthest_;          ///< for each cluster: the largest squared distance of a point of this rank
  std::vector<std::uint64_t> prices_;
  std::vector<std::int64_t> candidates_;  ///< numbers of the rows that were drawn
  std::vector<std::int32_t> homes_;       ///< for each candidate: its cluster
  std::vector<std::uint64_t> gains_;      ///< for each candidate: by how much it would lower the inertia
  std::vector<double> masses_;            ///< for each cluster: about the sum of the scaled weights
};

}  // namespace gradus::kmeans_detail
