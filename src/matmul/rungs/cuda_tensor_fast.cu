// cuda_tensor_fast: the tensor cores multiply in FP16, with few digits at the highest rate. The accuracy `fast`.
//
// What changes from `cuda_pipelined`: the arithmetic units. One instruction of four warps (wgmma) performs 64 x 128 x
// 16 multiply-adds on a tensor core. It reads its operands directly from shared memory, so no thread loads operands
// into registers. The only task of the threads is to keep the tensor cores supplied:
// * Rows of A and columns of B are scaled by powers of two and packed as FP16, tile by tile in the layout of shared
//   memory (tensor/packing.cuh).
// * Warps have roles. One thread issues copies six tiles ahead, 16 KiB per instruction of the copy engine. Two
//   warpgroups multiply 64 rows of the tile each; while one adds or stores, the other keeps the tensor cores busy. Each
//   stage has two barriers, `filled` and `emptied`. No barrier stops the whole block.
// * A tensor core adds less accurately than other units (tensor/panels.hpp), so its sums are added in ordinary
//   registers after every 64 steps of k.
//
// The error of the result is dominated by rounding to FP16, at most 2^-11 per factor, the same as with TF32.
//
// Operations: 2 m n k, with m and n rounded up to 128 and k to 64. Bytes: A and B are read twice. Their panels in FP16
// are written once. m n k / 64 elements of panels come from the L2 cache. The rate of the tensor cores gives the lower
// bound of the time. The rate of the L2 cache is also close to its limit.
// Limits: float only; compute capability 9.0. If the elements of a row of A span a range of more than 2^28 or are not
// all finite, the elements of C that depend on this row are computed with the accuracy `strict`. The same holds for
// columns of B. If there are many such rows and columns, or if k is at most 16, the whole product is computed with the
// accuracy `strict`.
// Source: NVIDIA's CUTLASS, warp-specialized persistent kernels; scaling: see tensor/packing.cuh.
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/tensor/multiply.cuh"

namespace gradus::matmul_detail {

template <class T>
Done cuda_tensor_fast(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  if constexpr (sizeof(T) == sizeof(float))
    if (problem.k > tensor::strict_depth && tensor::multiply<1>(problem, execution, phases)) return {};
  return cuda_pipelined(problem, execution, phases);
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

extern constinit const Variant cuda_tensor_fast_rung{
    .name = "cuda_tensor_fast",
    .summary = "the tensor cores, one pass in FP16 with scaled rows and columns: 11 bits of each factor",
    .change =
        "131,072 multiply-adds with one instruction of four warps, which takes its operands from shared memory by "
        "itself; threads order copies, and add up",
    .contract = {.kind = core::Contract::within, .bound = 9.8e-4, .of = "|A| |B|"},
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = on_tensor_cores,
    .memory = tensor_memory<1>,
    .facts = {.accuracy = MatmulAccuracy::fast},
    .run = GRADUS_CUDA_RUNS(cuda_tensor_fast<float>, cuda_tensor_fast<double>),
};

}  // namespace gradus::matmul_detail
