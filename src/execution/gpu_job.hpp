// A job on the GPU that a request names. A build without CUDA answers by core::not_compiled().
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/job.hpp"
#include "gradus/array.hpp"
#include "gradus/execution.hpp"

namespace gradus::execution {

/// UnsupportedError as require_gpu(). `bytes`: of the job's memory there, see cuda::Job.
std::shared_ptr<cuda::Job> start_gpu_job(const Execution& execution, std::uint64_t bytes = 0);

/// What a job that cuts its work by the memory there is may take of the current GPU's: what is free, but for what the
/// driver may want, and no more than Execution::gpu_memory_limit.
std::uint64_t gpu_memory_to_take(const Execution& execution);

/// A copy in host memory of a few rows that lie on a GPU, after what is in Execution::stream; for what a job wants
/// before it starts, or on another GPU than its own. UsageError where they do not lie there.
template <class T>
Matrix<T> copy_to_host(MatrixView<const T> rows, const char* what, const Execution& execution);

}  // namespace gradus::execution
