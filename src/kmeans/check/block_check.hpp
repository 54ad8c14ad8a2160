// kmeans_check() for the rows of a table that is processed in blocks. The result is the result of one call for all
// rows.
#pragma once

#include <cstdint>
#include <optional>

#include "gradus/kmeans_check.hpp"
#include "kmeans/api/blocks.hpp"
#include "kmeans/check/result_check.hpp"

namespace gradus::kmeans_detail {

/// A check for all blocks of a table, in order.
template <class T>
class BlockCheck {
 public:
  /// Keeps references to `model` and to the memory of `weights`. There are `rows` rows, and `weights` is empty or has a
  /// weight for each row. Throws UsageError for invalid options, and InputError for unsuitable centroids.
  BlockCheck(const KMeansModel<T>& model, VectorView<const T> weights, std::int64_t rows,
             const KMeansCheckOptions& options);

  /// Checks the next rows. Throws the errors of kmeans_check().
  void add(MatrixView<const T> points, VectorView<const std::int32_t> labels, const Execution& execution);

  /// Returns the result for all rows that were added.
  KMeansCheck result(const Execution& execution) const;

 private:
  KMeansModel<T> model_;
  VectorView<const T> weights_;
  Matrix<T> unit_centroids_;  ///< for KMeansMetric::cosine
  std::int64_t all_rows_;
  std::int64_t rows_ = 0;
  BlockPrediction<T> prediction_;  ///< of points that are standardized already
  std::optional<ResultCheck<T>> check_;
};

}  // namespace gradus::kmeans_detail
