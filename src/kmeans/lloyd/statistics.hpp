// One look at the points before the first iteration: are they finite, how large are they, how do they vary. All of it
// ends with InterruptedError after a stop request.
#pragma once

#include "core/column_ranges.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Column ranges and grids of points, weights and initial centroids (which may be empty), of all ranks. InputError with
/// row and column for NaN, infinity, magnitudes whose squared distances overflow, and negative weights.
template <class T>
Statistics examine(const PointSource<T>& points, MatrixView<const T> initial_centroids);
/// The same of points in host memory that are all points.
template <class T>
Statistics examine(MatrixView<const T> points, VectorView<const T> weights, MatrixView<const T> initial_centroids,
                   int threads, const std::stop_token& stop = {});

/// InputError where points (and initial centroids) differ, but all of their squared distances are zero in double.
void require_distances(const Statistics& statistics);

/// For rows of unit length (Metric::cosine): their centroids are scaled to unit length, too, and may so lie outside the
/// range of the rows.
void allow_unit_centroids(Statistics& statistics, std::int64_t rows);

/// InputError: the row has no direction, which the cosine metric needs.
[[noreturn]] void throw_zero_row(const char* what, std::int64_t row);

/// The mean over the columns of their (unweighted, population) variances: the exact sum of the squared distances from
/// the columns' means, these rounded once to T, over n, rounded once, over d. `statistics`: of the points, whatever
/// else they include.
template <class T>
double mean_column_variance(const PointSource<T>& points, const Statistics& statistics);

/// For sums of n values of each of some columns.
std::vector<core::TotalGrid> column_totals(const Statistics& statistics, std::int64_t n, std::int64_t first,
                                           std::int64_t columns);

/// What all of this takes at most, and what of it stays with the problem. (On the GPU's behalf the sums of all columns
/// may be made at once; that is rare, and not counted.)
std::uint64_t column_bytes(const Shape& shape, int threads);

/// Different rows that have weight, of all ranks, counted up to `most`.
template <class T>
std::int64_t count_different(const PointSource<T>& points, std::int64_t most);

}  // namespace gradus::kmeans_detail
