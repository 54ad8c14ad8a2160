// How the copy engine finds its way in a matrix of FP16: from where parts of it go to shared memory, and how they lie
// there.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "cuda/check.hpp"
#include "gradus/error.hpp"

namespace gradus::cuda {

/// Parts of `part_rows` rows and 64 columns of a matrix on the current GPU, in shared memory as warpgroup.cuh has a
/// tile: rows of 128 bytes with permuted units. `columns` is a multiple of 8, and the length of a row in memory. The
/// function is the driver's, which is not there when the program starts.
inline CUtensorMap map_of_halves(const __half* matrix, std::int64_t rows, int columns, int part_rows) {
  using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                              const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
#else
  check(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found),
        "cudaGetDriverEntryPoint");
#endif
  if (found != cudaDriverEntryPointSuccess || !function)
    throw UnsupportedError("the GPU's driver does not know maps of tensors: it is older than CUDA 12");
  CUtensorMap map;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t row_bytes[] = {static_cast<cuuint64_t>(columns) * sizeof(__half)};
  const cuuint32_t part[] = {64, static_cast<cuuint32_t>(part_rows)};
  const cuuint32_t steps[] = {1, 1};
  const CUresult result = reinterpret_cast<Encode>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<__half*>(matrix), sizes, row_bytes, part, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw Error("cuTensorMapEncodeTiled failed with error " + std::to_string(static_cast<int>(result)));
  return map;
}

}  // namespace gradus::cuda
