// A copy of stored points in the type of the job, for calls that need all points in this type.
#pragma once

#include "gradus/execution.hpp"
#include "gradus/stored_matrix.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

class WidenedPoints {
 public:
  /// Copies this rank's points. Throws UsageError for a malformed view, and OutOfMemoryError if the memory limit or the
  /// available memory does not suffice. Collective.
  WidenedPoints(const StoredMatrixView& points, const Execution& execution, core::Ranks& ranks);

  MatrixView<const float> rows() const { return rows_.view(); }
  /// Returns the settings for the job. Its memory limit is reduced by the bytes of the copy.
  const Execution& here() const { return here_; }

 private:
  Execution here_;
  Matrix<float> rows_;
};

}  // namespace gradus::kmeans_detail
