// Statistics of the points before the first iteration. All functions throw InterruptedError after a stop request.
#pragma once

#include "core/column_ranges.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Returns column ranges and grids of points, weights and initial centroids (which may be empty) over all ranks. Throws
/// InputError with row and column for NaN, infinity, magnitudes whose squared distances overflow, and negative weights.
template <class T>
Statistics examine(const PointSource<T>& points, MatrixView<const T> initial_centroids);
/// Does the same for points in host memory that are all points of the job.
template <class T>
Statistics examine(MatrixView<const T> points, VectorView<const T> weights, MatrixView<const T> initial_centroids,
                   int threads, const std::stop_token& stop = {});

/// Throws InputError if points (or initial centroids) differ but all their squared distances are zero in double.
void require_distances(const Statistics& statistics);

/// Extends the ranges for Metric::cosine: centroids scaled to unit length may leave the range of the rows.
void allow_unit_centroids(Statistics& statistics, std::int64_t rows);

/// Throws InputError: the row has no direction, which the cosine metric needs.
[[noreturn]] void throw_zero_row(const char* what, std::int64_t row);

/// Returns the mean over the columns of their unweighted population variances: the exact sum of squared distances from
/// the column means (rounded once to T), divided by n with one rounding, then by d. `statistics` must cover the points
/// and may cover more.
template <class T>
double mean_column_variance(const PointSource<T>& points, const Statistics& statistics);

/// Returns grids for sums of n values of each of the given columns.
std::vector<core::TotalGrid> column_totals(const Statistics& statistics, std::int64_t n, std::int64_t first,
                                           std::int64_t columns);

/// Returns the most memory that these functions use, including what stays with the problem. (For a GPU the sums of all
/// columns may be computed at once; that is rare and not counted.)
std::uint64_t column_bytes(const Shape& shape, int threads);

/// Counts the different rows with positive weight over all ranks, up to `most`.
template <class T>
std::int64_t count_different(const PointSource<T>& points, std::int64_t most);

}  // namespace gradus::kmeans_detail
