// A variant on the GPU as a part of a fit on ranks: the GPU makes single passes over this rank's rows, and the frame on
// the host adds up what they come to. Plain C++.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "kmeans/lloyd/lloyd.hpp"
#include "kmeans/means/exact_sums.hpp"

namespace gradus::kmeans_detail {

/// What a rank needs of an engine.
template <class T>
class RankPasses {
 public:
  RankPasses() = default;
  RankPasses(const RankPasses&) = delete;
  RankPasses& operator=(const RankPasses&) = delete;
  virtual ~RankPasses() = default;

  /// The labels for the centroids, and sums that belong to them. Returns how many labels changed.
  virtual std::int64_t make_pass(MatrixView<const T> centroids) = 0;
  virtual const ExactSums<T>& sums() const = 0;
  /// Those of the last pass.
  virtual void bring_labels(std::int32_t* labels) = 0;
  /// Of the last pass's labels and its centroids.
  virtual core::ExactAccumulator own_inertia() = 0;
  virtual double rechecked() const = 0;
};

/// Makes the engine, and adds the time that this takes to the phases.
template <class T>
using StartPasses = std::function<std::shared_ptr<RankPasses<T>>(std::vector<Phase>&)>;

/// A whole fit on ranks. The engine is made in the first pass, where what goes wrong on one rank ends all of them.
template <class T>
KMeansResult<T> fit_by_passes(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases,
                              const StartPasses<T>& start);

/// A whole fit, in one process or on ranks. `Fit(problem, execution, phases)` is what it takes on the GPU, and has two
/// members: `job`, a CudaFit, and `engine`, which is one for lloyd() and a RankPasses<T>.
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
