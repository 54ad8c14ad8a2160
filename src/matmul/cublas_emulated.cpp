// cublas_emulated: cuBLAS once more, double made of whole numbers. A rival, for comparison, never chosen.
//
// What changes from `cublas`: each double is cut into slices of a few bits with a common exponent, and the tensor cores
// multiply the slices as whole numbers of eight bits, many passes. That pays on GPUs whose tensor cores do little in
// double and much in small whole numbers. It is asked for always, whether it pays or not; what the library then does is
// its own affair.
//
// Limits: double; versions of the library from 13 on. As `cublas`.
// Source: H. Ootomo, K. Ozaki and R. Yokota, "DGEMM on integer matrix multiplication unit" (2024).
#include "matmul/gpu/cublas_library.hpp"

namespace gradus::matmul_detail {

core::Support cublas_emulates() {
  if (core::Support here = cublas_is_here(); !here) return here;
  return cublas_library::library().emulates() ? core::Support::yes()
                                              : core::Support::no("this version of cuBLAS does not emulate double");
}

template <class T>
Done cublas_emulated(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  cublas_library::multiply(problem, cublas_library::Math::fixed_point, execution, phases);
  return {};
}

GRADUS_MATMUL_RUNG(cublas_emulated)

}  // namespace gradus::matmul_detail
