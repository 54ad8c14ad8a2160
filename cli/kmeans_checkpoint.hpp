// `gradus kmeans --checkpoint FILE`: saves an interrupted fit so that it can be resumed elsewhere.
#pragma once

#include "cli/options.hpp"
#include "cli/session.hpp"
#include "gradus/error.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

void add_checkpoint_options(Options& options, KMeansCheckpoint& checkpoint);

/// Throws UsageError if the file name does not end like the name of a checkpoint.
void require_checkpoint_name(const KMeansCheckpoint& checkpoint);

/// Returns `stop`. If a checkpoint was written, its message also mentions the checkpoint.
InterruptedError with_checkpoint(const InterruptedError& stop, const KMeansCheckpoint& checkpoint);

/// From this call on, SIGUSR1 requests a checkpoint, and the session prints the notes about checkpoints. Does nothing
/// if `checkpoint` names no file.
void take_checkpoint_requests(KMeansCheckpoint& checkpoint, const Session& session);

}  // namespace gradus::cli
