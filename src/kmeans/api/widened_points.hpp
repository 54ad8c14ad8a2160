// A copy of stored points in the type of the job, for calls that widens_points_first() names.
#pragma once

#include "execution/whole_call.hpp"
#include "gradus/execution.hpp"
#include "gradus/stored_matrix.hpp"
#include "kmeans/api/estimate.hpp"

namespace gradus::kmeans_detail {

class WidenedPoints {
 public:
  /// Throws UsageError for a malformed view, and OutOfMemoryError if the memory limit or the available memory does not
  /// suffice.
  WidenedPoints(const StoredMatrixView& points, const Execution& execution);

  MatrixView<const float> rows() const { return rows_.view(); }
  /// Returns the settings for the job. Its memory limit is reduced by the bytes of the copy.
  const Execution& here() const { return here_; }

 private:
  Execution here_;
  Matrix<float> rows_;
};

/// Makes a public call on stored points: on_gpus(copy, execution) if the points must be copied first, otherwise
/// call(execution, ranks) as a whole call with the name `name`.
template <class OnGpus, class Call>
auto call_on_stored(const char* name, const StoredMatrixView& points, const Execution& execution, const OnGpus& on_gpus,
                    const Call& call) {
  if (!widens_points_first(execution)) return execution::whole_call<float>(name, execution, call);
  const WidenedPoints copy(points, execution);
  return on_gpus(copy.rows(), copy.here());
}

}  // namespace gradus::kmeans_detail
