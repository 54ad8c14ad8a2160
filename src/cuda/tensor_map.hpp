// Tensor maps: descriptions of matrices in global memory for the copy engine. The engine copies a box of elements,
// given by row and column, to shared memory. During the copy, it permutes the 16-byte units within each row of 128
// bytes. swizzled() in warpgroup.cuh returns the place of each unit. Elements outside of a matrix are copied as zeros.
//
// Source: NVIDIA, CUDA Driver API: cuTensorMapEncodeTiled.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "cuda/check.hpp"
#include "gradus/error.hpp"

namespace gradus::cuda {

/// Returns an encoded tensor map. `sizes` are in elements, fastest dimension first; `strides` are in bytes, for all
/// dimensions except the fastest one; `box` is in elements. The encoding function is looked up in the driver at run
/// time.
template <std::size_t dimensions>
CUtensorMap encoded_tensor_map(CUtensorMapDataType type, const void* data, const cuuint64_t (&sizes)[dimensions],
                               const cuuint64_t (&strides)[dimensions - 1], const cuuint32_t (&box)[dimensions],
                               CUtensorMapL2promotion promotion) {
  static const auto encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
          "cudaGetDriverEntryPointByVersion");
    return result == cudaDriverEntryPointSuccess ? reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found) : nullptr;
  }();
  if (encode == nullptr)
    throw UnsupportedError("the GPU's driver does not know maps of tensors: it is older than CUDA 12");
  cuuint32_t every[dimensions];
  for (cuuint32_t& step : every) step = 1;
  CUtensorMap map;
  const CUresult made =
      encode(&map, type, dimensions, const_cast<void*>(data), sizes, strides, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (made != CUDA_SUCCESS)
    throw Error("cuTensorMapEncodeTiled failed with error " + std::to_string(static_cast<int>(made)));
  return map;
}

/// A sequence of matrices of double. Strides are in elements.
struct MappedMatrices {
  const double* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t matrices;
  std::int64_t row_stride;
  std::int64_t matrix_stride;  ///< ignored if there is only one matrix

  /// Returns true if the copy engine supports the addresses (multiples of 16 bytes), sizes and strides.
  bool can_be_mapped() const {
    constexpr std::int64_t most_lines = std::int64_t{1} << 31;
    // In elements of 8 bytes; the engine requires strides below 2^40 bytes.
    constexpr std::int64_t most_stride = std::int64_t{1} << 36;
    const auto strides = [](std::int64_t stride) { return stride > 0 && stride % 2 == 0 && stride < most_stride; };
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && rows <= most_lines && columns <= most_lines &&
           matrices <= most_lines && strides(row_stride) && (matrices == 1 || strides(matrix_stride));
  }
};

/// Returns a map for boxes of `box_rows` rows and 16 columns of a matrix.
inline CUtensorMap tensor_map(const MappedMatrices& of, int box_rows) {
  constexpr std::uint64_t element = sizeof(double);
  const std::int64_t matrix_stride = of.matrices == 1 ? of.row_stride : of.matrix_stride;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(of.columns), static_cast<cuuint64_t>(of.rows),
                              static_cast<cuuint64_t>(of.matrices)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(of.row_stride) * element,
                                static_cast<cuuint64_t>(matrix_stride) * element};
  const cuuint32_t box[] = {16, static_cast<cuuint32_t>(box_rows), 1};
  return encoded_tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT64, of.data, sizes, strides, box,
                            CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
}

/// Returns a map for boxes of `box_rows` rows and 64 columns of a contiguous FP16 matrix. `columns` must be a multiple
/// of 8.
inline CUtensorMap map_of_halves(const __half* matrix, std::int64_t rows, int columns, int box_rows) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(columns) * sizeof(__half)};
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_rows)};
  return encoded_tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, matrix, sizes, strides, box,
                            CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
}

}  // namespace gradus::cuda
