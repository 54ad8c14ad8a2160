// The problems of a batch: the matrix and the memory of each problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "execution/request.hpp"
#include "gradus/kmeans_batch.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

/// Returns the GPUs that share the problems of a batch: the GPUs of the request, or the GPU that holds the points.
/// Returns an empty list if the CPU fits the problems, which is so unless the request or the points name a GPU.
std::vector<int> gpus_of_batch(const Execution& execution, MemoryPlace points);

/// The memory of a batch. `points` and `centroids` are views of the first problem.
struct BatchMemory {
  detail::ViewFacts points;
  std::int64_t stride = 0;
  std::int64_t count = 0;
  detail::ViewFacts centroids;
  std::int64_t centroids_stride = 0;
  std::int64_t centroids_count = 0;
  detail::ViewFacts weights;
  detail::ViewFacts labels;
};

/// Throws the errors of kmeans_batch() about shapes, places and overlaps of memory, and about options of a single fit.
void check_batch(const BatchMemory& memory, const KMeansOptions& options, const Execution& execution);

template <class T>
struct BatchProblems {
  PointRows<T> first;
  std::int64_t stride;
  std::int64_t count;
  const KMeansBatchMemory<T>& memory;

  /// Returns the shape of one problem.
  KMeansShape shape() const {
    return {first.rows(), first.columns(), element_bytes(first), memory.weights.rows() > 0, first.place()};
  }
  BatchMemory all_memory() const {
    const auto bytes = static_cast<std::size_t>(element_bytes(first));
    const std::int64_t row_stride = first.is_stored() ? first.stored().row_stride() : first.shape().row_stride();
    const MatrixBatch<MatrixView<const T>>& given = memory.initial_centroids;
    return {.points = {first.data(), first.rows(), first.columns(), row_stride, first.place(), bytes, bytes},
            .stride = stride,
            .count = count,
            .centroids = execution::facts_of(given.first),
            .centroids_stride = given.stride,
            .centroids_count = given.count,
            .weights = execution::facts_of(memory.weights),
            .labels = execution::facts_of(memory.labels)};
  }

  PointRows<T> matrix(std::int64_t problem) const {
    const std::int64_t offset = problem * stride;
    if constexpr (sizeof(T) == sizeof(float))
      if (first.is_stored()) {
        const StoredMatrixView& stored = first.stored();
        return StoredMatrixView(static_cast<const std::byte*>(stored.data()) + offset * bytes_of(stored.type()),
                                stored.type(), stored.rows(), stored.columns(), stored.row_stride(), stored.place());
      }
    const MatrixView<const T>& rows = first.shape();
    return MatrixView<const T>(rows.data() + offset, rows.rows(), rows.columns(), rows.row_stride(), rows.place());
  }

  KMeansMemory<T> memory_of(std::int64_t problem) const {
    const MatrixView<const T>& weights = memory.weights;
    const MatrixView<const T>& given = memory.initial_centroids.first;
    const std::int64_t offset = problem * memory.initial_centroids.stride;
    KMeansMemory<T> one;
    if (given.rows() > 0)
      one.initial_centroids = {given.data() + offset, given.rows(), given.columns(), given.row_stride(), given.place()};
    if (weights.rows() > 0)
      one.weights = {weights.row(weights.rows() == 1 ? 0 : problem), weights.columns(), weights.place()};
    if (memory.labels.rows() > 0)
      one.labels = {memory.labels.row(problem), memory.labels.columns(), memory.labels.place()};
    return one;
  }
};

}  // namespace gradus::kmeans_detail
