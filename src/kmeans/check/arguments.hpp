// The checks of the arguments of kmeans_check().
#pragma once

#include <cstdint>

#include "gradus/kmeans_check.hpp"

namespace gradus::kmeans_detail {

/// Throws UsageError for invalid options.
void check_options(const KMeansCheckOptions& options);

/// Throws UnsupportedError for a variant whose labels are approximate.
void require_exact_variant(const Execution& execution);

/// Throws UnsupportedError unless the array is in host memory.
void require_in_host_memory(MemoryPlace place, const char* what);

/// Throws InputError unless there is one label per point and each label is the index of a cluster.
void check_given_labels(VectorView<const std::int32_t> labels, std::int64_t points, std::int64_t clusters,
                        std::int64_t first_row);

/// Checks the model. Returns the centroids scaled to unit length for KMeansMetric::cosine, otherwise an empty matrix.
template <class T>
Matrix<T> checked_centroids(const KMeansModel<T>& model);

/// Returns the centroids with which rows are compared. `unit` is the result of checked_centroids().
template <class T>
MatrixView<const T> compared_centroids(const KMeansModel<T>& model, const Matrix<T>& unit) {
  return model.metric == KMeansMetric::cosine ? unit.view() : model.centroids;
}

/// Starts and returns the number of threads that pays for work on a number of values. Throws Error if the system does
/// not let the process start the threads.
int team_for(std::int64_t values, const Execution& execution);

/// Throws OutOfMemoryError if the sums of a check need more memory than there is.
template <class T>
void check_sums_memory(MatrixView<const T> centroids, bool is_reference, const Execution& execution);

}  // namespace gradus::kmeans_detail
