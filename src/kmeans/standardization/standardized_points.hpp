// A standardized copy of the points, on which a call runs instead of on the points.
#pragma once

#include <utility>

#include "gradus/kmeans.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// A standardized copy of this rank's points in host memory, and the execution settings for a call on it.
template <class T>
class StandardizedPoints {
 public:
  /// Standardizes by the mean and scale of all ranks' points. All ranks must call it together. `here`: where the call
  /// runs, with the ranks' stop token. Throws OutOfMemoryError if a copy of the points does not fit.
  StandardizedPoints(MatrixView<const T> points, const core::RankRows& rows, const Execution& here);
  /// Standardizes by a given mean and scale.
  StandardizedPoints(MatrixView<const T> points, KMeansStandardization by, const core::RankRows& rows,
                     const Execution& here);

  MatrixView<const T> rows() const { return rows_.view(); }
  const KMeansStandardization& by() const { return by_; }
  /// The call's execution: on the GPU if the points are there, with the memory limit reduced by the copy.
  const Execution& here() const { return here_; }
  core::Ranks& ranks() const { return *ranks_; }
  Matrix<T> take() && { return std::move(rows_); }

  /// Standardizes the given centroids, if any, into `centroids`. All ranks must call it together.
  KMeansMemory<T> standardized(const KMeansMemory<T>& memory, Matrix<T>& centroids) const;
  /// Adds the time spent on standardizing to the report of a call on the copy.
  void add_to(RunReport& report) const;

 private:
  core::Ranks* ranks_;
  Execution here_;
  KMeansStandardization by_;
  Matrix<T> rows_;
  double seconds_ = 0;
};

/// Returns the request with its memory limit reduced by a copy of the points. Throws OutOfMemoryError if none is left.
Execution beside_copy(std::int64_t rows, std::int64_t columns, std::size_t element_bytes, const Execution& execution);

KMeansOptions without_standardize(const KMeansOptions& options);

}  // namespace gradus::kmeans_detail
