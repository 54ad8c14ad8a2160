// What the copy engine is told of matrices in global memory (a tensor map), so that it finds a box of their elements by
// row and column, leaves out what lies beyond the borders, and permutes the units of 16 bytes on the way to shared
// memory.
//
// Source: NVIDIA, CUDA Driver API: cuTensorMapEncodeTiled.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/check.hpp"

namespace gradus::cuda {

/// Matrices of double, one behind the other; strides in elements.
struct MappedMatrices {
  const double* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t matrices;
  std::int64_t row_stride;
  std::int64_t matrix_stride;  ///< of no meaning where there is one

  /// What the engine asks for: addresses at multiples of 16 bytes, and sizes and strides that are not too large.
  bool can_be_mapped() const {
    constexpr std::int64_t most_lines = std::int64_t{1} << 31;
    constexpr std::int64_t most_stride = std::int64_t{1} << 36;  // 2^40 bytes are too many
    const auto strides = [](std::int64_t stride) { return stride > 0 && stride % 2 == 0 && stride < most_stride; };
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && rows <= most_lines && columns <= most_lines &&
           matrices <= most_lines && strides(row_stride) && (matrices == 1 || strides(matrix_stride));
  }
};

/// For boxes of so many rows and 16 columns of one matrix, whose rows of 128 bytes have their units where swizzled() in
/// warpgroup.cuh says. Beyond the matrix there are zeros.
inline CUtensorMap tensor_map(const MappedMatrices& of, int box_rows) {
  static const auto encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
          "cudaGetDriverEntryPointByVersion");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  }();
  if (encode == nullptr) throw UnsupportedError("the driver has no tensor maps (cuTensorMapEncodeTiled)");
  constexpr std::uint64_t element = sizeof(double);
  const std::int64_t matrix_stride = of.matrices == 1 ? of.row_stride : of.matrix_stride;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(of.columns), static_cast<cuuint64_t>(of.rows),
                              static_cast<cuuint64_t>(of.matrices)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(of.row_stride) * element,
                                static_cast<cuuint64_t>(matrix_stride) * element};
  const cuuint32_t box[] = {16, static_cast<cuuint32_t>(box_rows), 1};
  const cuuint32_t every[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult made = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 3, const_cast<double*>(of.data), sizes, strides,
                               box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                               CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (made != CUDA_SUCCESS)
    throw Error("cuTensorMapEncodeTiled failed with status " + std::to_string(static_cast<int>(made)));
  return map;
}

}  // namespace gradus::cuda
