// kmeans(): one fit, or the best of several.
#include <optional>
#include <utility>

#include "core/phases.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/checkpointed_job.hpp"
#include "kmeans/api/deliver.hpp"
#include "kmeans/api/fit.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/api/prepared_fit.hpp"
#include "kmeans/api/run.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/sizes/limited_sizes.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

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
    for (int restart = first; restart < call_.options.restarts; ++restart) {
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
    best->resumed = checkpointed_.resumed;
    best->metric = call_.options.metric;
    if (!call_.options.checkpoint.file.empty()) call_.ranks.agree([&] { checkpointed_.inputs.require_unchanged(); });
    if (checkpointed_.file && first < call_.options.restarts) {
      checkpointed_.file->begin_fit(call_.options.restarts, &*best);
      checkpointed_.file->write_seeding();
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

  /// Recomputes labels and counts of the best fit, because a checkpoint does not store them.
  void complete(KMeansResult<T>& done) const {
    Problem<T> problem = problem_;
    problem.initial_centroids = std::as_const(done.centroids).view();
    problem.max_iterations = 0;  // only the final assignment
    problem.bytes = nullptr;
    problem.checkpoints = nullptr;
    problem.fit_so_far = nullptr;
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
};

}  // namespace

template <class T>
KMeansResult<T> fit(const FitCall<T>& call) {
  const auto start = core::Clock::now();
  const JobPlan<T> plan = plan_of(call);
  const MappedInputs inputs = mapped_inputs(call);
  std::vector<Phase> phases;
  PreparedFit<T> prepared(call, plan, phases, &fit<T>);
  CheckpointedJob<T> checkpointed = checkpointed_job(call, plan, inputs);
  KMeansResult<T> best = Restarts<T>(call, plan, prepared, checkpointed, phases).best();
  deliver(best.labels, call.memory.labels, prepared.points().source());
  report_run(best.report, *plan.variant, plan.here, std::move(phases), start);
  return best;
}

}  // namespace kmeans_detail

namespace detail {

template <class T>
KMeansResult<T> kmeans(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                       const Execution& execution) {
  if (const auto parts = room::in_parts(points, memory.weights, options.clusters, execution))
    return room::fit_on_gpus(points, options, memory, *parts);
  return execution::whole_call<T>("kmeans", execution, [&](const Execution& here, core::Ranks& ranks) {
    const room::FitCall<T> call{points, options, memory, here, ranks};
    return options.standardize ? room::fit_standardized(call) : room::fit(call);
  });
}

}  // namespace detail

#define GRADUS_INSTANTIATE(T)                                                                                \
  template KMeansResult<T> kmeans_detail::fit(const kmeans_detail::FitCall<T>&);                             \
  template KMeansResult<T> detail::kmeans(MatrixView<const T>, const KMeansOptions&, const KMeansMemory<T>&, \
                                          const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus
