// Argument checks that several public calls use. They throw UsageError, or InputError if shapes do not match.
#pragma once

#include "gradus/kmeans.hpp"
#include "gradus/kmeans_choose.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

/// The largest number of points. With that many summands, the step of a sum's grid is 2^-52 of the column's largest
/// magnitude (core/exact_sum.hpp).
inline constexpr std::int64_t most_points = std::int64_t{1} << 36;

void check_options(const KMeansOptions& options);
/// Checks the number of clusters. `points` is the total number of points on all ranks.
void check_clusters(const KMeansOptions& options, std::int64_t points);
/// Throws InputError about more clusters than points. In the message, `point` and `which` are the words for the points.
[[noreturn]] void throw_too_few(std::int64_t clusters, std::int64_t count, const char* point, const char* which = "",
                                const ErrorMessage& other_remedy = {});

/// Checks the shape of the points. With several ranks, a rank may hold no rows.
template <class T>
void check_points(const PointRows<T>& points, const Execution& execution);
/// Throws an error unless `labels` has one element per point.
void check_labels(VectorView<std::int32_t> labels, std::int64_t points);

/// Checks the arguments of a fit without reading points. If `alone` is false, this process may have no points.
template <class T>
void check_arguments(const PointRows<T>& points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                     const Execution& execution, bool alone);
/// Checks the numbers of clusters that will be compared. Rejects options that are allowed only for a single fit.
void check_choice_options(const KMeansOptions& options, const KMeansChoiceOptions& choice, const Execution& execution);
/// Throws UsageError if the caller passes memory for labels, because a choice of initial centroids computes no labels.
template <class T>
void check_no_labels(const KMeansMemory<T>& memory);

/// Checks the arguments of a prediction or a transformation. `centroids` must have as many columns as `points`.
template <class T>
void check_model(MatrixView<const T> centroids, const PointRows<T>& points, KMeansMetric metric,
                 const Execution& execution);
template <class T>
void check_prediction(MatrixView<const T> centroids, const PointRows<T>& points, const KMeansMemory<T>& memory,
                      const Execution& execution);
template <class T>
void check_distances(MatrixView<const T> centroids, const PointRows<T>& points, MatrixView<T> distances);

/// Throws an error unless each column has a finite mean and a positive finite scale.
void check_standardization(const KMeansStandardization& by, std::int64_t columns);

}  // namespace gradus::kmeans_detail
