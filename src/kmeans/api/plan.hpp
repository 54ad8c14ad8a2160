// What the steps of a public call decide, one after the other, before its points are read: check, describe, choose,
// estimate. Then the call runs (run.hpp) and delivers (deliver.hpp).
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

  // Checked: where the job runs, and this rank's rows and weights.
  Execution here;
  core::RankRows rows;
  VectorView<const T> weights;
  // Described: the shape of this rank's job.
  Shape shape;
  // Chosen: the variant, or none, and where the points are brought.
  const Variant* variant = nullptr;
  bool stays_on_gpu = false;
  // Estimated: what memory there is for copies.
  SeedingFilter filter = SeedingFilter::never;
};

/// A fit, or the choice of its first centroids.
template <class T>
struct FitCall {
  MatrixView<const T> points;
  const KMeansOptions& options;
  const KMeansMemory<T>& memory;
  const Execution& execution;
  core::Ranks& ranks;
  Extent extent = Extent::fit;
};

// The steps of both.
template <class T>
JobPlan<T> check(const FitCall<T>& call);
template <class T>
void describe(const FitCall<T>& call, JobPlan<T>& plan);
template <class T>
void choose(const FitCall<T>& call, JobPlan<T>& plan);
/// Also starts the threads.
template <class T>
void estimate(const FitCall<T>& call, JobPlan<T>& plan);

/// All of them, of any call that has them.
template <class Call>
auto plan_of(const Call& call) {
  auto plan = check(call);
  describe(call, plan);
  choose(call, plan);
  estimate(call, plan);
  return plan;
}

}  // namespace gradus::kmeans_detail
