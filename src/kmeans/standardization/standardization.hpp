// Mean and scale of columns, and standardized rows. Implements gradus/kmeans_standardization.hpp.
#pragma once

#include <stop_token>

#include "gradus/kmeans_standardization.hpp"
#include "kmeans/points/point_rows.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// Returns the mean and scale of each column over the rows of all ranks. All ranks must call this function together.
/// `points` contains this rank's rows, in host memory. `stop` is the stop token of all ranks. Throws InputError, with a
/// message that begins with "points: ", if a value is too large or not finite. Throws InterruptedError after a stop
/// request.
template <class T>
KMeansStandardization standardization_of(const PointRows<T>& points, const core::RankRows& rows, int threads,
                                         const std::stop_token& stop);

/// Writes the standardized rows. `standardized` may be the same memory as `rows`. Throws InterruptedError after a stop
/// request.
template <class T>
void standardize_rows(const PointRows<T>& rows, MatrixView<T> standardized, const KMeansStandardization& by,
                      int threads, const std::stop_token& stop);

template <class T>
Matrix<T> restored(MatrixView<const T> rows, const KMeansStandardization& by);

/// Returns how many threads are worthwhile for a matrix of this shape.
int standardizing_threads(std::int64_t rows, std::int64_t columns, const Execution& execution);

}  // namespace gradus::kmeans_detail
