// A standardized copy of points, on which a call runs that would otherwise run on the points.
#pragma once

#include <utility>

#include "gradus/kmeans.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// A standardized copy of this rank's points in host memory, and how a call runs on it.
template <class T>
class StandardizedPoints {
 public:
  /// Standardizes by the mean and scale of all ranks' points. Ranks call this together. `here`: where the call runs,
  /// with the ranks' stop token. Throws OutOfMemoryError if a copy of the points does not fit.
  StandardizedPoints(MatrixView<const T> points, const core::RankRows& rows, const Execution& here);
  /// Standardizes by mean and scale that were measured before.
  StandardizedPoints(MatrixView<const T> points, KMeansStandardization by, const core::RankRows& rows,
                     const Execution& here);

  MatrixView<const T> rows() const { return rows_.view(); }
  const KMeansStandardization& by() const { return by_; }
  /// On the GPU where the points are, with the memory that the copy leaves.
  const Execution& here() const { return here_; }
  core::Ranks& ranks() const { return *ranks_; }
  Matrix<T> take() && { return std::move(rows_); }

  /// Standardizes the given centroids, if there are any, into `centroids`. Ranks call this together.
  KMeansMemory<T> standardized(const KMeansMemory<T>& memory, Matrix<T>& centroids) const;
  /// Adds the time that standardizing took to the report of a call on the copy.
  void add_to(RunReport& report) const;

 private:
  core::Ranks* ranks_;
  Execution here_;
  KMeansStandardization by_;
  Matrix<T> rows_;
  double seconds_ = 0;
};

/// Returns the request without the memory of a copy of the points. Throws OutOfMemoryError unless some is left.
Execution beside_copy(std::int64_t rows, std::int64_t columns, std::size_t element_bytes, const Execution& execution);

/// The options of a call on the copy.
KMeansOptions without_standardize(const KMeansOptions& options);

}  // namespace gradus::kmeans_detail
