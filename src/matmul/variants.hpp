// The ladder of matrix multiplication (variants.cpp).
#pragma once

#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

core::Rows<Variant> variants();

/// The production variant on the CPU.
GRADUS_DECLARE_RUNG(simd_packed)

/// The table of variants.
extern const core::Ladder ladder;

/// Returns simd_packed, or the best GPU variant if a GPU is requested or would finish sooner.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device);

/// Returns the fastest variant with the shape's accuracy for matrices that are on a GPU.
const Variant& choose_there(const Shape& shape, const execution::Machine& machine);
/// Returns the GPU memory that the variant of choose_there() needs in addition to the matrices.
std::uint64_t working_memory_there(const Shape& shape, const execution::Machine& machine);

}  // namespace gradus::matmul_detail
