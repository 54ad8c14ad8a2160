/// Standardized columns: each column of a matrix brought to mean 0 and variance 1. KMeansOptions::standardize does so
/// before a fit; the functions here do it alone, as scikit-learn's StandardScaler does, from exact sums.
///
/// Canonical result, the same bits on any number of threads and ranks:
///
/// * mean_j: the exact mean of column j over all rows, rounded once to double. Every row counts once.
/// * With t_i = double(x_ij) - mean_j, rounded to double: S1 and S2 are the exact means of t_i and of t_i * t_i, each
///   rounded once. The variance is S2 - S1 * S1 in double, at least 0, and scale_j its square root; 1 for variance 0.
/// * A standardized value is (double(x) - mean_j) / scale_j, and a restored one double(x) * scale_j + mean_j, both in
///   double without contraction, rounded to the type of the matrix.
///
/// Complexity: O(n d) operations; the points are read three times and the copy is written once.
#pragma once

#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"

namespace gradus {

/// Mean and scale of each column. Both are empty where columns are used as they are.
struct KMeansStandardization {
  std::vector<double> mean = {};
  std::vector<double> scale = {};  ///< positive

  bool empty() const { return mean.empty(); }
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansStandardization kmeans_standardization(MatrixView<const T> points, const Execution& execution);
template <class T>
GRADUS_EXPORT Matrix<T> kmeans_standardize(MatrixView<const T> points, const KMeansStandardization& by,
                                           const Execution& execution);
template <class T>
GRADUS_EXPORT Matrix<T> kmeans_restore(MatrixView<const T> rows, const KMeansStandardization& by);

}  // namespace detail

/// Returns mean and scale of the columns of `points` (n x d, at least 1 x 1, in host memory or on a GPU; with ranks of
/// the rows of all). Runs on the CPU. Throws UsageError for a malformed view, InputError for NaN, infinity and values
/// whose variance is beyond the range of double, UnsupportedError for memory of a GPU on ranks, OutOfMemoryError, and
/// InterruptedError after a stop request.
template <RowsOf<float, double> Points>
KMeansStandardization kmeans_standardization(const Points& points, const Execution& execution = {}) {
  return detail::kmeans_standardization<ElementOf<Points>>(view_of(points), execution);
}

/// Returns a standardized copy of `points` (n x d, in host memory or on a GPU) in host memory. Runs on the CPU; NaN and
/// infinity stay what they are. Throws UsageError for a malformed view and unless `by` has d means and d positive
/// scales, UnsupportedError if Execution::communicator is set, OutOfMemoryError if the copy of n * d elements does not
/// fit, and InterruptedError after a stop request.
template <RowsOf<float, double> Points>
Matrix<ElementOf<Points>> kmeans_standardize(const Points& points, const KMeansStandardization& by,
                                             const Execution& execution = {}) {
  return detail::kmeans_standardize<ElementOf<Points>>(view_of(points), by, execution);
}

/// Returns a copy of standardized `rows` (k x d, in host memory) in the units of the data. Throws UsageError for a
/// malformed view and unless `by` has d means and d positive scales, UnsupportedError for memory of a GPU.
template <RowsOf<float, double> Rows>
Matrix<ElementOf<Rows>> kmeans_restore(const Rows& rows, const KMeansStandardization& by) {
  return detail::kmeans_restore<ElementOf<Rows>>(view_of(rows), by);
}

}  // namespace gradus
