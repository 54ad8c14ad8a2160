// Checks of arguments that the public calls (api/) share.
#pragma once

#include "gradus/kmeans.hpp"
#include "gradus/kmeans_choose.hpp"

namespace gradus::kmeans_detail {

void check_options(const KMeansOptions& options);
/// `points`: of all ranks.
void check_clusters(const KMeansOptions& options, std::int64_t points);
/// Throws InputError for more clusters than there are points, which `point` and `which` describe.
[[noreturn]] void throw_too_few(std::int64_t clusters, std::int64_t count, const char* point, const char* which = "",
                                const ErrorMessage& other_remedy = {});

/// With several ranks, a rank may hold no rows.
template <class T>
void check_points(MatrixView<const T> points, const Execution& execution);
/// UsageError unless there is memory for that many labels.
void check_labels(VectorView<std::int32_t> labels, std::int64_t points);

/// Checks the arguments of a fit. Reads no point. `alone`: this process has all points; otherwise it may have none.
template <class T>
void check_arguments(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                     const Execution& execution, bool alone);
/// UsageError for numbers of clusters that cannot be compared, and for what only one fit can have.
void check_choice_options(const KMeansOptions& options, const KMeansChoiceOptions& choice, const Execution& execution);
/// UsageError where a choice of first centroids has memory for labels.
template <class T>
void check_no_labels(const KMeansMemory<T>& memory);

/// Checks the arguments of a prediction or transformation, of `centroids` in the columns of `points`.
template <class T>
void check_model(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                 const Execution& execution);
template <class T>
void check_prediction(MatrixView<const T> centroids, MatrixView<const T> points, const KMeansMemory<T>& memory,
                      const Execution& execution);
template <class T>
void check_distances(MatrixView<const T> centroids, MatrixView<const T> points, MatrixView<T> distances);

/// UsageError unless there are a finite mean and a positive finite scale for each of `columns`.
void check_standardization(const KMeansStandardization& by, std::int64_t columns);

}  // namespace gradus::kmeans_detail
