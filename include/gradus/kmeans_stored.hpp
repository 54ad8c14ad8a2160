/// kmeans_predict() and kmeans_transform() for rows of 8-bit integers or 16-bit floating-point numbers, in host memory.
/// The functions return the bits of the same rows converted to float. On the CPU, they convert blocks of rows where
/// they are read, and need no copy of all rows in float. These calls make such a copy, which counts towards the memory
/// limit: calls on a GPU, variants of another contract than "same bits", models with KMeansMetric::cosine (rows of unit
/// length), and models that standardize (standardized rows).
#pragma once

#include "gradus/export.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/stored_matrix.hpp"

namespace gradus {

/// Returns the nearest centroid of each row; see kmeans_predict() of gradus/kmeans.hpp. Throws the same errors, and
/// UnsupportedError for rows on a GPU.
GRADUS_EXPORT KMeansPrediction kmeans_predict(const KMeansModel<float>& model, const StoredMatrixView& points,
                                              const KMeansMemory<float>& memory = {}, const Execution& execution = {});

/// Returns the n x k distances of the rows to the centroids; see kmeans_transform() of gradus/kmeans.hpp. Throws the
/// same errors, and UnsupportedError for rows on a GPU.
GRADUS_EXPORT Matrix<float> kmeans_transform(const KMeansModel<float>& model, const StoredMatrixView& points,
                                             const Execution& execution = {});
/// Overload that writes the distances to the caller's memory.
GRADUS_EXPORT RunReport kmeans_transform(const KMeansModel<float>& model, const StoredMatrixView& points,
                                         MatrixView<float> distances, const Execution& execution = {});

}  // namespace gradus
