// Access to rows in host memory.
#pragma once

#include <utility>

#include "gradus/array.hpp"
#include "kmeans/points/gpu_source.hpp"

namespace gradus::kmeans_detail {

/// Returns the rows if they are in host memory. Otherwise copies them to `copy` and returns the copy.
template <class T>
MatrixView<const T> in_host_memory(MatrixView<const T> rows, const char* what, const Execution& execution,
                                   Matrix<T>& copy) {
  if (rows.place().is_host()) return rows;
  copy = copy_of_gpu_rows(rows, what, execution);
  return std::as_const(copy).view();
}
/// Overload for points. Stored points are always in host memory.
template <class T>
PointRows<T> in_host_memory(const PointRows<T>& rows, const char* what, const Execution& execution, Matrix<T>& copy) {
  return rows.is_stored() ? rows : in_host_memory(rows.shape(), what, execution, copy);
}

}  // namespace gradus::kmeans_detail
