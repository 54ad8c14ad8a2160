// Statistics of the points before the first iteration. All functions throw InterruptedError after a stop request.
#pragma once

#include "core/column_ranges.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Returns the column ranges and the grids of points, weights and initial centroids (which may be empty) over all
/// ranks. Throws InputError with row and column for NaN, infinity, magnitudes whose squared distances overflow, and
/// negative weights.
template <class T>
Statistics examine(const PointSource<T>& points, MatrixView<const T> initial_centroids);
/// Examines points in host memory that are all points of the job.
template <class T>
Statistics examine(MatrixView<const T> points, VectorView<const T> weights, MatrixView<const T> initial_centroids,
                   int threads, const std::stop_token& stop = {});

/// Throws InputError if points (or initial centroids) differ but all their squared distances are zero in double.
void require_distances(const Statistics& statistics);

/// Extends the ranges for Metric::cosine, because centroids scaled to unit length may be outside the range of the rows.
void allow_unit_centroids(Statistics& statistics, std::int64_t rows);

/// Throws InputError for a row of zeros, which has no direction for the cosine metric.
[[noreturn]] void throw_zero_row(const char* what, std::int64_t row);

/// Returns the mean over the columns of their unweighted population variances. The sum of squared distances from the
/// column means (rounded once to T) is exact; it is divided by n with one rounding, and then by d. `statistics` must
/// cover at least these points.
template <class T>
double mean_column_variance(const PointSource<T>& points, const Statistics& statistics);

/// Returns grids for sums of n values of each of the `columns` columns that start at `first`.
std::vector<core::TotalGrid> column_totals(const Statistics& statistics, std::int64_t n, std::int64_t first,
                                           std::int64_t columns);

/// Returns the most memory that these functions use, including the statistics that stay with the problem. (For a GPU
/// the sums of all columns may be computed at once. This case is rare and not counted.)
std::uint64_t column_bytes(const Shape& shape, int threads);

/// Returns the number of different rows with positive weight over all ranks, counted up to `most`.
template <class T>
std::int64_t count_different(const PointSource<T>& points, std::int64_t most);

}  // namespace gradus::kmeans_detail
