// A GPU variant in a fit on several ranks: the GPU runs passes over this rank's rows, and the driver adds the results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "kmeans/lloyd/lloyd.hpp"
#include "kmeans/means/exact_sums.hpp"

namespace gradus::kmeans_detail {

/// The interface of an engine on one rank.
template <class T>
class RankPasses {
 public:
  RankPasses() = default;
  RankPasses(const RankPasses&) = delete;
  RankPasses& operator=(const RankPasses&) = delete;
  virtual ~RankPasses() = default;

  /// Computes the labels for the centroids, and the matching sums. Returns how many labels changed.
  virtual std::int64_t make_pass(MatrixView<const T> centroids) = 0;
  virtual const ExactSums<T>& sums() const = 0;
  virtual void bring_labels(std::int32_t* labels) = 0;
  /// Returns the inertia of the last pass's labels and its centroids.
  virtual core::ExactAccumulator own_inertia() = 0;
  virtual double rechecked() const = 0;
};

/// Creates the engine and adds the time this takes to the phases.
template <class T>
using StartPasses = std::function<std::shared_ptr<RankPasses<T>>(std::vector<Phase>&)>;

/// Runs a whole fit on several ranks. The first pass creates the engine, so that a failure on one rank ends all ranks.
template <class T>
KMeansResult<T> fit_by_passes(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases,
                              const StartPasses<T>& start);

/// Runs a whole fit, in one process or on several ranks. `Fit(problem, execution, phases)` holds the GPU resources and
/// has two members: `job`, a CudaFit, and `engine`, which is both an engine for lloyd() and a RankPasses<T>.
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
