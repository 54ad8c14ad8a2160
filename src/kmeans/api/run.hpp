// Runs the variant of a public call.
#pragma once

#include <vector>

#include "kmeans/lloyd/idle_rank.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Runs the variant. A rank without points runs no variant and only takes part in the sums over the ranks.
template <class T>
KMeansResult<T> run(const Variant& variant, const Problem<T>& problem, const Execution& execution,
                    std::vector<Phase>& phases) {
  if (problem.n() == 0) return idle_rank(problem, execution, phases);
  return variant.run(problem, execution, phases);
}

}  // namespace gradus::kmeans_detail
