/// The number of GPUs that pay for a k-means fit.
#pragma once

#include <vector>

#include "gradus/export.hpp"
#include "gradus/kmeans.hpp"

namespace gradus {

/// Returns the GPUs on which kmeans() is expected to take the least time, as a list for Execution::gpus. Returns an
/// empty list if several GPUs do not pay: the job then runs where `execution` alone would run it, on one GPU or on the
/// CPU. The bits of the result are the same in any case.
///
/// The estimate assumes at most 20 iterations of each fit, and the rates of an NVIDIA H200, scaled by the number of
/// multiprocessors and the clock rate of each GPU. It includes the start of further GPUs, unless an earlier job of this
/// process has used the same GPUs. If only several GPUs have room for the points, they pay.
///
/// Returns Execution::gpus unchanged if it is not empty. Returns an empty list if the request names the CPU, a
/// communicator or a variant that does not run on several GPUs, or if the points are on a GPU. Throws the errors of
/// kmeans_memory(), but leaves the refusal of too few points to the fit. Queries the GPUs of the machine, which takes
/// some tenths of a second in a new process.
GRADUS_EXPORT std::vector<int> kmeans_gpus(const KMeansShape& shape, const KMeansOptions& options,
                                           const Execution& execution = {});

}  // namespace gradus
