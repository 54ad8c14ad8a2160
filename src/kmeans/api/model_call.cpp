#include "kmeans/api/model_call.hpp"

#include <vector>

#include "kmeans/kmeans.hpp"

namespace gradus::kmeans_detail {

template <class T>
void check_arguments(const ModelCall<T>& call) {
  const KMeansModel<T>& model = call.model;
  check_model<T>(model.centroids, call.points, model.metric, call.execution);
  if (!model.standardization.empty()) check_standardization(model.standardization, model.centroids.columns());
}

template <class T>
JobPlan<T> place(const ModelCall<T>& call, std::initializer_list<execution::NamedPlace> others) {
  const KMeansModel<T>& model = call.model;
  std::vector<execution::NamedPlace> places(others);
  places.push_back({call.points.place(), "points"});
  places.push_back({model.centroids.place(), "centroids"});
  const auto text = [&] {
    return call_text(call.name, {.clusters = model.centroids.rows(), .metric = model.metric}) +
           rows_text("centroids", model.centroids) + standardization_text(model.standardization);
  };
  JobPlan<T> plan(place_of_job<T>(call.ranks, call.points.shape(), places, text, call.execution, RunsVariant::yes));
  if (call.ranks.is_alone()) plan.rows = core::RankRows(call.points.rows(), call.first_row);
  return plan;
}

template <class T>
void describe(const ModelCall<T>& call, JobPlan<T>& plan) {
  plan.shape = {call.points.rows(), call.points.columns(), call.model.centroids.rows(), static_cast<int>(sizeof(T)),
                !plan.weights.empty()};
  plan.shape.stored = call.points.is_stored();
  plan.shape.kept_bytes = kept_bytes(plan.shape.stored ? element_bytes(call.points) : 0, call.model.metric);
}

template <class T>
void add_inertia(const Variant& variant, const Problem<T>& problem, const KMeansResult<T>& result,
                 core::ExactAccumulator& sum) {
  if (variant.backend != core::Backend::cuda || variant.contract.kind != core::Contract::same_bits) {
    sum.merge(*problem.rank_inertia);
    return sum.add(problem.metric == KMeansMetric::cosine ? 2 * result.inertia : result.inertia);
  }
  // Without ranks, a GPU variant computes only the rounded inertia, so the exact inertia is computed here.
  Buffer<double> distances(problem.n());
  problem.source->own_squared_distances(problem.initial_centroids, result.labels.data(), distances.data());
  for (std::int64_t row = 0; row < problem.n(); ++row)
    sum.add(core::rounded_product(problem.weight(row), distances[row]));
}

#define GRADUS_INSTANTIATE(T)                                                                   \
  template void check_arguments(const ModelCall<T>&);                                           \
  template JobPlan<T> place(const ModelCall<T>&, std::initializer_list<execution::NamedPlace>); \
  template void describe(const ModelCall<T>&, JobPlan<T>&);                                     \
  template void add_inertia(const Variant&, const Problem<T>&, const KMeansResult<T>&, core::ExactAccumulator&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
