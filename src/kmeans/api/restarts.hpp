// The fits of a job: one, or several of which the best is kept; then the moves that improve it.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/phases.hpp"
#include "kmeans/api/checkpointed_job.hpp"
#include "kmeans/api/prepared_fit.hpp"
#include "kmeans/api/run.hpp"
#include "kmeans/checkpoint/restart_limit.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/quality/moves.hpp"
#include "kmeans/sizes/limited_sizes.hpp"

namespace gradus::kmeans_detail {

/// Returns the problem with the data that all fits share. The initial centroids of each fit are set later.
template <class T>
Problem<T> problem_of(const FitCall<T>& call, const JobPlan<T>& plan, PreparedFit<T>& prepared,
                      std::vector<Phase>& phases) {
  const KMeansOptions& options = call.options;
  PreparedPoints<T>& points = prepared.points();
  Problem<T> problem = points.problem();
  problem.max_iterations = options.max_iterations;
  problem.changed_limit = static_cast<std::int64_t>(options.changed_fraction * static_cast<double>(plan.rows.all()));
  problem.empty = options.empty;
  problem.different_points = prepared.different_points();
  problem.metric = options.metric;
  problem.sizes = size_limits(options, plan.rows.all());
  problem.may_copy = plan.filter != SeedingFilter::never;
  const VectorView<std::int32_t> labels = call.memory.labels;
  if (!labels.empty() && !labels.place().is_host()) {
    points.source().admit(labels.data(), "labels");
    // The caller gets the labels of the best fit. With several fits, the best one is known only at the end.
    if (options.restarts == 1) problem.labels_on_gpu = labels.data();
  }
  if (options.tolerance > 0) {
    const core::PhaseTimer timer(phases, "examine");
    problem.shift_limit = options.tolerance * mean_column_variance(points.source(), points.statistics());
  }
  return problem;
}

/// Runs the fits of a job one after another. If there is a checkpoint, resumes from the checkpoint.
template <class T>
class Restarts {
 public:
  Restarts(const FitCall<T>& call, const JobPlan<T>& plan, PreparedFit<T>& prepared, CheckpointedJob<T>& checkpointed,
           std::vector<Phase>& phases)
      : call_(call), plan_(plan), prepared_(prepared), checkpointed_(checkpointed), phases_(phases),
        problem_(problem_of(call, plan, prepared, phases)),
        // A copy of the points pays only if several iterations use it.
        copies_(call.options.max_iterations > 1 && call.options.clusters > 1 &&
                copy_bytes(plan.shape, *plan.variant, plan.filter) > 0) {
    problem_.checkpoints = checkpointed.file.get();
  }

  KMeansResult<T> best() {
    const int first = checkpointed_.state.restart;
    std::optional<KMeansResult<T>> best = std::move(checkpointed_.state.best);
    bool is_complete = !best;
    for (int restart = first; restart < restart_limit(call_.options); ++restart) {
      if (best && is_enough(call_.options, restart, best->restart)) break;
      try {
        KMeansResult<T> result = fit_once(restart, best ? &*best : nullptr);
        if (best && !(result.inertia < best->inertia)) continue;
        best = std::move(result);
        best->restart = restart;
        is_complete = true;
      } catch (const InterruptedError&) {
        if (checkpointed_.file) checkpointed_.file->write_what_is_chosen();
        throw;
      }
    }
    if (!is_complete) complete(*best);
    const std::int64_t moves_before = checkpointed_.state.moves.moves;
    if (asks_for_moves(call_.options)) make_moves(*best);
    best->resumed = checkpointed_.resumed;
    best->metric = call_.options.metric;
    if (!call_.options.checkpoint.file.empty()) call_.ranks.agree([&] { checkpointed_.inputs.require_unchanged(); });
    if (checkpointed_.file && (first < restart_limit(call_.options) || best->quality_moves > moves_before)) {
      checkpointed_.file->begin_fit(restart_limit(call_.options), &*best);
      checkpointed_.file->write_moves(checkpointed_.state.moves);
      checkpointed_.file->wait();
    }
    return std::move(*best);
  }

