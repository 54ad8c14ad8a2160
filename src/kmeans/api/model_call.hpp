// The steps that kmeans_predict() and kmeans_transform() share. Both calls compare points with the centroids of a
// model.
#pragma once

#include <initializer_list>

#include "kmeans/api/plan.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct ModelCall {
  const char* name;
  const KMeansModel<T>& model;
  MatrixView<const T> points;
  const Execution& execution;
  core::Ranks& ranks;
};

template <class T>
void check_arguments(const ModelCall<T>& call);
/// Compares the calls of the ranks (see begin_on_ranks()), and then returns a plan. check_arguments() must have
/// accepted the arguments. `others`: the memory places of all arrays except points and centroids.
template <class T>
JobPlan<T> place(const ModelCall<T>& call, std::initializer_list<execution::NamedPlace> others,
                 RunsVariant runs_variant);
/// Sets the shape in the plan. Set `plan.weights` first.
template <class T>
void describe(const ModelCall<T>& call, JobPlan<T>& plan);

/// Replaces a call whose model standardizes by a call on a standardized copy of the points.
template <class T>
class StandardizedCall {
 public:
  StandardizedCall(const ModelCall<T>& call, const JobPlan<T>& plan)
      : points_(call.points, call.model.standardization, plan.rows, plan.here),
        model_{.centroids = call.model.centroids, .metric = call.model.metric}, call_{call.name, model_, points_.rows(),
                                                                                      points_.here(), call.ranks} {}
  StandardizedCall(const StandardizedCall&) = delete;
  StandardizedCall& operator=(const StandardizedCall&) = delete;

  const ModelCall<T>& call() const { return call_; }
  void add_to(RunReport& report) const { points_.add_to(report); }

 private:
  StandardizedPoints<T> points_;
  KMeansModel<T> model_;
  ModelCall<T> call_;
};

}  // namespace gradus::kmeans_detail
