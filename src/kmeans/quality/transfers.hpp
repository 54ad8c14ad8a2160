// Transfers of single points between clusters (J. A. Hartigan, "Clustering algorithms", 1975, chapter 4).
//
// If a point leaves cluster A of mass a and joins cluster B of mass b, both means move, and the inertia changes by
// w b / (b + w) |x - B|^2 - w a / (a - w) |x - A|^2. This may be negative although A is nearer than B. Lloyd's
// algorithm never makes such a transfer; from the means after some transfers, it continues to a smaller inertia.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::kmeans_detail {

/// Points that may be transferred.
template <class T>
struct TransferPoints {
  MatrixView<const T> rows;
  std::span<const std::int32_t> labels;
  std::span<const double> weights;
};

/// Centroids after transfers, and by how much the transfers lower the inertia, in the unit of the weights.
template <class T>
struct Transferred {
  Matrix<T> centroids;
  double gain = 0;
};

/// Transfers points one after another to one of the four nearest clusters among the neighbours of theirs. Makes several
/// passes over the points, in their order. `neighbours` has `neighbour_count` clusters for each cluster, and `masses`
/// the sum of the weights in each cluster. One thread does all work, so the bits depend on the arguments alone.
template <class T>
Transferred<T> transfer(const TransferPoints<T>& points, MatrixView<const T> centroids, std::vector<double> masses,
                        std::span<const std::int32_t> neighbours, std::int64_t neighbour_count,
                        const std::stop_token& stop);

}  // namespace gradus::kmeans_detail
