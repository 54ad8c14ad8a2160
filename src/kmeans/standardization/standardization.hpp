// Mean and scale of columns, and rows by them: the work behind gradus/kmeans_standardization.hpp.
#pragma once

#include <stop_token>

#include "gradus/kmeans_standardization.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// Returns mean and scale of the columns over the rows of all ranks, who call this together. `points`: this rank's, in
/// host memory; `stop`: the ranks' token. InputError, which begins with "points: ", for a value that is not finite or
/// too large; InterruptedError after a stop request.
template <class T>
KMeansStandardization standardization_of(MatrixView<const T> points, const core::RankRows& rows, int threads,
                                         const std::stop_token& stop);

/// Writes the standardized rows, which may replace `rows`. InterruptedError after a stop request.
template <class T>
void standardize_rows(MatrixView<const T> rows, MatrixView<T> standardized, const KMeansStandardization& by,
                      int threads, const std::stop_token& stop);

template <class T>
Matrix<T> restored(MatrixView<const T> rows, const KMeansStandardization& by);

/// As many of the threads of a job as pay.
int standardizing_threads(std::int64_t rows, std::int64_t columns, const Execution& execution);

}  // namespace gradus::kmeans_detail
