// The choice of a variant for a public call, and of its threads.
#pragma once

#include <initializer_list>
#include <limits>

#include "execution/request.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Returns the variant for a job that runs here and supports the options. Throws UsageError or UnsupportedError if
/// there is none. `points`, `others`: the places of the arrays; `execution`: from execution::run_on_gpu_of().
const Variant& choose(const Shape& shape, const KMeansOptions& options, const Execution& execution,
                      MemoryPlace points = {}, std::initializer_list<execution::NamedPlace> others = {});

/// Returns true if the whole job runs on the GPU. With several ranks only the variant runs there, on a copy.
bool stays_on_gpu(const Variant& variant, const Execution& execution);

inline constexpr double endless = std::numeric_limits<double>::infinity();  ///< nanoseconds; uses all threads

/// Sets the number of threads that pays, if the caller left it open and the bits do not depend on it.
void choose_threads(const Shape& shape, const Variant& variant, Execution& execution);

}  // namespace gradus::kmeans_detail
