/// Projection of points on their first two principal components, for pictures of a clustering.
///
/// Large inputs are projected as a sample of rows that the seed determines. The components are computed from the
/// projected rows, by power iteration in double. They are an approximation that suffices for pictures, and have the
/// same bits in every run.
///
/// Complexity: O(m d) operations per round for m projected rows of d columns, at most 200 rounds; memory for m * d
/// doubles. Source: Golub and Van Loan, Matrix Computations, section 7.3.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"

namespace gradus {

struct KMeansProjectionOptions {
  /// Maximum number of projected rows, at least 1. If the points have many columns, the sample is smaller, so that it
  /// has at most 4 million numbers. Such a sample still has at least 1000 rows.
  std::int64_t points = 20000;
  std::uint64_t seed = 0;  ///< seed of the sample
};

struct KMeansProjection {
  std::vector<std::int64_t> rows;  ///< numbers of the m projected rows, ascending
  /// m x 2, in the units of the points: coordinates of each row on the first and second component, relative to the mean
  /// of the rows. If the rows have no extent along a component, their coordinates on it are 0.
  Matrix<double> places;
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansProjection kmeans_projection(MatrixView<const T> points, const KMeansProjectionOptions& options,
                                                 const Execution& execution);

}  // namespace detail

/// Projects `points` (n x d, at least 1 x 1, finite, in host memory) on one CPU thread. Throws UsageError for malformed
/// views and if KMeansProjectionOptions::points is below 1. Throws InputError for an empty matrix, and for NaN and
/// infinity in a projected row. Throws UnsupportedError for GPU memory and with ranks. Throws OutOfMemoryError if
/// memory does not suffice, and InterruptedError after a stop request.
template <RowsOf<float, double> Points>
KMeansProjection kmeans_projection(const Points& points, const KMeansProjectionOptions& options = {},
                                   const Execution& execution = {}) {
  return detail::kmeans_projection<ElementOf<Points>>(view_of(points), options, execution);
}

}  // namespace gradus
