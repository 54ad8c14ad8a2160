// Points and weights that lie in the memory of a GPU, and what the host side of a job asks of them. In a build without
// CUDA this is declared and not defined; see cuda/job.hpp.
#pragma once

#include <memory>

#include "cuda/job.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// Brings the problem to the GPU of `execution`: points and weights are used where they lie if they lie there, after
/// what is in Execution::stream; of others copies are made. The problem's views then name memory of the GPU, and
/// Problem::gpu the job. `job_bytes`: what the variant will take there beside them (Variant::memory).
/// UsageError for a view that does not lie where it says, OutOfMemoryError with both numbers where the memory does
/// not suffice.
template <class T>
std::shared_ptr<cuda::Job> bring_to_gpu(Problem<T>& problem, const Execution& execution, std::uint64_t job_bytes);

/// Reads weights on the job's GPU once.
template <class T>
WeightSpan find_weight_span(VectorView<const T> weights, cuda::Job& job);

}  // namespace gradus::pair_histogram_detail
