// Functions that return a criterion's value, and the candidate that a criterion recommends (gradus/kmeans_choose.hpp).
#include "gradus/kmeans_choose.hpp"

namespace gradus {

std::optional<double> kmeans_criterion(const KMeansCandidate& candidate, KMeansCriterion criterion) {
  if (criterion == KMeansCriterion::elbow) return candidate.elbow;
  if (!candidate.criteria) return std::nullopt;
  switch (criterion) {
    case KMeansCriterion::silhouette: return candidate.criteria->silhouette;
    case KMeansCriterion::calinski_harabasz: return candidate.criteria->calinski_harabasz;
    case KMeansCriterion::davies_bouldin:
    case KMeansCriterion::elbow: break;
  }
  return candidate.criteria->davies_bouldin;
}

std::optional<std::size_t> kmeans_recommended(std::span<const KMeansCandidate> candidates, KMeansCriterion criterion) {
  std::optional<std::size_t> best;
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    const std::optional<double> value = kmeans_criterion(candidates[index], criterion);
    if (!value) continue;
    if (best) {
      const double least = *kmeans_criterion(candidates[*best], criterion);
      if (!(criterion == KMeansCriterion::davies_bouldin ? *value < least : *value > least)) continue;
    }
    best = index;
  }
  return best;
}

}  // namespace gradus
