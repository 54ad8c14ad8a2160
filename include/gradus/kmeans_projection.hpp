/// Points on their first two principal components: what a picture of a clustering shows.
///
/// Many points are projected as a sample of rows, drawn by the seed. The components are those of the rows that are
/// projected, by power iteration in double: an approximation for pictures, the same bits in every run.
///
/// Complexity: O(m d) operations for each of at most 200 rounds, of m rows with d columns; memory for m * d doubles.
/// Source: Golub and Van Loan, Matrix Computations, section 7.3.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"

namespace gradus {

struct KMeansProjectionOptions {
  /// Rows at most, at least 1. With many columns fewer are drawn: 4 million numbers, but at least 1000 rows.
  std::int64_t points = 20000;
  std::uint64_t seed = 0;  ///< of the draw
};

struct KMeansProjection {
  std::vector<std::int64_t> rows;  ///< that were projected, ascending: m of them
  /// m x 2, in the units of the points: the place of each row on the first and on the second component, from the rows'
  /// mean. 0 where the rows do not spread in that many directions.
  Matrix<double> places;
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansProjection kmeans_projection(MatrixView<const T> points, const KMeansProjectionOptions& options,
                                                 const Execution& execution);

}  // namespace detail

/// Projects `points` (n x d, at least 1 x 1, finite, in host memory). Runs on one thread of the CPU. Throws UsageError
/// for malformed views and fewer than 1 point, InputError for NaN and infinity among the rows that are projected,
/// UnsupportedError for memory of a GPU and on ranks, OutOfMemoryError, and InterruptedError after a stop request.
template <RowsOf<float, double> Points>
KMeansProjection kmeans_projection(const Points& points, const KMeansProjectionOptions& options = {},
                                   const Execution& execution = {}) {
  return detail::kmeans_projection<ElementOf<Points>>(view_of(points), options, execution);
}

}  // namespace gradus
