// Makes matrices readable for the CPU, even if they are on a GPU.
#pragma once

#include <cstdint>

#include "execution/gpu_job.hpp"
#include "matmul/views.hpp"

namespace gradus::matmul_detail {

/// Provides an address at which the CPU can read a view. For a view in host memory, this is the view's address. For a
/// view on a GPU, it is the address of a copy in host memory. The copy contains everything from the view's first to its
/// last element.
template <class T>
class HostImage {
 public:
  HostImage(MatmulView<const T> view, const char* what, const Execution& execution) : data_(view.data()) {
    if (bytes(view) == 0) return;
    const Extent extent = extent_of(view, what);
    const std::int64_t length = extent.last - extent.first + 1;
    copy_ = execution::copy_to_host(MatrixView<const T>(view.data() + extent.first, 1, length, length, view.place()),
                                    what, execution);
    data_ = copy_.data() - extent.first;
  }
  const T* data() const { return data_; }
  static std::uint64_t bytes(MatmulView<const T> view) {
    if (view.place().is_host() || !has_elements(view)) return 0;
    const Extent extent = extent_of(view, "");
    return static_cast<std::uint64_t>(extent.last - extent.first + 1) * sizeof(T);
  }

 private:
  const T* data_;
  Matrix<T> copy_;
};

}  // namespace gradus::matmul_detail
