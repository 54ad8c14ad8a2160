// kmeans_choose(): makes fits with several numbers of clusters, and selects the fit that a criterion recommends.
#include "gradus/kmeans_choose.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/phases.hpp"
#include "execution/gpu_group.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/api/fit.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/host_copy.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

template <class T>
struct ChoiceCall {
  MatrixView<const T> points;
  const KMeansOptions& options;
  const KMeansChoiceOptions& choice;
  const KMeansMemory<T>& memory;
  const Execution& execution;
};

template <class T>
void check(const ChoiceCall<T>& call) {
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
KMeansShape describe(const ChoiceCall<T>& call) {
  return {call.points.rows(), call.points.columns(), static_cast<int>(sizeof(T)), !call.memory.weights.empty(),
          call.points.place()};
}

template <class T>
void estimate(const ChoiceCall<T>& call, const KMeansShape& shape) {
  execution::check_memory(kmeans_choose_memory(shape, call.options, call.choice, call.execution).host, call.execution,
                          "compare fewer numbers of clusters at a time");
}

/// Runs the fits one after another, each with a separate choice of variant, and computes their criteria.
template <class T>
class Comparison {
 public:
  Comparison(const ChoiceCall<T>& call, const KMeansShape& shape) : call_(call), shape_(shape), here_(call.execution) {}

  KMeansChoice<T> run() {
    const auto start = core::Clock::now();
    if (call_.options.standardize) standardize();
    KMeansChoice<T> found;
    fit_all(found);
    add_criteria(found);
    found.chosen = kmeans_recommended(found.candidates, call_.choice.criterion).value_or(0);
    found.result = std::move(results_[found.chosen]);
    deliver(found.result);
    found.report = found.result.report;
    core::add_phase(phases_, "total", core::seconds_since(start));
    found.report.phases = std::move(phases_);
    return found;
  }

 private:
  void standardize() {
    const core::PhaseTimer timer(phases_, "standardize");
    const Execution at = execution::run_on_gpu_of(call_.points.place(), "points", here_);
    standardized_.emplace(call_.points, core::RankRows(call_.points.rows()), at);
    here_ = standardized_->here();
  }

  void fit_all(KMeansChoice<T>& found) {
    const core::PhaseTimer timer(phases_, "fit");
    KMeansMemory<T> memory = call_.memory;
    memory.labels = {};  // the caller's memory gets the labels of the best fit, which is known only after all fits
    std::uint64_t kept = 0;
    for (const std::int64_t clusters : call_.choice.clusters) {
      tell(clusters);
      const auto start = core::Clock::now();
      const KMeansOptions options = room::options_of_fit(call_.options, clusters);
      const Execution here = room::without(kept, here_);
      results_.push_back(standardized_ ? room::fit_standardized(*standardized_, options, memory, here)
                                       : detail::kmeans<T>(call_.points, options, memory, here));
      const KMeansResult<T>& result = results_.back();
      found.candidates.push_back({.clusters = clusters,
                                  .inertia = result.inertia,
                                  .iterations = result.iterations,
                                  .seconds = core::seconds_since(start)});
      kept += room::result_bytes(shape_, clusters);
    }
  }

  void tell(std::int64_t clusters) const {
    if (!here_.progress) return;
    const std::string detail = "k = " + std::to_string(clusters);
    here_.progress({"clusters", std::ssize(results_), std::ssize(call_.choice.clusters), detail});
  }

  /// Computes the criteria of the fits for which they are defined. Such a fit has at least two clusters with points,
  /// and fewer of these clusters than points.
  void add_criteria(KMeansChoice<T>& found) {
    const core::PhaseTimer timer(phases_, "criteria");
    std::vector<VectorView<const std::int32_t>> labelings;
    std::vector<std::size_t> owners;
    std::uint64_t kept = 0;
    for (std::size_t index = 0; index < results_.size(); ++index) {
      kept += room::result_bytes(shape_, call_.choice.clusters[index]);
      const auto used = std::ranges::count_if(results_[index].counts, [](std::int64_t count) { return count > 0; });
      if (used < 2 || used >= call_.points.rows()) continue;
      labelings.push_back(std::as_const(results_[index].labels).view());
      owners.push_back(index);
    }
    Matrix<T> copy;
    const MatrixView<const T> rows =
        standardized_ ? standardized_->rows() : room::in_host_memory(call_.points, "points", here_, copy);
    const KMeansCriteriaResult criteria =
        detail::kmeans_criteria<T>(rows, labelings,
                                   {.metric = call_.options.metric,
                                    .silhouette_points = call_.choice.silhouette_points,
                                    .seed = call_.options.seed},
                                   execution::on_first_gpu(room::without(kept, here_)));
    for (std::size_t index = 0; index < owners.size(); ++index)
      found.candidates[owners[index]].criteria = criteria.labelings[index];
    found.silhouette_points = criteria.silhouette_points;
  }

  void deliver(KMeansResult<T>& result) const {
    if (call_.memory.labels.empty()) return;
    if (call_.memory.labels.place().is_host()) {
      std::copy_n(result.labels.data(), result.labels.size(), call_.memory.labels.data());
    } else {  // the points are on a GPU, so the labels of the best fit are computed by a prediction
      const Matrix<T>& centroids = standardized_ ? result.standardized_centroids : result.centroids;
      detail::kmeans_predict<T>(centroids.view(), standardized_ ? standardized_->rows() : call_.points,
                                KMeansMemory<T>{.labels = call_.memory.labels}, call_.options.metric, here_);
    }
    result.labels = {};
  }

  const ChoiceCall<T>& call_;
  const KMeansShape shape_;
  Execution here_;
  std::optional<room::StandardizedPoints<T>> standardized_;
  std::vector<KMeansResult<T>> results_;
  std::vector<Phase> phases_;
};

}  // namespace

namespace detail {

template <class T>
KMeansChoice<T> kmeans_choose(MatrixView<const T> points, const KMeansOptions& options,
                              const KMeansChoiceOptions& choice, const KMeansMemory<T>& memory,
                              const Execution& execution) {
  return execution::whole_call(execution, [&](const Execution& here) {
    const ChoiceCall<T> call{points, options, choice, memory, here};
    check(call);
    const KMeansShape shape = describe(call);
    estimate(call, shape);
    return Comparison<T>(call, shape).run();
  });
}

template KMeansChoice<float> kmeans_choose(MatrixView<const float>, const KMeansOptions&, const KMeansChoiceOptions&,
                                           const KMeansMemory<float>&, const Execution&);
template KMeansChoice<double> kmeans_choose(MatrixView<const double>, const KMeansOptions&, const KMeansChoiceOptions&,
                                            const KMeansMemory<double>&, const Execution&);

}  // namespace detail

}  // namespace gradus
