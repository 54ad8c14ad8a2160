// Describes where the caller's matrices are and how they are brought to the GPU. Variants expect rows of contiguous
// elements on the GPU. This file is plain C++, so that builds without CUDA can estimate memory.
#pragma once

#include <cstdint>
#include <optional>

#include "core/checked.hpp"
#include "cuda/sizes.hpp"
#include "gradus/array.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// A matrix, or a batch of matrices, in the caller's layout.
template <class T>
struct CallerMatrix {
  Operand<T> operand;
  std::int64_t batches = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool there = false;  ///< true if the matrix is on the job's GPU

  CallerMatrix transposed() const { return {operand.transposed(), batches, columns, rows, there}; }
  /// Returns the number of distinct matrices in memory.
  std::int64_t matrices() const { return operand.batch_stride == 0 ? 1 : batches; }
  std::int64_t elements() const { return matrices() * rows * columns; }
  /// Returns a view of the rows of all matrices as one matrix. Returns nothing if the rows are not evenly spaced.
  std::optional<MatrixView<T>> lines() const {
    const std::int64_t between_rows = rows > 1 ? operand.row_stride : matrices() > 1 ? operand.batch_stride : columns;
    if (!has_rows() || between_rows < columns) return std::nullopt;
    if (rows > 1 && matrices() > 1 && operand.batch_stride != rows * operand.row_stride) return std::nullopt;
    return MatrixView<T>(operand.data, matrices() * rows, columns, between_rows);
  }
  /// Returns true if rows are contiguous and do not overlap.
  bool has_rows() const {
    return (columns == 1 || operand.column_stride == 1) && (rows == 1 || operand.row_stride >= columns) &&
           operand.batch_stride >= 0;
  }
};

/// The transfer that brings a matrix to the GPU in the required layout.
enum class Transfer : std::uint8_t {
  in_place,                 ///< already on the GPU, used without a copy
  turned,                   ///< already on the GPU, rearranged on the GPU
  uploaded,                 ///< uploaded row by row
  uploaded_and_transposed,  ///< uploaded column by column, then transposed on the GPU
  packed                    ///< packed in host memory, then uploaded
};

template <class T>
Transfer transfer_of(const CallerMatrix<T>& given) {
  if (given.there) return given.has_rows() ? Transfer::in_place : Transfer::turned;
  if (given.lines()) return Transfer::uploaded;
  // A result (T not const) must also be transferred back to the caller. A packed copy in host memory makes the transfer
  // back simple.
  return std::is_const_v<T> && given.transposed().lines() ? Transfer::uploaded_and_transposed : Transfer::packed;
}

template <class T>
core::Memory memory_of(const CallerMatrix<T>& given) {
  const auto bytes = cuda::part_bytes(given.elements(), sizeof(T));
  switch (transfer_of(given)) {
    case Transfer::in_place: return {};
    case Transfer::turned:
    case Transfer::uploaded: return {.device = bytes};
    case Transfer::uploaded_and_transposed: return {.device = 2 * bytes};
    case Transfer::packed: return {.host = bytes, .device = bytes};
  }
  return {};
}

/// The operands of C = A B or of the transposed product C' = B' A', whichever needs less memory for copies.
template <class T>
struct GpuOperands {
  Problem<T> problem;  ///< in the caller's layout
  CallerMatrix<const T> a;
  CallerMatrix<const T> b;
  CallerMatrix<T> c;

  core::Memory memory() const {
    core::Memory sum;
    for (const core::Memory& one : {memory_of(a), memory_of(b), memory_of(c)}) {
      sum.host += one.host;
      sum.device += one.device;
    }
    return sum;
  }
};

struct OnGpu {
  bool a = false;
  bool b = false;
  bool c = false;
};

template <class T>
GpuOperands<T> gpu_operands(const Problem<T>& problem, const OnGpu& there) {
  const auto as_they_are = [](const Problem<T>& one, bool a_there, bool b_there, bool c_there) {
    return GpuOperands<T>{one,
                          {one.a, one.batches, one.m, one.k, a_there},
                          {one.b, one.batches, one.k, one.n, b_there},
                          {one.c, one.batches, one.m, one.n, c_there}};
  };
  const GpuOperands<T> straight = as_they_are(problem, there.a, there.b, there.c);
  const GpuOperands<T> transposed = as_they_are(problem.transposed(), there.b, there.a, there.c);
  const auto cost = [](const GpuOperands<T>& operands) { return operands.memory().host + operands.memory().device; };
  return cost(transposed) < cost(straight) ? transposed : straight;
}

/// Returns an upper bound of the memory that it takes to transfer the matrices of a product with this shape. The bound
/// holds for every layout.
inline core::Memory most_to_bring(const Shape& shape, bool there) {
  const auto bytes = [&](std::int64_t rows, std::int64_t columns) {
    return cuda::part_bytes(shape.batches * rows * columns, static_cast<std::size_t>(shape.element_bytes));
  };
  const std::uint64_t read = bytes(shape.m, shape.k) + bytes(shape.k, shape.n);
  const std::uint64_t written = bytes(shape.m, shape.n);
  if (there) return {.device = read + written};
  return {.host = read + written, .device = 2 * read + written};
}

}  // namespace gradus::matmul_detail
