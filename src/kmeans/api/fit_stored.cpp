// kmeans() of points of 8 or 16 bits.
#include "gradus/kmeans.hpp"
#include "kmeans/api/fit.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/api/widened_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

KMeansResult<float> kmeans(const StoredMatrixView& points, const KMeansOptions& options,
                           const KMeansMemory<float>& memory, const Execution& execution) {
  return room::call_on_stored(
      "kmeans", points, execution,
      [&](MatrixView<const float> rows, const Execution& here) {
        return room::fit_on_gpus(rows, options, memory, here);
      },
      [&](const Execution& here, core::Ranks& ranks) {
        const room::FitCall<float> call{points, options, memory, here, ranks};
        return options.standardize ? room::fit_standardized(call) : room::fit(call);
      });
}

}  // namespace gradus
