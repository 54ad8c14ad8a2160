// The plan of a public call: the results of check, describe, choose and estimate. Then it runs and delivers.
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

  // Set by check(): the place of the job, and the rows and weights of this rank.
  Execution here;
  core::RankRows rows;
  VectorView<const T> weights;
  // Set by describe(): the shape of this rank's job.
  Shape shape;
  // Set by choose(): the variant, if the call uses one, and whether the points go to the GPU.
  const Variant* variant = nullptr;
  bool stays_on_gpu = false;
  // Set by estimate(): whether there is memory for copies.
  SeedingFilter filter = SeedingFilter::never;
};

/// A fit, or the choice of its initial centroids.
template <class T>
struct FitCall {
  MatrixView<const T> points;
  const KMeansOptions& options;
  const KMeansMemory<T>& memory;
  const Execution& execution;
  core::Ranks& ranks;
  Extent extent = Extent::fit;
};

// The steps of a FitCall.
template <class T>
JobPlan<T> check(const FitCall<T>& call);
template <class T>
void describe(const FitCall<T>& call, JobPlan<T>& plan);
template <class T>
void choose(const FitCall<T>& call, JobPlan<T>& plan);
/// Also starts the threads.
template <class T>
void estimate(const FitCall<T>& call, JobPlan<T>& plan);

/// Runs the four steps of any call.
template <class Call>
auto plan_of(const Call& call) {
  auto plan = check(call);
  describe(call, plan);
  choose(call, plan);
  estimate(call, plan);
  return plan;
}

}  // namespace gradus::kmeans_detail
