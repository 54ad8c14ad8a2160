// A standardized copy of the points. If a call standardizes, it runs on this copy instead of the points.
#pragma once

#include <utility>

#include "gradus/kmeans.hpp"
#include "kmeans/points/point_rows.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// A standardized copy of this rank's points in host memory, and the Execution for a call that runs on this copy.
template <class T>
class StandardizedPoints {
 public:
  /// Standardizes by the mean and scale of the points of all ranks. All ranks must construct the object together.
  /// `here` is the Execution of the call, with the stop token of all ranks. Throws OutOfMemoryError if there is not
  /// enough memory for a copy of the points.
  StandardizedPoints(const PointRows<T>& points, const core::RankRows& rows, const Execution& here);
  /// Standardizes by a given mean and scale.
  StandardizedPoints(const PointRows<T>& points, KMeansStandardization by, const core::RankRows& rows,
                     const Execution& here);

  MatrixView<const T> rows() const { return rows_.view(); }
  const KMeansStandardization& by() const { return by_; }
  /// Returns the Execution for a call on the copy. It uses the GPU if the original points are on the GPU. Its memory
  /// limit is reduced by the size of the copy.
  const Execution& here() const { return here_; }
  core::Ranks& ranks() const { return *ranks_; }
  Matrix<T> take() && { return std::move(rows_); }

  /// If there are given centroids, standardizes them and stores them in `centroids`. All ranks must call this function
  /// together.
  KMeansMemory<T> standardized(const KMeansMemory<T>& memory, Matrix<T>& centroids) const;
  /// Adds the time that the standardization took to the report of a call on the copy.
  void add_to(RunReport& report) const;

 private:
  core::Ranks* ranks_;
  Execution here_;
  KMeansStandardization by_;
  Matrix<T> rows_;
  double seconds_ = 0;
};

/// Returns `execution` with its memory limit reduced by the size of a copy of the points. Throws OutOfMemoryError if
/// the copy exceeds the limit.
Execution beside_copy(std::int64_t rows, std::int64_t columns, std::size_t element_bytes, const Execution& execution);

KMeansOptions without_standardize(const KMeansOptions& options);

}  // namespace gradus::kmeans_detail
