// `gradus kmeans --checkpoint FILE`: a fit that ends early goes on elsewhere.
#pragma once

#include "cli/options.hpp"
#include "cli/session.hpp"
#include "gradus/error.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

void add_checkpoint_options(Options& options, KMeansCheckpoint& checkpoint);

/// UsageError where the file's name is none of a checkpoint.
void require_checkpoint_name(const KMeansCheckpoint& checkpoint);

/// The same, telling of the checkpoint where there is one.
InterruptedError with_checkpoint(const InterruptedError& stop, const KMeansCheckpoint& checkpoint);

/// From here on SIGUSR1 asks for a checkpoint, and the session tells what there is to tell. Nothing without a file.
void take_checkpoint_requests(KMeansCheckpoint& checkpoint, const Session& session);

}  // namespace gradus::cli
