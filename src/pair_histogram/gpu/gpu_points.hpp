// Points and weights in a GPU's memory. In a build without CUDA, these functions call core::not_compiled().
#pragma once

#include <memory>

#include "core/column_ranges.hpp"
#include "cuda/job.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// Brings the problem to the GPU of `execution`, and sets the problem's views and Problem::gpu. Data already on that
/// GPU is used in place, after the work that is pending in Execution::stream. All other data is copied. `job_bytes` is
/// the device memory that the variant needs in addition to the data (Variant::memory). Throws UsageError if a view is
/// not in the memory that it claims. Throws OutOfMemoryError, with the needed and the free bytes, if memory does not
/// suffice.
template <class T>
std::shared_ptr<cuda::Job> bring_to_gpu(Problem<T>& problem, const Execution& execution, std::uint64_t job_bytes);

/// Does the same as cpu::column_ranges(), with the same errors, for rows on the job's GPU.
template <class T>
core::ColumnRanges column_ranges_on_gpu(MatrixView<const T> rows, const char* what, cuda::Job& job);

/// Returns the range of the weights on the job's GPU, and the first invalid weight, if any.
template <class T>
core::FoundRanges find_ranges_on_gpu(VectorView<const T> weights, cuda::Job& job);

/// Returns the span of bits that the weights on the job's GPU need.
template <class T>
WeightSpan find_weight_span(VectorView<const T> weights, cuda::Job& job);

}  // namespace gradus::pair_histogram_detail
