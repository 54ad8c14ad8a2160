// Jobs on the GPU that a request names. Without CUDA, these functions call core::not_compiled().
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/job.hpp"
#include "gradus/array.hpp"
#include "gradus/execution.hpp"

namespace gradus::execution {

/// Starts a job. `bytes` is the size of the job's GPU memory (see cuda::Job). Throws the UnsupportedError of
/// require_gpu().
std::shared_ptr<cuda::Job> start_gpu_job(const Execution& execution, std::uint64_t bytes = 0);

/// Returns how many bytes of its GPU's memory a job may use if it can adapt the sizes of its blocks. This is the free
/// memory minus a reserve for the driver, but at most Execution::gpu_memory_limit.
std::uint64_t gpu_memory_to_take(const Execution& execution);

/// Copies a few rows from a GPU to host memory, after the work on Execution::stream. Used if the data is needed before
/// the job starts, or if it is on another GPU than the job. Throws UsageError if the rows are not on the GPU that the
/// view names.
template <class T>
Matrix<T> copy_to_host(MatrixView<const T> rows, const char* what, const Execution& execution);

/// Starts the GPU of a request, and connects it to the GPUs of the other ranks if there are any. Collective.
void connect_gpu(const Execution& execution);

}  // namespace gradus::execution
