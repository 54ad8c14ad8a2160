// Moves the prices of clusters of limited size near the prices of the minimal assignment. The result is a guess that
// saves time and does not change any assignment.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "kmeans/problem.hpp"
#include "kmeans/sizes/size_filter.hpp"

namespace gradus::kmeans_detail {

struct ListedPoints {
  const NearClusters& near;
  std::span<const std::int64_t> rows;     ///< rows of the points that have lists
  std::span<const std::int64_t> settled;  ///< for each cluster: number of points without lists
  SizeLimits sizes;
  double scale;        ///< of coordinates
  double reach;        ///< largest change of a price
  std::int64_t least;  ///< the ascent ends when no more points than this are at wrong clusters

  // The square of the scale may exceed the largest double.
  double score_of(double price) const { return price * scale * scale / 2; }
  double price_of(double score) const { return 2 * score / scale / scale; }
};

struct Approach {
  std::int64_t excess;  ///< number of points at wrong clusters, by the given prices
  bool has_moved;       ///< true if prices changed
  bool is_bounded;      ///< true if many prices have changed by `reach`
};

/// Maximizes the dual of the transportation problem by Newton's method: the sum of each point's least sum of distance
/// and price, less each price times the size that belongs to it. Changes `prices`. Sets `widths` to distances within
/// which the final prices probably are. All clusters outside of a list count as one, whose sum is their lower bound at
/// the given prices.
/// Work: up to 60 rounds over the lists, and in each round conjugate gradients with up to 16 pairs per cluster.
/// Source: J. Kitagawa, Q. Mérigot and B. Thibert, "Convergence of a Newton algorithm for semi-discrete optimal
/// transport" (2019); damped as by D. Marquardt, "An algorithm for least-squares estimation of nonlinear parameters"
/// (1963).
Approach approach_prices(const ListedPoints& points, int threads, const std::stop_token& stop, std::span<double> prices,
                         std::span<double> widths);

}  // namespace gradus::kmeans_detail
