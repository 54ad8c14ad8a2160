// Chooses the variant and the number of threads of a public call.
#pragma once

#include <initializer_list>
#include <limits>

#include "execution/request.hpp"
#include "kmeans/problem.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// Returns the variant for a job that runs on this machine and supports the options. Throws UsageError or
/// UnsupportedError if no variant fits. `points` is the memory place of the points, and `others` are the places of the
/// other arrays. `execution` is the value returned by execution::run_on_gpu_of().
const Variant& choose(const Shape& shape, const KMeansOptions& options, const Execution& execution,
                      MemoryPlace points = {}, std::initializer_list<execution::NamedPlace> others = {});

/// Returns true if the whole job runs on the GPU of each rank, and every rank has points. If not, the points stay in
/// host memory, and a GPU variant copies them. Collective.
template <class T>
bool stays_on_gpu(core::Ranks& ranks, const Variant& variant, MatrixView<const T> points);

/// The estimated time of a job that is so long that it should use all threads.
inline constexpr double endless = std::numeric_limits<double>::infinity();

/// Sets the number of threads, unless the caller has set it. If the result's bits do not depend on this number, a small
/// job gets only the threads that make it faster.
void choose_threads(const Shape& shape, const Variant& variant, Execution& execution);

}  // namespace gradus::kmeans_detail
