// The ladder of matrix multiplication (variants.cpp).
#pragma once

#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

core::Rows<Variant> variants();

/// By which others see the table.
extern const core::Ladder ladder;

/// simd_packed, and cuda_pipelined where a GPU is asked for: until it was measured on one, nobody gets it unasked.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device);

/// The fastest of the shape's accuracy for matrices on a GPU.
const Variant& choose_there(const Shape& shape, const execution::Machine& machine);
/// What that takes of the GPU's memory beyond the matrices.
std::uint64_t working_memory_there(const Shape& shape, const execution::Machine& machine);

}  // namespace gradus::matmul_detail
