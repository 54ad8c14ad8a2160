// The steps that kmeans_predict() and kmeans_transform() share. Both calls compare points with the centroids of a
// model.
#pragma once

#include <initializer_list>

#include "core/exact_accumulator.hpp"
#include "kmeans/api/plan.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus::kmeans_detail {

template <class T>
struct ModelCall {
  const char* name;
  const KMeansModel<T>& model;
  PointRows<T> points;
  const Execution& execution;
  core::Ranks& ranks;
  std::int64_t first_row = 0;  ///< if the points are a block of a larger table: number of their first row, for errors
};

inline constexpr const char* predict_name = "kmeans_predict";
inline constexpr const char* transform_name = "kmeans_transform";

/// Predicts with any model. The model may standardize or not. `needs_labels` is true if the call must write the
/// caller's labels. If `inertia` is not null, adds the exact inertia to it. For KMeansMetric::cosine, the added inertia
/// is not halved.
template <class T>
KMeansPrediction predict_by_model(const ModelCall<T>& call, const KMeansMemory<T>& memory, bool needs_labels,
                                  core::ExactAccumulator* inertia = nullptr);
/// Returns the distances to the centroids of any model. The model may standardize or not.
template <class T>
Matrix<T> distances_by_model(const ModelCall<T>& call);
/// Writes these distances to the caller's memory.
template <class T>
RunReport distances_by_model(const ModelCall<T>& call, MatrixView<T> distances);

template <class T>
void check_arguments(const ModelCall<T>& call);
/// Checks that all ranks make the same call (see begin_on_ranks()), and returns a plan. check_arguments() must have
/// accepted the arguments. `others` are the memory places of all arrays except points and centroids.
template <class T>
JobPlan<T> place(const ModelCall<T>& call, std::initializer_list<execution::NamedPlace> others);
/// Sets the shape in the plan. Set `plan.weights` first.
template <class T>
void describe(const ModelCall<T>& call, JobPlan<T>& plan);

/// Adds the inertia of a finished job to `sum`. For KMeansMetric::cosine, the added inertia is not halved. If the
/// variant runs on the CPU and has not stored the exact inertia in `problem.rank_inertia`, adds its rounded inertia.
template <class T>
void add_inertia(const Variant& variant, const Problem<T>& problem, const KMeansResult<T>& result,
                 core::ExactAccumulator& sum);

/// Turns a call for a model that standardizes into a call with a standardized copy of the points.
template <class T>
class StandardizedCall {
 public:
  StandardizedCall(const ModelCall<T>& call, const JobPlan<T>& plan)
      : points_(call.points, call.model.standardization, plan.rows, plan.here),
        model_{.centroids = call.model.centroids, .metric = call.model.metric}, call_{call.name,      model_,
                                                                                      points_.rows(), points_.here(),
                                                                                      call.ranks,     call.first_row} {}
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
