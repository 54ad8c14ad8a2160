// Matrices on their way between the caller's memory and the job's GPU. `Job` is cuda::Job.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/stop.hpp"
#include "cuda/job.hpp"
#include "matmul/gpu/operands.hpp"
#include "matmul/gpu/turn.hpp"

namespace gradus::matmul_detail {

/// Calls visit(matrix, row, number of the row among all) for all rows of all matrices, on the job's threads.
template <class T, class Job, class Visit>
void for_packed_rows(const Given<T>& given, const Job& job, const Visit& visit) {
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

/// Matrices in host memory as rows with nothing between them.
template <class T, class Job>
Buffer<std::remove_const_t<T>> packed(const Given<T>& given, const Job& job) {
  Buffer<std::remove_const_t<T>> copy(given.elements());
  for_packed_rows(given, job, [&](const Operand<T>& from, std::int64_t row, std::int64_t line) {
    for (std::int64_t column = 0; column < given.columns; ++column)
      copy[line * given.columns + column] = from(row, column);
  });
  return copy;
}

/// Rows with nothing between them, at `data`, for matrices like these.
template <class T, class U>
Operand<U> in_rows(const Given<T>& given, U* data) {
  return {data, given.columns, 1, given.matrices() == 1 ? 0 : given.rows * given.columns};
}

/// The matrices where they lie on the GPU already; strides without a meaning are those of rows.
template <class T>
Operand<T> in_place(const Given<T>& given) {
  Operand<T> operand = given.operand;
  operand.column_stride = 1;
  if (given.rows == 1) operand.row_stride = given.columns;
  return operand;
}

/// Copies matrices in host memory to rows with nothing between them on the job's GPU; returns when they are there, or
/// in the job's stream. `unturned`: room there for as many elements, for those that are sent and turned.
template <class T, class Element, class Job>
void fill(const Given<T>& given, Way way, Element* to, Element* unturned, Job& job) {
  switch (way) {
    case Way::sent: job.copy_here(MatrixView<const Element>(*given.lines()), to); break;
    case Way::sent_and_turned: {
      const Given<T> turned = given.transposed();
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

/// The matrices on the job's GPU, with elements side by side in rows. Without `filled`, memory for them that is not
/// written. UsageError for a view that does not lie where it says.
template <class T, class Job>
Operand<T> bring(const Given<T>& given, const char* what, bool filled, Job& job) {
  using Element = std::remove_const_t<T>;
  const Way way = way_of(given);
  if (given.there) job.admit(given.operand.data, what);
  if (way == Way::in_place) return in_place(given);
  Element* const copy = job.memory().template take<Element>(given.elements());
  const Operand<Element> here = in_rows(given, copy);
  const Operand<T> result{copy, here.row_stride, here.column_stride, here.batch_stride};
  if (!filled) return result;
  const auto read_only = [](const Operand<T>& operand) {
    return Operand<const Element>{operand.data, operand.row_stride, operand.column_stride, operand.batch_stride};
  };
  switch (way) {
    case Way::in_place: break;
    case Way::turned: turn(read_only(given.operand), here, given.matrices(), given.rows, given.columns, job); break;
    case Way::sent_and_turned:
      fill(given, way, copy, job.memory().template take<Element>(given.elements()), job);
      break;
    default: fill(given, way, copy, static_cast<Element*>(nullptr), job);
  }
  return result;
}

/// Copies what a variant has written for bring() to where the caller wants it.
template <class T, class Job>
void take_back(const Operand<T>& result, const Given<T>& given, Job& job) {
  const MatrixView<const T> rows(result.data, given.matrices() * given.rows, given.columns, job.place());
  switch (way_of(given)) {
    case Way::in_place: break;
    case Way::turned:
      turn(Operand<const T>{result.data, result.row_stride, result.column_stride, result.batch_stride}, given.operand,
           given.batches, given.rows, given.columns, job);
      job.stream().wait();
      break;
    case Way::sent: job.copy_back(rows, *given.lines()); break;
    case Way::sent_and_turned:
    case Way::packed: {
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
