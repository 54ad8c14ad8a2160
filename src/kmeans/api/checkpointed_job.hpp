// Fits with checkpoints: the state from which a fit resumes, and the object that writes its checkpoint file.
#pragma once

#include <memory>

#include "kmeans/api/plan.hpp"
#include "kmeans/checkpoint/checkpoint_file.hpp"

namespace gradus::kmeans_detail {

/// The state of a resumable job, and its checkpoint file. All ranks have the same state, so only the first rank writes
/// the file.
template <class T>
struct CheckpointedJob {
  JobState<T> state;
  bool resumed = false;
  MappedInputs inputs;                      ///< of this rank
  std::unique_ptr<CheckpointFile<T>> file;  ///< null if this rank writes no checkpoints
};

/// Returns the mapped inputs of a job with checkpoints. Called before the job reads its points.
template <class T>
MappedInputs mapped_inputs(const FitCall<T>& call);

/// Opens the checkpoint file, and reads it if the fit resumes. Returns an empty job if KMeansOptions::checkpoint is not
/// set.
template <class T>
CheckpointedJob<T> checkpointed_job(const FitCall<T>& call, const JobPlan<T>& plan, const MappedInputs& inputs);

}  // namespace gradus::kmeans_detail
