// kmeans_predict() and kmeans_transform() for the rows of a table that is processed in blocks. The results have the
// same bits as the results of one call for all rows. Errors count the rows from the beginning of the table.
#pragma once

#include <cstdint>

#include "core/exact_accumulator.hpp"
#include "gradus/array.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

/// Returns the distances of one block. The block begins at row `first_row` of the table.
template <class T>
Matrix<T> transform_block(const KMeansModel<T>& model, MatrixView<const T> points, std::int64_t first_row,
                          const Execution& execution);

/// A prediction for all blocks of a table, in order.
template <class T>
class BlockPrediction {
 public:
  /// Keeps references to `model` and to the memory of `weights`. `weights` must be empty or have one weight for each of
  /// the `rows` rows. Otherwise throws InputError.
  BlockPrediction(const KMeansModel<T>& model, VectorView<const T> weights, std::int64_t rows);

  /// Returns the labels of the next rows. Throws the errors of kmeans_predict(). Also throws InputError if the inertia
  /// of all rows so far exceeds the range of double.
  Buffer<std::int32_t> add(MatrixView<const T> points, const Execution& execution);

  /// Returns the number of rows that have been added.
  std::int64_t rows() const { return rows_; }
  /// Returns the inertia of the added rows, rounded once. The result is infinite if the inertia exceeds the range of
  /// double.
  double inertia() const;
  /// Returns the exact inertia of the added rows. For KMeansMetric::cosine, it is not halved.
  const core::ExactAccumulator& exact_inertia() const { return inertia_; }
  /// Returns the report of the last call of add(), without its phases.
  const RunReport& report() const { return report_; }

 private:
  KMeansModel<T> model_;
  VectorView<const T> weights_;
  bool has_weight_;  ///< true if some weight is not zero
  std::int64_t rows_ = 0;
  core::ExactAccumulator inertia_;
  RunReport report_;
};

}  // namespace gradus::kmeans_detail
