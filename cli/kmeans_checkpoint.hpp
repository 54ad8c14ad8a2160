// `gradus kmeans --checkpoint FILE`: a fit that ends early goes on elsewhere.
#pragma once

#include "cli/options.hpp"
#include "cli/session.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

void add_checkpoint_options(Options& options, KMeansCheckpoint& checkpoint);

/// From here on SIGUSR1 asks for a checkpoint, and the session tells what there is to tell. Nothing without a file.
void take_checkpoint_requests(KMeansCheckpoint& checkpoint, const Session& session);

}  // namespace gradus::cli
