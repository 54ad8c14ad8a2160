// Lloyd's iteration: the driver that all variants share. Each variant supplies an engine (lloyd/engine.hpp). The driver
// updates the centroids, handles empty clusters, applies the stopping rules and records the history.
//
// Ranks. With several ranks (Problem::source), an engine has only the points of its rank. Its sums cover these points,
// and finish() stores their inertia in Problem::rank_inertia. The driver adds up the ranks' sums once per iteration and
// once at the end, so all ranks continue with the same numbers. If it saves time, each rank computes the new centroids
// of a share of the clusters, and the ranks exchange them (means/cluster_shares.hpp). An engine runs on ranks only if
// it has ExactSums, does not provide update(), and either does not provide advance() or declares the type TakesRanks.
// Its advance() then is collective. gpu/rank_passes.hpp has the engine for a rank on a GPU.
//
// Checkpoints. Between two iterations, the state of a fit is two sets of centroids and the history
// (lloyd/checkpoints.hpp). The next pass counts how many labels change, so it needs the current labels, which belong to
// the previous centroids. A resumed fit therefore first makes a pass with the previous centroids. This works with any
// engine whose labels are canonical. An engine that provides advance() runs a single iteration if a checkpoint follows
// it.
//
// Stops. pass() and finish() poll Problem::stop as described in core/stop.hpp. After a stop request they may return
// early with invalid labels and sums, because the driver throws before it reads them.
#pragma once

#include <vector>

#include "kmeans/lloyd/engine.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T, class Sums>
KMeansResult<T> run_lloyd(const Problem<T>& problem, const Execution& execution, Engine<T, Sums>& engine,
                          std::vector<Phase>& phases);

template <class T, class Own>
KMeansResult<T> lloyd(const Problem<T>& problem, const Execution& execution, Own& own, std::vector<Phase>& phases) {
  EngineOf<T, Own> engine(own);
  return run_lloyd(problem, execution, engine, phases);
}

}  // namespace gradus::kmeans_detail
