/// Standardization: scales each column of a matrix to mean 0 and variance 1. KMeansOptions::standardize standardizes
/// before a fit. The functions of this header standardize without a fit. They correspond to scikit-learn's
/// StandardScaler, but compute exact sums.
///
/// Canonical result, the same bits on any number of threads and ranks:
///
/// * mean_j: the exact mean of column j over all rows, rounded once to double. Every row counts once.
/// * scale_j: let t_i = double(x_ij) - mean_j, rounded to double, and let S1 and S2 be the exact means of t_i and t_i *
///   t_i, each rounded once. The variance is S2 - S1 * S1 in double, but at least 0. scale_j is its square root, or 1
///   if the variance is 0.
/// * Standardized value: (double(x) - mean_j) / scale_j. Restored value: double(x) * scale_j + mean_j. Both are
///   computed in double without contraction and rounded to the type of the matrix.
///
/// Complexity: O(n d) operations; three reads of the points and one write of the copy.
#pragma once

#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"

namespace gradus {

/// Mean and scale of each column. Both are empty if columns are not standardized.
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

/// Returns mean and scale of the columns of `points` (n x d, at least 1 x 1, in host memory or on a GPU). With ranks,
/// they cover the rows of all ranks. Runs on the CPU. Throws UsageError for a malformed view. Throws InputError for
/// NaN, infinity and values whose variance exceeds the range of double. Throws UnsupportedError for GPU memory with
/// ranks. Throws OutOfMemoryError, and InterruptedError after a stop request.
template <RowsOf<float, double> Points>
KMeansStandardization kmeans_standardization(const Points& points, const Execution& execution = {}) {
  return detail::kmeans_standardization<ElementOf<Points>>(view_of(points), execution);
}

/// Returns a standardized copy of `points` (n x d, in host memory or on a GPU) in host memory. Runs on the CPU. NaN and
/// infinity stay unchanged. Throws UsageError if the view is malformed or if `by` does not have d means and d positive
/// scales. Throws UnsupportedError if Execution::communicator is set. Throws OutOfMemoryError if the copy of n * d
/// elements does not fit. Throws InterruptedError after a stop request.
template <RowsOf<float, double> Points>
Matrix<ElementOf<Points>> kmeans_standardize(const Points& points, const KMeansStandardization& by,
                                             const Execution& execution = {}) {
  return detail::kmeans_standardize<ElementOf<Points>>(view_of(points), by, execution);
}

/// Returns a copy of standardized `rows` (k x d, in host memory) in the units of the data. Throws UsageError if the
/// view is malformed or if `by` does not have d means and d positive scales. Throws UnsupportedError for GPU memory.
template <RowsOf<float, double> Rows>
Matrix<ElementOf<Rows>> kmeans_restore(const Rows& rows, const KMeansStandardization& by) {
  return detail::kmeans_restore<ElementOf<Rows>>(view_of(rows), by);
}

}  // namespace gradus
