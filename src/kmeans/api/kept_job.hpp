// A fit that is kept in a checkpoint: how far it came before, and who writes it.
#pragma once

#include <memory>

#include "kmeans/api/plan.hpp"
#include "kmeans/checkpoint/checkpoint_file.hpp"

namespace gradus::kmeans_detail {

/// How far a job is, and who keeps it: of several ranks the first one, for what they would keep is the same on all of
/// them.
template <class T>
struct KeptJob {
  JobState<T> state;
  bool resumed = false;
  std::unique_ptr<CheckpointFile<T>> file;  ///< null: nobody keeps it here
};

/// Reads the checkpoint if the fit is to resume from it. Nothing without KMeansOptions::checkpoint.
template <class T>
KeptJob<T> kept_job(const FitCall<T>& call, const JobPlan<T>& plan);

}  // namespace gradus::kmeans_detail
