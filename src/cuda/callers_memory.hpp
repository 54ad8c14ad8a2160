// Memory of a GPU that belongs to the caller: whether it is what its view says, from when on it may be read, and copies
// of rows that lie there.
#pragma once

#include "cuda/stream.hpp"
#include "gradus/array.hpp"
#include "gradus/execution.hpp"

namespace gradus::cuda {

/// UsageError that begins with `what` where the address is not memory of this GPU, whatever the view of it says.
void require_memory_of(const void* address, int gpu, const char* what);

/// Returns when what the caller put into Execution::stream before the call is done.
void wait_for_caller(const Execution& execution);

/// Copies rows to contiguous ones; to host memory it may return before they are there.
template <class T>
void copy_rows(MatrixView<const T> from, T* to, cudaMemcpyKind kind, const Stream& stream) {
  if (from.rows() == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(from.columns()) * sizeof(T);
  check(cudaMemcpy2DAsync(to, bytes, from.data(), static_cast<std::size_t>(from.row_stride()) * sizeof(T), bytes,
                          static_cast<std::size_t>(from.rows()), kind, stream),
        "cudaMemcpy2DAsync");
}

}  // namespace gradus::cuda
