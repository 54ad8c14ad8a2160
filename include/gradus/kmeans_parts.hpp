/// k-means on points in several arrays, for example one array on each GPU. The arrays are not copied to join them.
#pragma once

#include <span>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/kmeans.hpp"

namespace gradus {

namespace detail {

template <class T>
GRADUS_EXPORT KMeansResult<T> kmeans_parts(std::span<const MatrixView<const T>> parts, const KMeansOptions& options,
                                           const KMeansMemory<T>& memory, const Execution& execution);

}  // namespace detail

/// Clusters the rows of all `parts` together, in the order of the parts. The result has the bits of a fit to one array
/// with these rows. Weights, labels and row numbers in errors refer to the rows of all parts.
///
/// `Execution::gpus` names a GPU for each part. If it is empty and all parts are on GPUs, each part's GPU works on the
/// part. A part on its GPU is used in place; the GPU gets a copy of a part in other memory. If there are no GPUs in the
/// request and all parts are in host memory, the CPU works on them in place, with a share of the threads for each part.
///
/// Throws the errors of kmeans(), UsageError if there are no parts, or if the number of GPUs differs from the number of
/// parts, and InputError if the numbers of columns differ.
template <class T>
KMeansResult<T> kmeans_parts(const std::vector<MatrixView<const T>>& parts, const KMeansOptions& options = {},
                             const KMeansMemory<T>& memory = {}, const Execution& execution = {}) {
  return detail::kmeans_parts<T>(parts, options, memory, execution);
}

}  // namespace gradus
