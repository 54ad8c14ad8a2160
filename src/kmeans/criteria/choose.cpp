// kmeans_choose(): fits with several numbers of clusters, and which of them a criterion recommends
// (gradus/kmeans_choose.hpp).
#include "gradus/kmeans_choose.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "core/options.hpp"
#include "core/phases.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/criteria/criteria.hpp"
#include "kmeans/graph_file.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/host_copy.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

void check_choice_options(const KMeansOptions& options, const KMeansChoiceOptions& choice, const Execution& execution) {
  core::check_choice(choice.criterion, "criterion");
  if (choice.clusters.empty())
    throw UsageError(about("clusters") + "there is no number of clusters; at least one is needed");
  for (std::size_t index = 1; index < choice.clusters.size(); ++index)
    if (choice.clusters[index] <= choice.clusters[index - 1])
      throw UsageError(about("clusters") + std::to_string(choice.clusters[index]) + " follows " +
                       std::to_string(choice.clusters[index - 1]) + "; ascending numbers are needed, each one once");
  if (choice.silhouette_points < 2)
    throw UsageError("the silhouette needs at least 2 points, not " + std::to_string(choice.silhouette_points));
  if (choice.clusters.size() == 1) return;
  const auto refuse = [](const std::string& what) {
    throw UsageError(what + " of one fit, and several numbers of clusters are compared; leave it out");
  };
  if (options.init == KMeansInit::given) refuse("init: the given centroids are those");
  if (!room::graph_file(execution).empty()) refuse("dump_graph: the graph is that");
  if (!options.checkpoint.file.empty()) refuse("checkpoint: the file is that");
}

/// The options of the fit with that many clusters, of points that are standardized already.
KMeansOptions options_of_fit(const KMeansOptions& options, std::int64_t clusters) {
  KMeansOptions result = options;
  result.clusters = clusters;
  result.standardize = false;
  return result;
}

/// The request with that much less memory. Where there is none left, what follows is refused.
Execution without(std::uint64_t bytes, const Execution& execution) {
  Execution left = execution;
  if (left.memory_limit != 0) left.memory_limit = left.memory_limit > bytes ? left.memory_limit - bytes : 1;
  return left;
}

/// Labels and centroids of a fit, and its counts.
std::uint64_t result_bytes(const KMeansShape& shape, std::int64_t clusters) {
  const auto row_bytes = static_cast<std::uint64_t>(shape.dimensions) * static_cast<std::uint64_t>(shape.element_bytes);
  return core::checked_add(4 * static_cast<std::uint64_t>(shape.points),
                           core::checked_multiply(static_cast<std::uint64_t>(clusters), row_bytes + 8, "centroids"),
                           "centroids");
}

template <class T>
class Comparison {
 public:
  Comparison(MatrixView<const T> points, const KMeansOptions& options, const KMeansChoiceOptions& choice,
             const KMeansMemory<T>& memory, const Execution& execution)
      : points_(points), options_(options), choice_(choice), memory_(memory), here_(execution) {
    const auto start = core::Clock::now();
    if (options.standardize) {
      standardized_.emplace(points, execution);
      here_ = standardized_->here();
      core::add_phase(phases_, "standardize", core::seconds_since(start));
    }
  }

  KMeansChoice<T> compare() {
    const auto start = core::Clock::now();
    KMeansChoice<T> found;
    fit_all(found);
    add_criteria(found);
    found.chosen = kmeans_recommended(found.candidates, choice_.criterion).value_or(0);
    found.result = std::move(results_[found.chosen]);
    deliver(found.result);
    found.report = found.result.report;
    core::add_phase(phases_, "total",
                    core::seconds_since(start) + (phases_.front().name == "standardize" ? phases_.front().seconds : 0));
    found.report.phases = std::move(phases_);
    return found;
  }

