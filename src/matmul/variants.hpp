// Every variant's entry point, for the table in variants.cpp.
#pragma once

#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

template <class T>
Done sequential(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done openmp(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done openmp_tiled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done simd_packed(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done openblas(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_naive(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_tiled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_unrolled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_hoisted(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_register_tiled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_warp_tiled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_pipelined(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_panels(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_tensor_f64(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_tensor_fast(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cuda_tensor_split(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cublas(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Done cublas_emulated(const Problem<T>&, const Execution&, std::vector<Phase>&);

std::span<const Variant> variants();

/// By which others see the table.
extern const core::Ladder ladder;

/// simd_packed, and cuda_pipelined where a GPU is asked for: until it was measured on one, nobody gets it unasked.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device);

/// The fastest of the shape's accuracy for matrices on a GPU.
const Variant& choose_there(const Shape& shape, const execution::Machine& machine);
/// What that takes of the GPU's memory beyond the matrices.
std::uint64_t working_memory_there(const Shape& shape, const execution::Machine& machine);

/// Memory of simd_packed, beyond the matrices.
core::Memory packed_memory(const Shape& shape, int threads);
/// Whether the library behind `openblas` is here, or why not.
core::Support openblas_is_here();
/// Likewise of `cublas`; where there is CUDA.
core::Support cublas_is_here();
/// And whether it emulates double.
core::Support cublas_emulates();

}  // namespace gradus::matmul_detail

/// The instances of a variant, at the end of its file.
#define GRADUS_MATMUL_RUNG(variant)                                                    \
  template Done variant(const Problem<float>&, const Execution&, std::vector<Phase>&); \
  template Done variant(const Problem<double>&, const Execution&, std::vector<Phase>&);
