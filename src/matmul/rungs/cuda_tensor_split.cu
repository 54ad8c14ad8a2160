// cuda_tensor_split: each float is the sum of two FP16, and three products on the tensor cores give what one in float
// would: `split`, the accuracy of float at a multiple of its rate.
//
// What changes from `cuda_tensor_fast`: with a = a_high + 2^-11 a_low, 11 bits each, and b likewise,
//
//   a b = a_high b_high + 2^-11 (a_high b_low + a_low b_high) + 2^-22 a_low b_low,
//
// of which the last is as small as what the two parts leave away, and is left out. The products of high parts and the
// cross products have sums of their own, for the factor; both are exact, 22 bits of FP16 times FP16. What then decides
// is how they are added up. A tensor core cuts off where others round, always towards zero, which over a long k adds up
// to far more than roundings in float: it adds no more than 64 products of high parts, and the sums go to ordinary
// registers, 64 of each thread, that round. The cross products are so small that it may add all of them.
//
// The tile stays, and so do the roles; a stage holds both parts of both operands, and three fit.
//
// Operations: 6 m n k on the tensor cores. Bytes: as `cuda_tensor_fast`, with twice as much written and read back.
//
// Limits: as `cuda_tensor_fast`.
//
// Source: H. Ootomo and R. Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32
// theoretical peak performance" (2022), with the scaling of lines added, so that there is no narrower range.
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
