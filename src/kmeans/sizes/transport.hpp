// The assignment of points to clusters of limited size as a transportation problem, solved and certified exactly.
//
// Every cluster has a price. An assignment is minimal if each point is at a cluster with the least sum of distance and
// price, clusters that cost more than the price `outside` are full, and clusters that cost less have the least allowed
// number of points. Distances are doubles that count as exact numbers, and prices are integers in a common unit. So
// these conditions are decided without rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Points that may belong to more than one cluster, in ascending order, with their candidate clusters.
struct OpenPoints {
  std::vector<std::int64_t> points;
  std::vector<std::int64_t> begins{0};  ///< candidates of point i: [begins[i], begins[i + 1])
  std::vector<std::int32_t> clusters;   ///< candidates, ascending for each point
  std::vector<double> distances;        ///< canonical squared distance to each candidate

  std::int64_t size() const { return std::ssize(points); }
  void clear() {
    points.clear();
    begins.assign(1, 0);
    clusters.clear();
    distances.clear();
  }
};

/// An assignment problem, with candidates that suffice if prices stay in certain intervals.
struct Transport {
  const OpenPoints& open;
  std::span<const std::int64_t> settled;  ///< for each cluster: number of points that certainly belong to it
  SizeLimits sizes;
  std::span<const double> prices;  ///< for each cluster: price minus the price `outside`, the middle of its interval
  /// For each cluster: half of the length of its interval, or infinity. The candidates of each point include every
  /// cluster that has the least sum of distance and price for some prices in the intervals.
  std::span<const double> widths;
};

struct TransportSolution {
  /// Empty if the prices of the minimal assignment are not in the intervals. Otherwise, for each open point, its
  /// cluster in the lexicographically least minimal assignment.
  std::optional<std::vector<std::int32_t>> labels;
  std::vector<double> prices;   ///< rounded; if there are no labels, nearer to the solution than the given ones
  std::vector<double> changes;  ///< for each cluster: change of its price in its interval
  std::vector<bool> at_limit;   ///< for each cluster: true if its price would have to leave the interval
};

/// Solves the problem by successive shortest paths between clusters, and certifies the solution. Throws Error if no
/// assignment is within the limits, or if the certificate fails.
TransportSolution solve(const Transport& transport, const std::stop_token& stop);

/// Prices in multiples of 2^unit. After the clusters' prices follow the price `outside`, and the price of the ground: a
/// cluster's price less this one is in its interval.
template <class Integer>
struct ExactPrices {
  int unit = 0;
  std::vector<Integer> prices;
};

/// Like solve() for a certain type of integers. Returns no value if the integers are too short.
template <class Integer>
std::optional<TransportSolution> solve_with(const Transport& transport, const std::stop_token& stop,
                                            ExactPrices<Integer>* certificate = nullptr);

/// Returns true if the prices prove that `labels`, the clusters of the open points, are a minimal assignment.
template <class Integer>
bool is_certified(const Transport& transport, std::span<const std::int32_t> labels,
                  const ExactPrices<Integer>& certificate);

}  // namespace gradus::kmeans_detail
