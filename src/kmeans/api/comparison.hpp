// The fits that kmeans_choose() compares.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/phases.hpp"
#include "execution/gpu_group.hpp"
#include "gradus/kmeans_choose.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/api/fit.hpp"
#include "kmeans/api/kmeans_of.hpp"
#include "kmeans/criteria/criteria.hpp"
#include "kmeans/points/host_copy.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct ChoiceCall {
  PointRows<T> points;
  const KMeansOptions& options;
  const KMeansChoiceOptions& choice;
  const KMeansMemory<T>& memory;
  const Execution& execution;
};

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
    add_elbows(found.candidates);
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
      const KMeansOptions options = options_of_fit(call_.options, clusters);
      const Execution here = without(kept, here_);
      results_.push_back(standardized_ ? fit_standardized(*standardized_, options, memory, here)
                                       : kmeans_of(call_.points, options, memory, here));
      const KMeansResult<T>& result = results_.back();
      found.candidates.push_back({.clusters = clusters,
                                  .inertia = result.inertia,
                                  .iterations = result.iterations,
                                  .seconds = core::seconds_since(start)});
      kept += result_bytes(shape_, clusters);
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
      kept += result_bytes(shape_, call_.choice.clusters[index]);
      const auto used = std::ranges::count_if(results_[index].counts, [](std::int64_t count) { return count > 0; });
      if (used < 2 || used >= call_.points.rows()) continue;
      labelings.push_back(std::as_const(results_[index].labels).view());
      owners.push_back(index);
    }
    Matrix<T> copy;
    const PointRows<T> rows =
        standardized_ ? standardized_->rows() : in_host_memory(call_.points, "points", here_, copy);
    const KMeansCriteriaResult criteria = criteria_of(rows, labelings,
                                                      {.metric = call_.options.metric,
                                                       .silhouette_points = call_.choice.silhouette_points,
                                                       .seed = call_.options.seed},
                                                      execution::on_first_gpu(without(kept, here_)));
    for (std::size_t index = 0; index < owners.size(); ++index)
      found.candidates[owners[index]].criteria = criteria.labelings[index];
    found.silhouette_points = criteria.silhouette_points;
  }

  static void add_elbows(std::vector<KMeansCandidate>& candidates) {
    const double rise = candidates.front().inertia - candidates.back().inertia;
    if (candidates.size() < 3 || !(rise > 0)) return;
    const std::int64_t first = candidates.front().clusters;
    const auto run = static_cast<double>(candidates.back().clusters - first);
    for (KMeansCandidate& one : candidates)
      one.elbow = (candidates.front().inertia - one.inertia) / rise - static_cast<double>(one.clusters - first) / run;
  }

  void deliver(KMeansResult<T>& result) const {
    if (call_.memory.labels.empty()) return;
    if (call_.memory.labels.place().is_host()) {
      std::copy_n(result.labels.data(), result.labels.size(), call_.memory.labels.data());
    } else {  // the points are on a GPU, so the labels of the best fit are computed by a prediction
      const Matrix<T>& centroids = standardized_ ? result.standardized_centroids : result.centroids;
      detail::kmeans_predict<T>(centroids.view(), standardized_ ? standardized_->rows() : call_.points.shape(),
                                KMeansMemory<T>{.labels = call_.memory.labels}, call_.options.metric, here_);
    }
    result.labels = {};
  }

  const ChoiceCall<T>& call_;
  const KMeansShape shape_;
  Execution here_;
  std::optional<StandardizedPoints<T>> standardized_;
  std::vector<KMeansResult<T>> results_;
  std::vector<Phase> phases_;
};

}  // namespace gradus::kmeans_detail
