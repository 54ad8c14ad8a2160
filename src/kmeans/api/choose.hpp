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

/// If the caller left the choice of `variant` to the library, returns the variant of the same bits that needs less
/// memory. Returns null if there is none.
const Variant* with_less_memory(const Variant& variant, const Execution& execution);

/// Returns `variant`, or the first variant with less memory whose estimate the available memory covers. If no estimate
/// is covered, returns the variant that needs the least memory. `bytes(variant)` returns the estimate.
template <class Bytes>
const Variant& within_memory(const Variant& variant, const Execution& execution, const Bytes& bytes) {
  const Variant* fitting = &variant;
  while (const Variant* const less = with_less_memory(*fitting, execution)) {
    if (execution::has_memory(bytes(*fitting), execution)) break;
    fitting = less;
  }
  return *fitting;
}

/// Returns true if the whole job runs on the GPUs of the ranks. If only some ranks use a GPU or have `points`, only the
/// variant runs there, on a copy of the points. Collective.
template <class T>
bool stays_on_gpu(core::Ranks& ranks, const Variant& variant, MatrixView<const T> points);

/// The estimated time of a job that is so long that it should use all threads.
inline constexpr double endless = std::numeric_limits<double>::infinity();

/// Sets the number of threads, unless the caller has set it. If the result's bits do not depend on this number, a small
/// job gets only the threads that make it faster.
void choose_threads(const Shape& shape, const Variant& variant, Execution& execution);

}  // namespace gradus::kmeans_detail
