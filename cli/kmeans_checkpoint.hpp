// `gradus kmeans --checkpoint FILE`: saves an interrupted fit so that it can be resumed elsewhere.
#pragma once

#include "cli/options.hpp"
#include "cli/session.hpp"
#include "gradus/error.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

void add_checkpoint_options(Options& options, KMeansCheckpoint& checkpoint);

/// Throws UsageError if the file's name does not have the extension of checkpoints.
void require_checkpoint_name(const KMeansCheckpoint& checkpoint);

/// Returns a copy of `stop`. If a checkpoint was written, the copy's message says so.
InterruptedError with_checkpoint(const InterruptedError& stop, const KMeansCheckpoint& checkpoint);

/// From this call on, SIGUSR1 requests a checkpoint, and the session prints the notes about checkpoints. Does nothing
/// if `checkpoint` names no file.
void take_checkpoint_requests(KMeansCheckpoint& checkpoint, const Session& session);

}  // namespace gradus::cli
