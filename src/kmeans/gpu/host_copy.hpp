// Rows that are needed in host memory, wherever they are.
#pragma once

#include <utility>

#include "cuda/job.hpp"
#include "execution/gpu_job.hpp"
#include "gradus/array.hpp"

namespace gradus::kmeans_detail {

/// The rows themselves if they are in host memory, otherwise a copy of them in `copy`.
template <class T>
MatrixView<const T> in_host_memory(MatrixView<const T> rows, const char* what, const Execution& execution,
                                   Matrix<T>& copy) {
  if (rows.place().is_host()) return rows;
  if constexpr (cuda::is_compiled) copy = execution::copy_to_host(rows, what, execution);
  else cuda::refuse_without_cuda(what);
  return std::as_const(copy).view();
}

}  // namespace gradus::kmeans_detail
