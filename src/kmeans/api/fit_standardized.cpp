#include <optional>
#include <utility>

#include "kmeans/api/fit.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/standardization/standardization.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> fit_standardized(const FitCall<T>& call) {
  const JobPlan<T> plan = check(call);
  check_memory_with_copy(call, plan);
  const StandardizedPoints<T> points(call.points, plan.rows, plan.here);
  return fit_standardized(points, call.options, call.memory, points.here());
}

template <class T>
KMeansResult<T> fit_standardized(const StandardizedPoints<T>& points, const KMeansOptions& options,
                                 const KMeansMemory<T>& memory, const Execution& here) {
  Matrix<T> centroids;
  const KMeansOptions plain = without_standardize(options);
  const KMeansMemory<T> standardized = points.standardized(memory, centroids);
  const std::optional<Execution> parts = in_parts(points.rows(), standardized.weights, plain.clusters, here);
  KMeansResult<T> result = parts ? fit_on_gpus<T>(points.rows(), plain, standardized, *parts)
                                 : fit(FitCall<T>{points.rows(), plain, standardized, here, points.ranks()});
  points.add_to(result.report);
  result.standardization = points.by();
  result.standardized_centroids = std::move(result.centroids);
  result.centroids = restored(std::as_const(result.standardized_centroids).view(), points.by());
  return result;
}

#define GRADUS_INSTANTIATE(T)                                                                   \
  template KMeansResult<T> fit_standardized(const FitCall<T>&);                                 \
  template KMeansResult<T> fit_standardized(const StandardizedPoints<T>&, const KMeansOptions&, \
                                            const KMeansMemory<T>&, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
