// cublas_emulated: cuBLAS with double emulated by integers. A baseline for comparison, never chosen.
//
// What changes from `cublas`: each double is split into slices of a few bits each, with a common exponent. The tensor
// cores multiply the slices as 8-bit integers, in many passes. Emulation saves time on GPUs whose tensor cores compute
// slowly in double and fast in small integers. The rung always requests emulation, even on other GPUs, but the library
// decides whether to emulate.
//
// Limits: double only; version 13 of the library or later. Otherwise as `cublas`.
// Source: H. Ootomo, K. Ozaki and R. Yokota, "DGEMM on integer matrix multiplication unit" (2024).
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/gpu/cublas_library.hpp"

namespace gradus::matmul_detail {

static core::Support cublas_emulates() {
  if (core::Support here = cublas_is_here(); !here) return here;
  return cublas_library::library().emulates() ? core::Support::yes()
                                              : core::Support::no("this version of cuBLAS does not emulate double");
}

template <class T>
Done cublas_emulated(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  cublas_library::multiply(problem, cublas_library::Math::fixed_point, execution, phases);
  return {};
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

namespace {

core::Support with_emulation(const Shape& shape, const execution::Machine& machine) {
  if (shape.element_bytes != sizeof(double)) return core::Support::no("supports only double; use cublas for float");
  core::Support support = execution::on_gpu(shape, machine);
#ifdef GRADUS_HAS_CUDA
  if (support) support = cublas_emulates();
#endif
  return support;
}

}  // namespace

extern constinit const Variant cublas_emulated_rung{
    .name = "cublas_emulated",
    .summary = "cuBLAS with double emulated by integer slices",
    .change = "the tensor cores' 8-bit integers in place of their double",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .deterministic = false,
    .device_input = true,
    .baseline = true,
    .supports = with_emulation,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cublas_emulated<float>, cublas_emulated<double>),
};

}  // namespace gradus::matmul_detail
