// kmeans() of points of 8 or 16 bits.
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/fit.hpp"
#include "kmeans/api/on_gpus.hpp"

namespace gradus {

namespace room = kmeans_detail;

KMeansResult<float> kmeans(const StoredMatrixView& points, const KMeansOptions& options,
                           const KMeansMemory<float>& memory, const Execution& execution) {
  if (const auto parts = room::in_parts(points, memory.weights, options.clusters, execution))
    return room::fit_on_gpus<float>(points, options, memory, *parts);
  return execution::whole_call<float>("kmeans", execution, [&](const Execution& here, core::Ranks& ranks) {
    const room::FitCall<float> call{points, options, memory, here, ranks};
    return options.standardize ? room::fit_standardized(call) : room::fit(call);
  });
}

}  // namespace gradus
