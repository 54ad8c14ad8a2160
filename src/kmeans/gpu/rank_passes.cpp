#include "kmeans/gpu/rank_passes.hpp"

#include <optional>

#include "core/phases.hpp"

namespace gradus::kmeans_detail {

namespace {

template <class T>
class PassEngine {
 public:
  using TakesRanks = void;

  PassEngine(const Problem<T>& problem, const StartPasses<T>& start) : problem_(problem), start_(start) {}

  Steps advance(MatrixView<T> centroids, StopRules rules, std::vector<Phase>& phases) {
    if (!iterates_) iterates_ = connect(phases);
    if (!*iterates_) return {.needs_frame = true};
    Steps steps = passes_->advance(centroids, rules, phases);
    problem_.ranks().agree([] {});  // throws on all ranks if a stop is requested on some rank
    return steps;
  }

  Outcome pass(MatrixView<const T> centroids, std::int32_t* /*labels*/, std::vector<Phase>& phases) {
    RankPasses<T>& passes = started(phases);
    const core::PhaseTimer timer(phases, "assign");
    return {passes.make_pass(centroids)};
  }

  const ExactSums<T>& sums() const { return passes_->sums(); }

  void bring_labels(std::int32_t* labels) { passes_->bring_labels(labels); }

  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool labels_are_current) {
    std::vector<Phase> uncounted;  // not reported, because the driver's phase includes this time
    RankPasses<T>& passes = started(uncounted);
    if (labels_are_current) passes.bring_sums();
    else passes.make_pass(centroids);
    passes.bring_labels(labels);
    *problem_.rank_inertia = passes.own_inertia();
    return 0;  // the driver adds up the inertias of all ranks
  }

  double rechecked() const { return passes_ ? passes_->rechecked() : 0; }

 private:
  /// If all ranks can iterate on their GPUs, connects the GPUs and returns true.
  bool connect(std::vector<Phase>& phases) {
    if (problem_.source->gpu() == nullptr) return false;  // on some ranks, no GPU is used
    if (!problem_.ranks().all([&] { return started(phases).can_iterate(); })) return false;
    const core::PhaseTimer timer(phases, "connect");
    passes_->connect();
    return true;
  }

  RankPasses<T>& started(std::vector<Phase>& phases) {
    if (!passes_) passes_ = start_(phases);
    return *passes_;
  }

  const Problem<T>& problem_;
  const StartPasses<T>& start_;
  std::shared_ptr<RankPasses<T>> passes_;
  std::optional<bool> iterates_;  ///< set by the first call of advance()
};

}  // namespace

template <class T>
KMeansResult<T> fit_by_passes(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases,
                              const StartPasses<T>& start) {
  PassEngine<T> engine(problem, start);
  return lloyd(problem, execution, engine, phases);
}

template KMeansResult<float> fit_by_passes(const Problem<float>&, const Execution&, std::vector<Phase>&,
                                           const StartPasses<float>&);
template KMeansResult<double> fit_by_passes(const Problem<double>&, const Execution&, std::vector<Phase>&,
                                            const StartPasses<double>&);

}  // namespace gradus::kmeans_detail
