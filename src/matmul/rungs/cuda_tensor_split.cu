// cuda_tensor_split: each float is the sum of two FP16 numbers, and three tensor-core products replace one in float.
// The rung provides the accuracy `split`. It is as accurate as multiplication in float, and several times as fast.
//
// What changes from `cuda_tensor_fast`: with a = a_high + 2^-11 a_low, 11 bits each, and the same for b,
//
//   a b = a_high b_high + 2^-11 (a_high b_low + a_low b_high) + 2^-22 a_low b_low.
//
// The last term is as small as the error of representing a float by two parts, so it is omitted. The high products and
// the cross products have separate sums because of the factor 2^-11. Each product of two FP16 numbers has 22 bits and
// is exact, so the accuracy depends on the additions. A tensor core truncates towards zero instead of rounding. Over a
// long k, truncation accumulates a far larger error than rounding in float. A tensor core therefore adds at most 64
// high products. Ordinary registers, 64 per thread, then add these sums with rounding. The cross products are so small
// that the tensor core may add all of them.
//
// The tile and the roles of the warps are as in `cuda_tensor_fast`. A stage holds both parts of both operands, and
// three stages fit.
//
// Operations: 6 m n k on the tensor cores. Bytes: as `cuda_tensor_fast`, but the panels have twice as many bytes to
// write and to read back.
// Limits: as `cuda_tensor_fast`.
// Source: H. Ootomo and R. Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32
// theoretical peak performance" (2022). The scaling of rows and columns, which avoids the narrow range of FP16, is not
// from this paper.
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/tensor/multiply.cuh"

namespace gradus::matmul_detail {

template <class T>
Done cuda_tensor_split(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  if constexpr (sizeof(T) == sizeof(float))
    if (problem.k > tensor::strict_depth && tensor::multiply<2>(problem, execution, phases)) return {};
  return cuda_pipelined(problem, execution, phases);
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

extern constinit const Variant cuda_tensor_split_rung{
    .name = "cuda_tensor_split",
    .summary = "the tensor cores, three passes over two parts of each float: the accuracy of float",
    .change = "the digits of float, for three times the work",
    .contract = {.kind = core::Contract::within, .bound = rounded_unit<float>, .of = "(208 + k / 42) |A| |B|"},
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = on_tensor_cores,
    .memory = tensor_memory<2>,
    .facts = {.accuracy = MatmulAccuracy::split},
    .run = GRADUS_CUDA_RUNS(cuda_tensor_split<float>, cuda_tensor_split<double>),
};

}  // namespace gradus::matmul_detail
