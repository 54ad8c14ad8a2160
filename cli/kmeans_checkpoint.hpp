// `gradus kmeans --checkpoint FILE`: saves an interrupted fit so that it can be resumed elsewhere.
#pragma once

#include "cli/options.hpp"
#include "cli/session.hpp"
#include "gradus/error.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

void add_checkpoint_options(Options& options, KMeansCheckpoint& checkpoint);

/// Throws UsageError unless the file name ends as a checkpoint's must.
void require_checkpoint_name(const KMeansCheckpoint& checkpoint);

/// Returns the error, with a mention of the checkpoint if one was written.
InterruptedError with_checkpoint(const InterruptedError& stop, const KMeansCheckpoint& checkpoint);

/// From this call on, SIGUSR1 requests a checkpoint and the session prints the checkpoint's notes. Does nothing without
/// a file.
void take_checkpoint_requests(KMeansCheckpoint& checkpoint, const Session& session);

}  // namespace gradus::cli