 private:
  void fit_all(KMeansChoice<T>& found) {
    const core::PhaseTimer timer(phases_, "fit");
    KMeansMemory<T> memory = memory_;
    memory.labels = {};  // of several fits it is known only afterwards whose labels are wanted
    std::uint64_t kept = 0;
    for (const std::int64_t clusters : choice_.clusters) {
      tell(clusters);
      const auto start = core::Clock::now();
      const KMeansOptions options = options_of_fit(options_, clusters);
      const Execution here = without(kept, here_);
      results_.push_back(standardized_ ? standardized_->fit(options, memory, here)
                                       : detail::kmeans<T>(points_, options, memory, here));
      const KMeansResult<T>& result = results_.back();
      found.candidates.push_back({.clusters = clusters,
                                  .inertia = result.inertia,
                                  .iterations = result.iterations,
                                  .seconds = core::seconds_since(start)});
      kept += result_bytes(shape(), clusters);
    }
  }

  void tell(std::int64_t clusters) const {
    if (!here_.progress) return;
    const std::string detail = "k = " + std::to_string(clusters);
    here_.progress({"clusters", std::ssize(results_), std::ssize(choice_.clusters), detail});
  }

  /// Criteria, where a fit has any.
  void add_criteria(KMeansChoice<T>& found) {
    const core::PhaseTimer timer(phases_, "criteria");
    std::vector<VectorView<const std::int32_t>> labelings;
    std::vector<std::size_t> owners;
    std::uint64_t kept = 0;
    for (std::size_t index = 0; index < results_.size(); ++index) {
      kept += result_bytes(shape(), choice_.clusters[index]);
      const auto used = std::ranges::count_if(results_[index].counts, [](std::int64_t count) { return count > 0; });
      if (used < 2 || used >= points_.rows()) continue;
      labelings.push_back(std::as_const(results_[index].labels).view());
      owners.push_back(index);
    }
    Matrix<T> copy;
    const MatrixView<const T> rows =
        standardized_ ? standardized_->rows() : room::in_host_memory(points_, "points", here_, copy);
    const KMeansCriteriaResult criteria = detail::kmeans_criteria<T>(
        rows, labelings,
        {.metric = options_.metric, .silhouette_points = choice_.silhouette_points, .seed = options_.seed},
        without(kept, here_));
    for (std::size_t index = 0; index < owners.size(); ++index)
      found.candidates[owners[index]].criteria = criteria.labelings[index];
    found.silhouette_points = criteria.silhouette_points;
  }

  void deliver(KMeansResult<T>& result) const {
    if (memory_.labels.empty()) return;
    if (memory_.labels.place().is_host()) {
      std::copy_n(result.labels.data(), result.labels.size(), memory_.labels.data());
    } else {  // a prediction of the same points gives the same labels, there
      const Matrix<T>& centroids = standardized_ ? result.standardized_centroids : result.centroids;
      detail::kmeans_predict<T>(centroids.view(), standardized_ ? standardized_->rows() : points_,
                                KMeansMemory<T>{.labels = memory_.labels}, options_.metric, here_);
    }
    result.labels = {};
  }

  KMeansShape shape() const { return {points_.rows(), points_.columns(), static_cast<int>(sizeof(T))}; }

  MatrixView<const T> points_;
  const KMeansOptions& options_;
  const KMeansChoiceOptions& choice_;
  const KMeansMemory<T>& memory_;
  Execution here_;
  std::optional<room::StandardizedPoints<T>> standardized_;
  std::vector<KMeansResult<T>> results_;
  std::vector<Phase> phases_;
};

template <class T>
void check_choice(MatrixView<const T> points, const KMeansOptions& options, const KMeansChoiceOptions& choice,
                  const KMeansMemory<T>& memory, const Execution& execution) {
  execution::check_execution(execution);
  check_choice_options(options, choice, execution);
  // The least number that is too large, if one is.
  const auto too_many = std::ranges::upper_bound(choice.clusters, points.rows());
  const std::int64_t clusters = choice.clusters.front() < 1         ? choice.clusters.front()
                                : too_many == choice.clusters.end() ? choice.clusters.back()
                                                                    : *too_many;
  KMeansOptions of_fit = options;
  of_fit.clusters = clusters;
  room::check_fit(points, of_fit, memory, execution);
  const MemoryPlace place = memory.labels.place();
  if (!memory.labels.empty() && !place.is_host() && place != points.place())
    throw UnsupportedError(about("labels") + "they are on " + execution::gpu_number(place.gpu) +
                           ", but the points are not; keep both there, or the labels in host memory");
}

}  // namespace

