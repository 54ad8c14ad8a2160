// kmeans_choose(): makes fits with several numbers of clusters, and selects the fit that a criterion recommends.
#include "gradus/kmeans_choose.hpp"

#include <algorithm>

#include "execution/gpu_group.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/api/comparison.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/kmeans.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

template <class T>
void check(const room::ChoiceCall<T>& call) {
  const Execution one = execution::on_first_gpu(call.execution);
  execution::check_execution(one);
  room::check_choice_options(call.options, call.choice, one);
  const std::vector<std::int64_t>& clusters = call.choice.clusters;
  const auto too_many = std::ranges::upper_bound(clusters, call.points.rows());
  KMeansOptions options = call.options;
  options.clusters = too_many == clusters.end() ? clusters.back() : *too_many;
  if (clusters.front() < 1) options.clusters = clusters.front();
  room::check_arguments<T>(call.points, options, call.memory, one, true);
  const MemoryPlace place = call.memory.labels.place();
  if (!call.memory.labels.empty() && !place.is_host() && place != call.points.place())
    throw UnsupportedError(about("labels") + "they are on " + execution::gpu_number(place.gpu) +
                           ", but the points are not; keep both there, or the labels in host memory");
}

template <class T>
KMeansShape describe(const room::ChoiceCall<T>& call) {
  return {call.points.rows(), call.points.columns(), room::element_bytes(call.points), !call.memory.weights.empty(),
          call.points.place()};
}

template <class T>
void estimate(const room::ChoiceCall<T>& call, const KMeansShape& shape) {
  execution::check_memory(kmeans_choose_memory(shape, call.options, call.choice, call.execution).host, call.execution,
                          "compare fewer numbers of clusters at a time");
}

template <class T>
KMeansChoice<T> compare(const room::PointRows<T>& points, const KMeansOptions& options,
                        const KMeansChoiceOptions& choice, const KMeansMemory<T>& memory, const Execution& execution) {
  return execution::whole_call(execution, [&](const Execution& here) {
    const room::ChoiceCall<T> call{points, options, choice, memory, here};
    check(call);
    const KMeansShape shape = describe(call);
    estimate(call, shape);
    return room::Comparison<T>(call, shape).run();
  });
}

}  // namespace

KMeansChoice<float> kmeans_choose(const StoredMatrixView& points, const KMeansOptions& options,
                                  const KMeansChoiceOptions& choice, const KMeansMemory<float>& memory,
                                  const Execution& execution) {
  return compare<float>(points, options, choice, memory, execution);
}

namespace detail {

template <class T>
KMeansChoice<T> kmeans_choose(MatrixView<const T> points, const KMeansOptions& options,
                              const KMeansChoiceOptions& choice, const KMeansMemory<T>& memory,
                              const Execution& execution) {
  return compare<T>(points, options, choice, memory, execution);
}

template KMeansChoice<float> kmeans_choose(MatrixView<const float>, const KMeansOptions&, const KMeansChoiceOptions&,
                                           const KMeansMemory<float>&, const Execution&);
template KMeansChoice<double> kmeans_choose(MatrixView<const double>, const KMeansOptions&, const KMeansChoiceOptions&,
                                            const KMeansMemory<double>&, const Execution&);

}  // namespace detail

}  // namespace gradus
