// A standardized copy of points, and fits of it.
#pragma once

#include <utility>

#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

/// UsageError unless there are a finite mean and a positive finite scale for each of `columns`.
void check_standardization(const KMeansStandardization& by, std::int64_t columns);

/// A standardized copy of points in host memory, and how a job with it runs.
template <class T>
class StandardizedPoints {
 public:
  /// Standardizes by the points' own mean and scale. `execution`: of a call without ranks, checked.
  StandardizedPoints(MatrixView<const T> points, const Execution& execution);
  /// Standardizes by what was found before. Takes memory for one copy of the points: OutOfMemoryError if it does not
  /// fit.
  StandardizedPoints(MatrixView<const T> points, KMeansStandardization by, const Execution& execution);

  MatrixView<const T> rows() const { return rows_.view(); }
  const KMeansStandardization& by() const { return by_; }
  /// On the GPU where the points are, with the memory that the copy leaves.
  const Execution& here() const { return here_; }
  Matrix<T> take() && { return std::move(rows_); }

  /// Adds the time that standardizing took to the report of a call that followed.
  void add_to(RunReport& report) const;

  /// Fits the copy. Given centroids are in the units of the data, and so are the result's. `here`: here(), with no more
  /// memory.
  KMeansResult<T> fit(const KMeansOptions& options, const KMeansMemory<T>& memory, const Execution& here) const;
  KMeansInitialCentroids<T> first_centroids(const KMeansOptions& options, const KMeansMemory<T>& memory) const;

 private:
  KMeansMemory<T> standardized(const KMeansMemory<T>& memory, Matrix<T>& centroids) const;

  Execution here_;
  KMeansStandardization by_;
  Matrix<T> rows_;
  double seconds_ = 0;
};

}  // namespace gradus::kmeans_detail
