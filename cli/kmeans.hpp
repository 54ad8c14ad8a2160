// Declarations that the k-means files of the program share: options and commands.
#pragma once

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

/// Adds --metric. `no_effect_reason` returns the reason why the option has no effect, or "".
void add_metric_option(Options& options, KMeansMetric& metric, NoEffectReason no_effect_reason = {});

Action setup_demo(Options& options, Session& session);
Action setup_predict(Options& options, Session& session);
Action setup_transform(Options& options, Session& session);

}  // namespace gradus::cli
