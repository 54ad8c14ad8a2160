// Mean and scale of columns, and standardized rows: the implementation of gradus/kmeans_standardization.hpp.
#pragma once

#include <stop_token>

#include "gradus/kmeans_standardization.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// Returns mean and scale of the columns over the rows of all ranks, which must call it together. `points`: this rank's
/// rows, in host memory. `stop`: the ranks' token. Throws InputError, with a message that begins with "points: ", for a
/// value that is not finite or too large; throws InterruptedError after a stop request.
template <class T>
KMeansStandardization standardization_of(MatrixView<const T> points, const core::RankRows& rows, int threads,
                                         const std::stop_token& stop);

/// Writes the standardized rows; `standardized` may alias `rows`. Throws InterruptedError after a stop request.
template <class T>
void standardize_rows(MatrixView<const T> rows, MatrixView<T> standardized, const KMeansStandardization& by,
                      int threads, const std::stop_token& stop);

template <class T>
Matrix<T> restored(MatrixView<const T> rows, const KMeansStandardization& by);

/// Returns the number of threads that pay off for the shape.
int standardizing_threads(std::int64_t rows, std::int64_t columns, const Execution& execution);

}  // namespace gradus::kmeans_detail
