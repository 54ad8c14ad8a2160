// Vectorised steps that precede or follow the assignment. The production variants share these steps.
#pragma once

#include <cstdint>
#include <limits>

#include "core/exact_total.hpp"
#include "cpu/threads.hpp"
#include "kmeans/means/exact_sums.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Finds the indices at which `now` and `before` differ. Writes the indices to `out` in ascending order and returns
/// their number. `out` must have space for `count` indices.
std::int64_t find_changed(const std::int32_t* now, const std::int32_t* before, std::int64_t count, std::int32_t* out);

/// Moves points of a block between the sums of clusters. For each of the `count` indices i, point i of the block moves
/// from cluster before[i] to cluster now[i]. If before[i] is negative, the point is only added to cluster now[i].
template <class T>
void move_rows(const Problem<T>& problem, BlockRows<T>& block, const std::int32_t* indices, std::int64_t count,
               const std::int32_t* before, const std::int32_t* now, ExactSums<T>& sums);

/// Partial exact sums of columns, with three raw limbs per column (core::TotalGrid). Plain data, because the reading
/// code is compiled for other instruction sets.
struct ColumnLimbs {
  std::int64_t columns;
  const double* to_high;  ///< for each column: the factor that scales to the high limb
  double to_low;
  const double* exact_from;  ///< per column: the limbs may not hold nonzero values below this magnitude exactly
  std::int64_t stride;       ///< distance from a column's high limb to its middle limb, and on to its low limb
  std::uint64_t* limbs;
};

struct AddedRows {
  std::int64_t count;
  std::int64_t doubtful;  ///< the last `doubtful` rows may have nonzero values that the limbs do not hold
};

/// Adds rows, a few at a time. Stops after a step in which some row has a nonzero value that the limbs cannot hold
/// exactly. Adds zeros in place of such values.
template <class T>
AddedRows add_to_columns(const T* rows, std::int64_t row_stride, std::int64_t count, const ColumnLimbs& columns);

/// Adds each row to the limbs of its label. The limbs of label l begin at limbs + 3 * l * stride. Otherwise as
/// add_to_columns(), one row at a time.
template <class T>
AddedRows add_to_clusters(const T* rows, std::int64_t row_stride, std::int64_t count, const std::int32_t* labels,
                          const ColumnLimbs& columns);

/// Magnitudes of values. If all values are zero, `least` is infinite and `greatest` is zero.
template <class T>
struct Magnitudes {
  T least = std::numeric_limits<T>::infinity();  ///< of the values that are not zero
  T greatest = 0;
};

/// Finds the magnitudes of finite values.
template <class T>
Magnitudes<T> find_magnitudes(const T* values, std::int64_t count);

/// Adds the product w * D(x, c_label) for each point x of a block. Each product is rounded to 53 bits. `labels` are the
/// labels of all points.
template <class T>
void add_inertia(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels,
                 BlockRows<T>& block, core::ExactTotal& total);

/// Returns the inertia, rounded once. With several ranks, instead stores this rank's part in Problem::rank_inertia.
template <class T>
double round_inertia(const Problem<T>& problem, const core::ExactTotal& total) {
  if (problem.rank_inertia != nullptr) {
    *problem.rank_inertia = total.sum(problem.statistics.inertia, problem.statistics.weight_exponent);
    return 0;
  }
  return total.sum(problem.statistics.inertia, problem.statistics.weight_exponent).template round<double>();
}

template <class T>
double total_inertia(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels, int threads);

}  // namespace gradus::kmeans_detail
