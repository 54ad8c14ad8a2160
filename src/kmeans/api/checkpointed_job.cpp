#include "kmeans/api/checkpointed_job.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "kmeans/checkpoint/restart_limit.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Describes the point from which a job resumes.
template <class T>
std::string place_of(const JobState<T>& state, int restarts) {
  if (state.restart == restarts && state.moves.breadth > 0)
    return "after " + std::to_string(state.moves.moves) + (state.moves.moves == 1 ? " move" : " moves");
  if (state.restart == restarts) return "the fit was done";
  const std::string of_fits =
      restarts == 1 ? "" : " of fit " + std::to_string(state.restart + 1) + " of " + std::to_string(restarts);
  if (!state.fit) return "before the first iteration" + of_fits;
  return "after iteration " + std::to_string(state.fit->history.size()) + of_fits;
}

}  // namespace

template <class T>
MappedInputs mapped_inputs(const FitCall<T>& call) {
  if (call.options.checkpoint.file.empty()) return {};
  const auto address_of = [](const auto& view) -> const void* {
    return view.place().is_host() ? view.data() : nullptr;
  };
  return MappedInputs(
      {address_of(call.points), address_of(call.memory.weights), address_of(call.memory.initial_centroids)});
}

template <class T>
CheckpointedJob<T> checkpointed_job(const FitCall<T>& call, const JobPlan<T>& plan, const MappedInputs& inputs) {
  const KMeansOptions& options = call.options;
  const KMeansCheckpoint& wanted = options.checkpoint;
  if (wanted.file.empty()) return {};
  core::Ranks& ranks = call.ranks;
  const auto tell = [&](const std::string& text) {
    if (ranks.is_first() && wanted.note) wanted.note(text);
  };
  const std::string job = job_text(call_text("kmeans", options), call.points, call.memory.weights,
                                   call.memory.initial_centroids, plan.here, plan.rows);
  ranks.agree([&] {
    if (ranks.is_first()) require_no_other_file(wanted.file, wanted.resume);
  });
  std::optional<JobState<T>> found;
  if (wanted.resume) found = read_checkpoint<T>(options, job, call.points.columns(), ranks);
  CheckpointedJob<T> checkpointed;
  checkpointed.inputs = inputs;
  ranks.agree([&] {
    if (!ranks.is_first()) return;
    std::error_code none;
    const bool exists = std::filesystem::exists(wanted.file, none);
    checkpointed.file =
        std::make_unique<CheckpointFile<T>>(wanted, job, inputs, options.clusters, call.points.columns());
    if (exists && !wanted.resume)
      tell("'" + wanted.file +
           "' exists, and the first checkpoint of this fit replaces it; resume to continue from it");
  });
  if (found) {
    checkpointed.resumed = true;
    checkpointed.state = std::move(*found);
    tell("'" + wanted.file + "' is resumed: " + place_of(checkpointed.state, restart_limit(options)));
  } else if (wanted.resume) {
    tell("there is no checkpoint '" + wanted.file + "': the fit starts from the beginning");
  }
  return checkpointed;
}

#define GRADUS_INSTANTIATE(T)                             \
  template MappedInputs mapped_inputs(const FitCall<T>&); \
  template CheckpointedJob<T> checkpointed_job(const FitCall<T>&, const JobPlan<T>&, const MappedInputs&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
