// Compares labels and centroids with what they should be, for points that arrive in blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "gradus/kmeans_check.hpp"
#include "kmeans/batches/batch_sums.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

template <class T>
class ResultCheck {
 public:
  /// Some rows of the points, after they are standardized and scaled to unit length as the fit does it.
  struct Rows {
    MatrixView<const T> points;
    VectorView<const T> weights;  ///< empty, or one weight per row
    const std::int32_t* labels;   ///< the labels to check
    const std::int32_t* nearest;  ///< the labels that a production variant found
    std::int64_t first;           ///< number of the first row among all rows
  };

  /// There are `all_rows` points. Keeps a reference to the memory of `centroids`.
  ResultCheck(MatrixView<const T> centroids, KMeansMetric metric, const KMeansCheckOptions& options,
              std::int64_t all_rows);

  /// Returns true if plain loops compute everything.
  bool is_reference() const { return result_.reference_rows == all_rows_; }

  /// Rows arrive in order. Throws InterruptedError after a stop request.
  void add(const Rows& rows, int threads, const std::stop_token& stop);

  /// Adds what the other ranks have found. Collective.
  void add_up(core::Ranks& ranks);

  /// Returns the result, without a report. `inertia` is the exact inertia of the labels that the production variant
  /// found, not halved for KMeansMetric::cosine. It must be 0 if is_reference(). Throws InputError if the inertia
  /// exceeds the range of double.
  KMeansCheck result(core::ExactAccumulator inertia, int threads) const;

 private:
  class Differences;

  std::vector<std::int32_t> compare_with_reference(const Rows& rows, int threads, const std::stop_token& stop);
  void check_means(KMeansCheck& result, int threads) const;
  bool mean_of(std::int64_t cluster, T* mean) const;

  MatrixView<const T> centroids_;
  KMeansMetric metric_;
  double tolerance_;
  std::int64_t all_rows_;
  KMeansCheck result_;
  std::int64_t next_reference_ = 0;    ///< index of the next row that the plain loop compares
  core::ExactAccumulator correction_;  ///< what result() adds to the inertia
  BatchSums<T> sums_;
  // Only if is_reference(): a sum for each coordinate of a centroid, and the weight of each cluster.
  std::vector<core::ExactAccumulator> plain_sums_;
  std::vector<core::ExactAccumulator> plain_weights_;
};

}  // namespace gradus::kmeans_detail
