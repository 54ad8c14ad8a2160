// Chooses the variant and the number of threads of a public call.
#pragma once

#include <initializer_list>
#include <limits>

#include "execution/request.hpp"
#include "kmeans/problem.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// Returns the variant for a job that runs on this machine and supports the options. Throws UsageError or
/// UnsupportedError if no variant fits. `points` and `others`: the memory places of the arrays. `execution`: the value
/// returned by execution::run_on_gpu_of().
const Variant& choose(const Shape& shape, const KMeansOptions& options, const Execution& execution,
                      MemoryPlace points = {}, std::initializer_list<execution::NamedPlace> others = {});

/// Returns true if every rank has points and runs the whole job on its GPU. Otherwise, only the variant runs on GPUs,
/// and it uses a copy of the points. Collective.
template <class T>
bool stays_on_gpu(core::Ranks& ranks, const Variant& variant, MatrixView<const T> points);

/// An estimated time that is long enough to use all threads.
inline constexpr double endless = std::numeric_limits<double>::infinity();

/// Sets the number of threads, unless the caller has set it. If the result's bits do not depend on this number, a small
/// job gets only the threads that make it faster.
void choose_threads(const Shape& shape, const Variant& variant, Execution& execution);

}  // namespace gradus::kmeans_detail
