// kmeans_predict() and kmeans_transform() for the rows of a table that is processed in blocks. The results have the
// bits of one call for all rows, and errors count the rows of the table.
#pragma once

#include <cstdint>

#include "core/exact_accumulator.hpp"
#include "gradus/array.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

/// Returns the distances of one block, whose first row is row `first_row` of the table.
template <class T>
Matrix<T> transform_block(const KMeansModel<T>& model, MatrixView<const T> points, std::int64_t first_row,
                          const Execution& execution);

/// The prediction of all blocks of a table, in order.
template <class T>
class BlockPrediction {
 public:
  /// Refers to the memory of `model` and of `weights`, which are empty or have a weight for each of `rows` rows. Throws
  /// InputError for another number of weights.
  BlockPrediction(const KMeansModel<T>& model, VectorView<const T> weights, std::int64_t rows);

  /// Returns the labels of the next rows. Throws the errors of kmeans_predict(), also for the inertia of all rows so
  /// far.
  Buffer<std::int32_t> add(MatrixView<const T> points, const Execution& execution);

  /// Returns the number of rows so far.
  std::int64_t rows() const { return rows_; }
  /// Returns the inertia of all rows so far, rounded once. It is infinite beyond the range of double.
  double inertia() const;

 private:
  KMeansModel<T> model_;
  VectorView<const T> weights_;
  bool has_weight_;  ///< true if some weight is not zero
  std::int64_t rows_ = 0;
  core::ExactAccumulator inertia_;
};

}  // namespace gradus::kmeans_detail
