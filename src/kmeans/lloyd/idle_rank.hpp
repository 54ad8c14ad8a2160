// The fit of a rank without rows. Its engine does nothing, and the rank only takes part in the sums over the ranks.
#pragma once

#include <vector>

#include "kmeans/lloyd/lloyd.hpp"

namespace gradus::kmeans_detail {

template <class T>
class IdleEngine {
 public:
  explicit IdleEngine(const Problem<T>& problem) : problem_(problem), sums_(problem) {}

  Outcome pass(MatrixView<const T> /*centroids*/, std::int32_t* /*labels*/) { return {}; }
  const ExactSums<T>& sums() const { return sums_; }
  double finish(MatrixView<const T> /*centroids*/, std::int32_t* /*labels*/, bool /*labels_are_current*/) {
    *problem_.rank_inertia = {};
    return 0;
  }
  double rechecked() const { return 0; }

 private:
  const Problem<T>& problem_;
  ExactSums<T> sums_;
};

template <class T>
KMeansResult<T> idle_rank(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  IdleEngine<T> engine(problem);
  return lloyd(problem, execution, engine, phases);
}

}  // namespace gradus::kmeans_detail
