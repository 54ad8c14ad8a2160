// Points and weights that lie in the memory of a GPU, and what the host side of a job asks of them. A build without
// CUDA answers by core::not_compiled().
#pragma once

#include <memory>

#include "core/column_ranges.hpp"
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

/// As cpu::column_ranges() for rows on the job's GPU, its errors included.
template <class T>
core::ColumnRanges column_ranges_on_gpu(MatrixView<const T> rows, const char* what, cuda::Job& job);

/// Returns the range of the weights on the job's GPU, and the first one that cannot be used.
template <class T>
core::FoundRanges find_ranges_on_gpu(VectorView<const T> weights, cuda::Job& job);

/// Reads weights on the job's GPU once.
template <class T>
WeightSpan find_weight_span(VectorView<const T> weights, cuda::Job& job);

}  // namespace gradus::pair_histogram_detail