std::optional<double> kmeans_criterion(const KMeansCandidate& candidate, KMeansCriterion criterion) {
  if (!candidate.criteria) return std::nullopt;
  switch (criterion) {
    case KMeansCriterion::silhouette: return candidate.criteria->silhouette;
    case KMeansCriterion::calinski_harabasz: return candidate.criteria->calinski_harabasz;
    case KMeansCriterion::davies_bouldin: break;
  }
  return candidate.criteria->davies_bouldin;
}

std::optional<std::size_t> kmeans_recommended(std::span<const KMeansCandidate> candidates, KMeansCriterion criterion) {
  std::optional<std::size_t> best;
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    const std::optional<double> value = kmeans_criterion(candidates[index], criterion);
    if (!value) continue;
    if (best) {
      const double least = *kmeans_criterion(candidates[*best], criterion);
      if (!(criterion == KMeansCriterion::davies_bouldin ? *value < least : *value > least)) continue;
    }
    best = index;
  }
  return best;
}

MemoryEstimate kmeans_choose_memory(const KMeansShape& shape, const KMeansOptions& options,
                                    const KMeansChoiceOptions& choice, const Execution& execution) {
  execution::check_execution(execution);
  check_choice_options(options, choice, execution);
  KMeansShape fitted = shape;
  Execution here = execution::run_where_it_lies(shape.place, "points", execution);
  if (here.memory_limit == 0) here.memory_limit = cpu::available_memory();
  std::uint64_t kept = 0;
  for (const std::int64_t clusters : choice.clusters) {
    // Checks the sizes, too.
    kmeans_memory(shape, options_of_fit(options, clusters), execution);
    kept = core::checked_add(kept, result_bytes(shape, clusters), "centroids");
  }
  const std::uint64_t copy = static_cast<std::uint64_t>(shape.points * shape.dimensions * shape.element_bytes);
  if (options.standardize) {
    kept += copy;
    fitted.place = MemoryPlace::host();
  }
  MemoryEstimate most;
  for (const std::int64_t clusters : choice.clusters) {
    const MemoryEstimate one = kmeans_memory(fitted, options_of_fit(options, clusters), without(kept, here));
    most = {std::max(most.host, one.host), std::max(most.device, one.device)};
  }
  const KMeansCriteriaOptions criteria{
      .metric = options.metric, .silhouette_points = choice.silhouette_points, .seed = options.seed};
  const std::uint64_t judged = room::criteria_bytes(shape, choice.clusters, criteria, cpu::thread_count(execution)) +
                               (fitted.place.is_host() ? 0 : copy);
  return {core::checked_add(kept, std::max(most.host, judged), "the memory of the job"), most.device};
}

namespace detail {

template <class T>
KMeansChoice<T> kmeans_choose(MatrixView<const T> points, const KMeansOptions& options,
                              const KMeansChoiceOptions& choice, const KMeansMemory<T>& memory,
                              const Execution& execution) {
  return execution::whole_call(execution, [&](const Execution& here) {
    check_choice(points, options, choice, memory, here);
    const KMeansShape shape{points.rows(), points.columns(), static_cast<int>(sizeof(T)), !memory.weights.empty(),
                            points.place()};
    execution::check_memory(kmeans_choose_memory(shape, options, choice, here).host, here,
                            "compare fewer numbers of clusters at a time");
    return Comparison<T>(points, options, choice, memory, here).compare();
  });
}

template KMeansChoice<float> kmeans_choose(MatrixView<const float>, const KMeansOptions&, const KMeansChoiceOptions&,
                                           const KMeansMemory<float>&, const Execution&);
template KMeansChoice<double> kmeans_choose(MatrixView<const double>, const KMeansOptions&, const KMeansChoiceOptions&,
                                            const KMeansMemory<double>&, const Execution&);

}  // namespace detail

}  // namespace gradus
