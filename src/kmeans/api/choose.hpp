// The choice of a variant for a public call, and of its threads.
#pragma once

#include <initializer_list>
#include <limits>

#include "execution/request.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// The variant of a job, which can run here and supports what the options ask for; UsageError or UnsupportedError where
/// none does. `points`: where they are; `others`: what lies beside them; `execution`: as
/// execution::run_on_gpu_of() returns it.
const Variant& choose(const Shape& shape, const KMeansOptions& options, const Execution& execution,
                      MemoryPlace points = {}, std::initializer_list<execution::NamedPlace> others = {});

/// Returns true if all is done on the GPU, where the points are or are brought. On several ranks the variant alone runs
/// there, on a copy.
bool stays_on_gpu(const Variant& variant, const Execution& execution);

inline constexpr double endless = std::numeric_limits<double>::infinity();  ///< nanoseconds, worth all threads

/// As many threads as pay, if their number is left to the library and the bits do not depend on it.
void choose_threads(const Shape& shape, const Variant& variant, Execution& execution);

}  // namespace gradus::kmeans_detail
