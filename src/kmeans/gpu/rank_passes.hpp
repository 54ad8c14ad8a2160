// Runs a GPU variant in a fit on several ranks. The GPU makes passes over this rank's rows, and the driver adds up the
// results of all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "kmeans/lloyd/lloyd.hpp"
#include "kmeans/means/exact_sums.hpp"

namespace gradus::kmeans_detail {

/// The interface of a GPU engine in a fit on several ranks.
template <class T>
class RankPasses {
 public:
  RankPasses() = default;
  RankPasses(const RankPasses&) = delete;
  RankPasses& operator=(const RankPasses&) = delete;
  virtual ~RankPasses() = default;

  /// Computes the labels for the given centroids, and the clusters' sums for these labels. Returns the number of
  /// changed labels.
  virtual std::int64_t make_pass(MatrixView<const T> centroids) = 0;
  virtual const ExactSums<T>& sums() const = 0;
  virtual void bring_labels(std::int32_t* labels) = 0;
  /// Returns the inertia of this rank's points for the labels and centroids of the last pass.
  virtual core::ExactAccumulator own_inertia() = 0;
  virtual double rechecked() const = 0;

  // The functions below serve iterations on the GPUs of all ranks that need no work of the driver.

  /// Returns true if the engine can run iterations without the driver.
  virtual bool can_iterate() const { return false; }
  /// Connects the GPUs of the ranks. Collective.
  virtual void connect() {}
  /// Runs several iterations: see lloyd/engine.hpp. Collective: all ranks return after the same
  /// iteration.
  virtual Steps advance(MatrixView<T> /*centroids*/, StopRules /*rules*/, std::vector<Phase>& /*phases*/) { return {}; }
  /// Copies the sums of the last iteration of advance() to sums().
  virtual void bring_sums() {}
};

/// Creates the engine and adds the time of its creation to the phases.
template <class T>
using StartPasses = std::function<std::shared_ptr<RankPasses<T>>(std::vector<Phase>&)>;

/// Runs a whole fit on several ranks. The engine is created in the first pass. So if its creation fails on one rank,
/// the fit ends on all ranks.
template <class T>
KMeansResult<T> fit_by_passes(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases,
                              const StartPasses<T>& start);

/// Runs a whole fit, in one process or on several ranks. An object of the class `Fit`, constructed from (problem,
/// execution, phases), owns the GPU resources. Its member `job` is a CudaFit. Its member `engine` is an engine for
/// lloyd() and also a RankPasses<T>.
template <class Fit, class T>
KMeansResult<T> whole_fit(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  if (!problem.ranks().is_alone())
    return fit_by_passes<T>(problem, execution, phases, [&](std::vector<Phase>& of_start) {
      const auto fit = std::make_shared<Fit>(problem, execution, of_start);
      fit->job.add_upload_phase(of_start);
      return std::shared_ptr<RankPasses<T>>(fit, &fit->engine);
    });
  Fit fit(problem, execution, phases);
  return lloyd(problem, execution, fit.engine, phases);
}

}  // namespace gradus::kmeans_detail