 private:
  KMeansResult<T> fit_once(int restart, const KMeansResult<T>* best) {
    const bool resumes = restart == checkpointed_.state.restart;
    const FitState<T>* const so_far = resumes && checkpointed_.state.fit ? &*checkpointed_.state.fit : nullptr;
    const bool is_seeded = resumes && checkpointed_.state.seeding;
    if (checkpointed_.file) {
      checkpointed_.file->begin_fit(restart, best, so_far != nullptr);
      if (is_seeded) checkpointed_.file->seeding = *checkpointed_.state.seeding;
      if (!resumes && checkpointed_.file->is_due_between_fits()) checkpointed_.file->write_seeding();
    }
    problem_.bytes = nullptr;
    problem_.fit_so_far = so_far;
    Matrix<T> first;
    if (so_far == nullptr)
      first = prepared_
                  .first_centroids(restart, copies_ ? &problem_.bytes : nullptr,
                                   {is_seeded ? &*checkpointed_.state.seeding : nullptr, checkpointed_.file.get()})
                  .centroids;
    problem_.initial_centroids = so_far != nullptr ? so_far->centroids.view() : std::as_const(first).view();
    return run(*plan_.variant, problem_, plan_.here, phases_);
  }

  /// Improves the best of all fits.
  void make_moves(KMeansResult<T>& best) {
    CheckpointFile<T>* const file = checkpointed_.file.get();
    MoveState& state = checkpointed_.state.moves;
    if (state.budget == 0) state.budget = core::seconds_since(start_);
    if (file != nullptr) file->begin_fit(restart_limit(call_.options), &best);
    const MoveCalls<T> calls{[&](MatrixView<const T> centroids, Checkpoints<T>& observer) {
                               Problem<T> problem = problem_from(centroids);
                               problem.checkpoints = &observer;
                               Execution here = plan_.here;
                               here.progress = nullptr;
                               return run(*plan_.variant, problem, here, phases_);
                             },
                             [&] {
                               if (file != nullptr && file->is_due_between_fits()) file->write_moves(state);
                             }};
    const Matrix<T> first = Matrix<T>::copy_of(std::as_const(best.centroids).view());
    try {
      improve(problem_from(first.view()), call_.options, plan_.here, calls, state, best, phases_);
    } catch (const InterruptedError&) {
      if (file != nullptr && state.breadth > 0) file->write_moves(state);
      throw;
    }
    best.quality_moves = state.moves;
  }

  /// Returns the problem of a fit that starts from the given centroids and writes no checkpoints.
  Problem<T> problem_from(MatrixView<const T> centroids) const {
    Problem<T> problem = problem_;
    problem.initial_centroids = centroids;
    problem.checkpoints = nullptr;
    problem.fit_so_far = nullptr;
    return problem;
  }

  /// Recomputes labels and counts of the best fit, because a checkpoint does not store them.
  void complete(KMeansResult<T>& done) const {
    Problem<T> problem = problem_from(std::as_const(done.centroids).view());
    problem.max_iterations = 0;  // only the final assignment
    KMeansResult<T> again = run(*plan_.variant, problem, plan_.here, phases_);
    if (again.inertia != done.inertia)
      throw InputError("'" + call_.options.checkpoint.file +
                       "': the inertia of its best fit does not match its centroids");
    done.labels = std::move(again.labels);
    done.counts = std::move(again.counts);
    done.report = std::move(again.report);
  }

  const FitCall<T>& call_;
  const JobPlan<T>& plan_;
  PreparedFit<T>& prepared_;
  CheckpointedJob<T>& checkpointed_;
  std::vector<Phase>& phases_;
  Problem<T> problem_;
  bool copies_;
  core::Clock::time_point start_ = core::Clock::now();
};

}  // namespace gradus::kmeans_detail
