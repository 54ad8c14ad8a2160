// cuda_tensor_fast: the tensor cores multiply, in FP16; few digits at the highest rate. The accuracy `fast`.
//
// What changes from `cuda_pipelined`: the units. A tensor core does 64 x 128 x 16 multiplications and additions with
// one instruction of four warps (wgmma), which reads its operands from shared memory by itself: no thread loads an
// operand, and there is no register of operands. What is left to threads is to keep it fed:
//
// * Rows of A and columns of B are scaled by powers of two and packed as FP16, tile after tile, each as it will lie in
//   shared memory (tensor/packing.cuh).
// * A block has roles. One thread orders copies, six tiles ahead, 16 KiB with an instruction of the copy engine; two
//   warpgroups multiply, 64 rows of the tile each: while one adds up or stores, the other's products run. Who waits for
//   whom stands in two barriers for each stage, `filled` and `emptied`; there is none of the whole block.
// * A tensor core adds with less care than other units (tensor/panels.hpp): after each 64 of k its sums are added up
//   in ordinary registers.
//
// The rounding to FP16, at most 2^-11 of each factor, is what the result is wrong by: as much as by TF32.
//
// Operations: 2 m n k, m and n rounded up to 128, k to 64. Bytes: A and B twice read and once written in FP16; panels
// m n k / 64 elements from the second-level cache. The rate of the tensor cores is the floor, that cache comes close.
//
// Limits: float; compute capability 9.0. Lines of A and B whose elements span more than 2^28, or are not finite, are
// computed as `strict`; where these are many, all is. k up to 16 is `strict`.
//
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
