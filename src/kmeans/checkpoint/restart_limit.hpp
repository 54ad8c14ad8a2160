// The number of fits of a job.
#pragma once

#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

/// Returns the largest number of fits. If the options leave the number to the job (0), it is 100.
constexpr int restart_limit(const KMeansOptions& options) { return options.restarts == 0 ? 100 : options.restarts; }

/// Returns true if `fits` fits are enough, the best of which is number `best` (from 0). If the options leave the number
/// to the job, the job ends when more than half of the fits came after the best one. Fits are exchangeable, so as many
/// more fits would then find a better one in at most half of all jobs.
constexpr bool is_enough(const KMeansOptions& options, int fits, int best) {
  return options.restarts == 0 && fits >= 2 * (best + 1) + 2;
}

}  // namespace gradus::kmeans_detail
