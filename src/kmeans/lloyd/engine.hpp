// The engine of a variant: it assigns the points and adds them up. The driver (lloyd/lloyd.hpp) calls it through the
// interface Engine, which the adapter EngineOf implements. So the driver is compiled once per type of sums, not once
// per variant. The class of a variant provides
//
//   Outcome pass(centroids, labels)    computes new labels, and the sums of the clusters for these labels
//   const Sums& sums()                 returns the sums (FloatSums or ExactSums)
//   double finish(centroids, labels, labels_are_current)
//                                      computes the labels of the final centroids, unless they are current, and
//                                      returns the inertia
//   double rechecked()                 returns the share of assignments that needed the canonical chain
//
// and may provide
//
//   Outcome pass(centroids, labels, phases)
//                                      replaces the pass() above if the engine times parts of a pass as phases
//   void update(centroids)             computes the means of the clusters with weight, and leaves other rows unchanged;
//                                      for the engine of a variant whose file shows the division
//   bool has_sums()                    returns false if the engine computes no sums because no mean is needed
//   Steps advance(centroids, rules, phases)
//                                      runs several iterations on a GPU and updates `centroids`. Leaves an iteration to
//                                      the driver if an empty cluster must be reported, if the engine cannot restart
//                                      it, or if the sums do not determine a mean
//   LeavesLabelsOnGpu                  a type; if it exists, finish() writes Problem::labels_on_gpu when `labels` is
//                                      null
//   void bring_labels(labels)          copies the labels of the last pass, for engines that store them elsewhere. The
//                                      pass() of such an engine need not write labels. The driver calls bring_labels()
//                                      when it must read the labels of single points
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/phases.hpp"
#include "kmeans/means/exact_sums.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

struct Outcome {
  std::int64_t changed = 0;
  double inertia = std::numeric_limits<double>::quiet_NaN();  ///< NaN unless the pass computes the inertia anyway
};

/// The stopping rules for an engine that runs iterations without the driver.
struct StopRules {
  int iterations = 0;  ///< maximum number of iterations
  double shift_limit = 0;
  std::int64_t changed_limit = 0;
};

/// The result of Engine::advance().
struct Steps {
  std::vector<KMeansIteration> records = {};  ///< one record per completed iteration
  bool same_centroids = false;                ///< true if the last iteration changed no centroid
  bool inertia_is_explained = false;          ///< true if `records` has the inertia in the units of explain()
  bool needs_frame = false;  ///< true if the engine has made the next pass, but not its update; then the next call of
                             ///< pass() returns the result of this pass
};

/// The interface of the driver to an engine. The functions have the meanings listed above.
template <class T, class Sums>
class Engine {
 public:
  virtual Outcome pass(MatrixView<const T> centroids, std::int32_t* labels, std::vector<Phase>& phases) = 0;
  virtual const Sums& sums() const = 0;
  virtual bool has_sums() const = 0;
  virtual double finish(MatrixView<const T> centroids, std::int32_t* labels, bool labels_are_current) = 0;
  virtual double rechecked() const = 0;
  /// Returns false if the engine leaves the means to the driver.
  virtual bool update(MatrixView<T> centroids) = 0;
  virtual Steps advance(MatrixView<T> centroids, StopRules rules, std::vector<Phase>& phases) = 0;
  virtual void bring_labels(std::int32_t* labels) = 0;

  virtual bool iterates_itself() const = 0;       ///< true if the engine provides advance()
  virtual bool keeps_labels() const = 0;          ///< true if pass() need not write labels
  virtual bool leaves_labels_on_gpu() const = 0;  ///< true if finish() can leave the labels on the GPU
  virtual bool takes_ranks() const = 0;           ///< true if the engine runs on several ranks

 protected:
  ~Engine() = default;
};

template <class Own>
using SumsOf = std::remove_cvref_t<decltype(std::declval<Own&>().sums())>;

/// Makes an Engine of a variant's class.
template <class T, class Own>
class EngineOf final : public Engine<T, SumsOf<Own>> {
 public:
  explicit EngineOf(Own& own) : own_(own) {}

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels, std::vector<Phase>& phases) override {
    if constexpr (requires { own_.pass(centroids, labels, phases); }) return own_.pass(centroids, labels, phases);
    else {
      const core::PhaseTimer timer(phases, "assign");
      return own_.pass(centroids, labels);
    }
  }
  const SumsOf<Own>& sums() const override { return own_.sums(); }
  bool has_sums() const override {
    if constexpr (requires { own_.has_sums(); }) return own_.has_sums();
    else return true;
  }
  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool labels_are_current) override {
    return own_.finish(centroids, labels, labels_are_current);
  }
  double rechecked() const override { return own_.rechecked(); }
  bool update([[maybe_unused]] MatrixView<T> centroids) override {
    if constexpr (requires { own_.update(centroids); }) {
      own_.update(centroids);
      return true;
    } else {
      return false;
    }
  }
  Steps advance([[maybe_unused]] MatrixView<T> centroids, [[maybe_unused]] StopRules rules,
                [[maybe_unused]] std::vector<Phase>& phases) override {
    if constexpr (iterates) return own_.advance(centroids, rules, phases);
    else return {};
  }
  void bring_labels([[maybe_unused]] std::int32_t* labels) override {
    if constexpr (keeps) own_.bring_labels(labels);
  }

  bool iterates_itself() const override { return iterates; }
  bool keeps_labels() const override { return keeps; }
  bool leaves_labels_on_gpu() const override {
    return requires { typename Own::LeavesLabelsOnGpu; };
  }
  bool takes_ranks() const override {
    return std::is_same_v<SumsOf<Own>, ExactSums<T>> && (!iterates || requires { typename Own::TakesRanks; });
  }

 private:
  static constexpr bool iterates =
      requires(Own own, MatrixView<T> centroids, StopRules rules, std::vector<Phase>& phases) {
    own.advance(centroids, rules, phases);
  };
  static constexpr bool keeps = requires(Own own, std::int32_t* labels) { own.bring_labels(labels); };

  Own& own_;
};

}  // namespace gradus::kmeans_detail
