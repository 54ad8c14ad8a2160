// Statistics of the points, computed before the first iteration. All functions throw InterruptedError after a stop
// request.
#pragma once

#include "core/column_ranges.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Returns the column ranges over all ranks, and the grids of points, weights and initial centroids. There may be no
/// initial centroids. Throws InputError, with row and column, for NaN, infinity, negative weights, and values so large
/// that squared distances overflow.
template <class T>
Statistics examine(const PointSource<T>& points, MatrixView<const T> initial_centroids);
/// Examines points in host memory. All points of the job must be in this process.
template <class T>
Statistics examine(MatrixView<const T> points, VectorView<const T> weights, MatrixView<const T> initial_centroids,
                   int threads, const std::stop_token& stop = {});

/// Throws InputError if points (or initial centroids) differ, but all their squared distances are zero in double
/// precision.
void require_distances(const Statistics& statistics);

/// Extends the ranges of the columns for Metric::cosine, because a centroid that is scaled to unit length may leave the
/// ranges of the rows.
void allow_unit_centroids(Statistics& statistics, std::int64_t rows);

/// Throws InputError about a row whose elements are all zero. Such a row has no direction, but the cosine metric needs
/// one.
[[noreturn]] void throw_zero_row(const char* what, std::int64_t row);

/// Returns the average of the columns' population variances, without weights. Each column mean is rounded once to T.
/// The sum of the squared distances from these means is exact. It is divided by n with one rounding, and the quotient
/// is divided by d. `statistics` must cover at least these points.
template <class T>
double mean_column_variance(const PointSource<T>& points, const Statistics& statistics);

/// Returns the grids for the sums of `columns` columns with n values each. The first of these columns is column
/// `first`.
std::vector<core::TotalGrid> column_totals(const Statistics& statistics, std::int64_t n, std::int64_t first,
                                           std::int64_t columns);

/// Returns the maximum of the memory that these functions use. This includes the statistics that the problem keeps. (On
/// a GPU, in rare cases, the sums of all columns are computed at once. The memory for these sums is not included.)
std::uint64_t column_bytes(const Shape& shape, int threads);

/// Returns the number of different rows with positive weight on all ranks, but at most `most`.
template <class T>
std::int64_t count_different(const PointSource<T>& points, std::int64_t most);

}  // namespace gradus::kmeans_detail
