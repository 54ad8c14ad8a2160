// What the commands of k-means share.
#pragma once

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

/// --metric; where it has no effect, `why_useless` says so.
void add_metric_option(Options& options, KMeansMetric& metric, WhyUseless why_useless = {});

Action setup_demo(Options& options, Session& session);
Action setup_predict(Options& options, Session& session);
Action setup_transform(Options& options, Session& session);

}  // namespace gradus::cli
