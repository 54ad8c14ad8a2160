// Operations on matrices that are on a GPU, for the code around the variants. Only GPU code includes this header.
#pragma once

#include <cstdint>

#include "cuda/job.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// Copies matrices on the job's GPU from any layout to any other layout. The copy is queued in the job's stream.
template <class T>
void turn(const Operand<const T>& from, const Operand<T>& to, std::int64_t batches, std::int64_t rows,
          std::int64_t columns, cuda::Job& job);

/// Computes beta C for a matrix C on the GPU of problem.gpu, and waits for the result. Throws UsageError if C is not on
/// that GPU.
template <class T>
void scale_there(const Problem<T>& problem);

}  // namespace gradus::matmul_detail
