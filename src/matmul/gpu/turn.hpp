// What the frame does on a GPU around a variant, for GPU code alone.
#pragma once

#include <cstdint>

#include "cuda/job.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// Copies matrices on the job's GPU, element by element, whatever lies between them; the copy is in the job's stream.
template <class T>
void turn(const Operand<const T>& from, const Operand<T>& to, std::int64_t batches, std::int64_t rows,
          std::int64_t columns, cuda::Job& job);

/// beta C for a C of the caller's on the GPU of problem.gpu, whatever lies between its elements; returns when it is
/// there. UsageError where it does not lie there.
template <class T>
void scale_there(const Problem<T>& problem);

}  // namespace gradus::matmul_detail
