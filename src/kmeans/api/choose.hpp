// Chooses the variant and the number of threads of a public call.
#pragma once

#include <initializer_list>
#include <limits>

#include "execution/request.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Returns the variant for a job that runs here and supports the options. Throws UsageError or UnsupportedError if no
/// variant fits. `points` and `others` are the places of the arrays; `execution` comes from execution::run_on_gpu_of().
const Variant& choose(const Shape& shape, const KMeansOptions& options, const Execution& execution,
                      MemoryPlace points = {}, std::initializer_list<execution::NamedPlace> others = {});

/// Returns true if the whole job runs on the GPU. With several ranks the job stays on the CPU and only the variant runs
/// on the GPU, on a copy of the points.
bool stays_on_gpu(const Variant& variant, const Execution& execution);

/// A time in nanoseconds so long that all threads are used.
inline constexpr double endless = std::numeric_limits<double>::infinity();

/// Sets the number of threads. If the caller left it open and the result's bits do not depend on it, a small job gets
/// only as many threads as speed it up.
void choose_threads(const Shape& shape, const Variant& variant, Execution& execution);

}  // namespace gradus::kmeans_detail
