// Transfers matrices between the caller's memory and the job's GPU. `Job` is cuda::Job.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/stop.hpp"
#include "cuda/job.hpp"
#include "matmul/gpu/operands.hpp"
#include "matmul/gpu/turn.hpp"

namespace gradus::matmul_detail {

/// Calls visit(matrix, row, index of the row among all rows) for every row of every matrix, on the job's threads.
template <class T, class Job, class Visit>
void for_packed_rows(const CallerMatrix<T>& given, const Job& job, const Visit& visit) {
  const std::int64_t lines = given.matrices() * given.rows;
  const std::int64_t stretch = core::chunk_length(lines, given.columns, job.threads());
#pragma omp parallel for num_threads(job.threads()) schedule(static)
  for (std::int64_t first = 0; first < lines; first += stretch) {
    if (job.stop().stop_requested()) continue;
    for (std::int64_t line = first; line < std::min(first + stretch, lines); ++line)
      visit(given.operand.at(line / given.rows), line % given.rows, line);
  }
  core::honour_stop(job.stop(), "stopped while matrices were packed");
}

/// Copies matrices from host memory to a buffer in host memory that is contiguous and row-major.
template <class T, class Job>
Buffer<std::remove_const_t<T>> packed(const CallerMatrix<T>& given, const Job& job) {
  Buffer<std::remove_const_t<T>> copy(given.elements());
  for_packed_rows(given, job, [&](const Operand<T>& from, std::int64_t row, std::int64_t line) {
    for (std::int64_t column = 0; column < given.columns; ++column)
      copy[line * given.columns + column] = from(row, column);
  });
  return copy;
}

/// Returns an operand that describes contiguous, row-major matrices at `data`. The matrices have the sizes of `given`.
template <class T, class U>
Operand<U> in_rows(const CallerMatrix<T>& given, U* data) {
  return {data, given.columns, 1, given.matrices() == 1 ? 0 : given.rows * given.columns};
}

/// Returns the operand for matrices that are already on the GPU in the required layout. If a matrix has one row, the
/// stride between its rows has no meaning. If it has one column, the stride between its columns has no meaning. Such
/// strides are set as for contiguous rows.
template <class T>
Operand<T> in_place(const CallerMatrix<T>& given) {
  Operand<T> operand = given.operand;
  operand.column_stride = 1;
  if (given.rows == 1) operand.row_stride = given.columns;
  return operand;
}

/// Copies matrices from host memory into contiguous rows on the job's GPU. On return, the copy is complete or queued in
/// the job's stream. If the matrices must be transposed on the GPU, `unturned` points to scratch memory for as many
/// elements as the matrices have.
template <class T, class Element, class Job>
void fill(const CallerMatrix<T>& given, Transfer transfer, Element* to, Element* unturned, Job& job) {
  switch (transfer) {
    case Transfer::uploaded: job.copy_here(MatrixView<const Element>(*given.lines()), to); break;
    case Transfer::uploaded_and_transposed: {
      const CallerMatrix<T> turned = given.transposed();
      job.copy_here(MatrixView<const Element>(*turned.lines()), unturned);
      turn(Operand<const Element>(in_rows<T, const Element>(turned, unturned).transposed()), in_rows(given, to),
           given.matrices(), given.rows, given.columns, job);
      break;
    }
    default: {
      const Buffer<Element> rows = packed(given, job);
      job.copy_here(MatrixView<const Element>(rows.data(), given.matrices() * given.rows, given.columns), to);
    }
  }
}

/// Returns the matrices in rows of contiguous elements on the job's GPU. If `filled` is false, the elements are not
/// copied. Throws UsageError if a view is not in the memory that it states.
template <class T, class Job>
Operand<T> bring(const CallerMatrix<T>& given, const char* what, bool filled, Job& job) {
  using Element = std::remove_const_t<T>;
  const Transfer transfer = transfer_of(given);
  if (given.there) job.admit(given.operand.data, what);
  if (transfer == Transfer::in_place) return in_place(given);
  Element* const copy = job.memory().template take<Element>(given.elements());
  const Operand<Element> here = in_rows(given, copy);
  const Operand<T> result{copy, here.row_stride, here.column_stride, here.batch_stride};
  if (!filled) return result;
  const auto read_only = [](const Operand<T>& operand) {
    return Operand<const Element>{operand.data, operand.row_stride, operand.column_stride, operand.batch_stride};
  };
  switch (transfer) {
    case Transfer::in_place: break;
    case Transfer::turned:
      turn(read_only(given.operand), here, given.matrices(), given.rows, given.columns, job);
      break;
    case Transfer::uploaded_and_transposed:
      fill(given, transfer, copy, job.memory().template take<Element>(given.elements()), job);
      break;
    default: fill(given, transfer, copy, static_cast<Element*>(nullptr), job);
  }
  return result;
}

/// Copies the results of a variant to the caller's matrices. The variant has written them to the memory that bring()
/// returned.
template <class T, class Job>
void take_back(const Operand<T>& result, const CallerMatrix<T>& given, Job& job) {
  const MatrixView<const T> rows(result.data, given.matrices() * given.rows, given.columns, job.place());
  switch (transfer_of(given)) {
    case Transfer::in_place: break;
    case Transfer::turned:
      turn(Operand<const T>{result.data, result.row_stride, result.column_stride, result.batch_stride}, given.operand,
           given.batches, given.rows, given.columns, job);
      job.stream().wait();
      break;
    case Transfer::uploaded: job.copy_back(rows, *given.lines()); break;
    case Transfer::uploaded_and_transposed:
    case Transfer::packed: {
      Buffer<T> copy(given.elements());
      job.copy_back(rows, MatrixView<T>(copy.data(), rows.rows(), rows.columns()));
      for_packed_rows(given, job, [&](const Operand<T>& to, std::int64_t row, std::int64_t line) {
        for (std::int64_t column = 0; column < given.columns; ++column)
          to(row, column) = copy[line * given.columns + column];
      });
      break;
    }
  }
}

}  // namespace gradus::matmul_detail
