// Large host memory to the GPU and back, through two pinned buffers in turn: while one travels, the threads of the
// processor fill or empty the other. Ordinary memory would be copied by the driver, on one thread and without overlap.
#pragma once

#include <cstdint>

#include "cuda/memory.hpp"
#include "gradus/array.hpp"

namespace gradus::cuda {

/// Bytes of pinned memory that a transfer takes.
inline constexpr std::int64_t staging_bytes = 2 * (std::int64_t{16} << 20);

/// Copies the rows, without what may lie between them, to rows * columns elements at `to`. Returns when all is there.
template <class T>
void upload(MatrixView<const T> from, DeviceBuffer<T>& to, int threads, const Stream& stream);

/// Copies `count` elements to ordinary host memory.
template <class T>
void download(const DeviceBuffer<T>& from, T* to, std::int64_t count, int threads, const Stream& stream);

/// Throws gradus::Error where the current GPU has less than `bytes` free, with both numbers.
void require_free_memory(std::uint64_t bytes);

}  // namespace gradus::cuda
