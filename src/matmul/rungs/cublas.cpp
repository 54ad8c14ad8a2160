// cublas: cuBLAS, NVIDIA's library for matrix products on its GPUs. A baseline for comparison, never chosen.
//
// What changes from `cuda_pipelined`: the kernels are NVIDIA's. In f64 they use the tensor cores' multiply-add. In f32
// everything is computed in f32: TF32 is disabled because it has fewer digits than float. The order of the additions
// depends on the GPU, the shape and the version of the library, and so do the bits of the result. One call of the
// library computes many products of a batch.
//
// The library of CUDA 13 or CUDA 12 is opened on first use, so that programs run without it.
//
// Limits: a stop request takes effect between calls of the library. Estimates exclude the GPU memory that the library
// allocates for itself.
// Source: https://docs.nvidia.com/cuda/cublas
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/gpu/cublas_library.hpp"

namespace gradus::matmul_detail {

core::Support cublas_is_here() {
  const std::string& trouble = cublas_library::library().trouble();
  return trouble.empty() ? core::Support::yes() : core::Support::no(trouble);
}

template <class T>
Done cublas(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  cublas_library::multiply(problem, cublas_library::Math::native, execution, phases);
  return {};
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

namespace {

core::Support with_cublas(const Shape& shape, const execution::Machine& machine) {
  core::Support support = execution::on_gpu(shape, machine);
#ifdef GRADUS_HAS_CUDA
  if (support) support = cublas_is_here();
#endif
  return support;
}

}  // namespace

extern constinit const Variant cublas_rung{
    .name = "cublas",
    .summary = "NVIDIA's library cuBLAS, for comparison",
    .change = "third-party kernels; f32 without TF32",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .deterministic = false,
    .device_input = true,
    .baseline = true,
    .supports = with_cublas,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cublas<float>, cublas<double>),
};

}  // namespace gradus::matmul_detail
