// The plan of a public call. The first four steps of the call (check, describe, choose and estimate) store their
// results in the plan. The call then runs the job and delivers its result.
#pragma once

#include <utility>

#include "gradus/execution.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/ranks.hpp"
#include "kmeans/seeding/plan.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct JobPlan {
  explicit JobPlan(JobPlace place) : here(std::move(place.here)), rows(place.rows) {}

  // check() sets the place of the job, and the rows and weights of this rank.
  Execution here;
  core::RankRows rows;
  VectorView<const T> weights;
  // describe() sets the shape of this rank's job.
  Shape shape;
  // choose() sets the variant, if the call uses one, and whether the whole job runs on the GPU.
  const Variant* variant = nullptr;
  bool stays_on_gpu = false;
  // estimate() determines whether the job may copy the points to speed up seeding and iterations.
  SeedingFilter filter = SeedingFilter::never;
};

/// The arguments of a call that fits, or that only chooses initial centroids.
template <class T>
struct FitCall {
  MatrixView<const T> points;
  const KMeansOptions& options;
  const KMeansMemory<T>& memory;
  const Execution& execution;
  core::Ranks& ranks;
  Extent extent = Extent::fit;
  std::uint64_t copy_bytes = 0;  ///< size of a copy of the points that is part of the job's memory
};

// The first four steps of a FitCall.
template <class T>
JobPlan<T> check(const FitCall<T>& call);
template <class T>
void describe(const FitCall<T>& call, JobPlan<T>& plan);
template <class T>
void choose(const FitCall<T>& call, JobPlan<T>& plan);
/// Estimates memory and starts the threads.
template <class T>
void estimate(const FitCall<T>& call, JobPlan<T>& plan);

/// Throws OutOfMemoryError unless memory suffices for a standardized copy of the points, and for the call on this copy.
/// So the error names all memory of the job, and no copy is made in vain. `plan`: the result of check().
template <class T>
void check_memory_with_copy(const FitCall<T>& call, JobPlan<T> plan);

/// Runs the first four steps of a call.
template <class Call>
auto plan_of(const Call& call) {
  auto plan = check(call);
  describe(call, plan);
  choose(call, plan);
  estimate(call, plan);
  return plan;
}

}  // namespace gradus::kmeans_detail
