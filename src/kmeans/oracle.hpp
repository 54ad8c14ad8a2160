// The plain truth: a fit by the canonical rules, one line after the other, sharing no machinery with the variants.
// Never a rung and never timed as a baseline.
#pragma once

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> oracle(const Problem<T>& problem);

}  // namespace gradus::kmeans_detail
