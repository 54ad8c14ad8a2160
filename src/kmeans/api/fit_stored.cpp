// kmeans() of points of 8 or 16 bits.
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/fit.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/api/widened_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

KMeansResult<float> kmeans(const StoredMatrixView& points, const KMeansOptions& options,
                           const KMeansMemory<float>& memory, const Execution& execution) {
  if (execution::is_for_several_gpus(execution)) {
    const room::WidenedPoints copy(points, execution, core::Ranks::alone());
    return room::fit_on_gpus(copy.rows(), options, memory, copy.here());
  }
  return execution::whole_call<float>("kmeans", execution, [&](const Execution& here, core::Ranks& ranks) {
    if (!options.standardize) return room::fit(room::FitCall<float>{points, options, memory, here, ranks});
    const room::WidenedPoints copy(points, here, ranks);
    return room::fit_standardized(room::FitCall<float>{copy.rows(), options, memory, copy.here(), ranks});
  });
}

}  // namespace gradus
