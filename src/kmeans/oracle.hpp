// The oracle: a fit by the canonical rules, in plain code. It shares no code with the variants, and is neither a
// variant nor a baseline.
#pragma once

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> oracle(const Problem<T>& problem);

}  // namespace gradus::kmeans_detail
