// Functions for memory of which the caller knows only the address. Plain C++, also in builds without CUDA.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"

namespace gradus::execution {

/// Returns the GPU whose memory contains the address (managed memory included), or nullopt for other memory.
std::optional<int> gpu_of_memory(const void* address);

/// Waits until all work on the stream (a cudaStream_t) of this GPU is complete.
void wait_for_stream(int gpu, void* stream);

struct NamedPlace;

/// Waits for the work on Execution::stream of each GPU that holds data of a job on several GPUs. Throws
/// UnsupportedError if such a GPU does not exist.
void wait_for_data(std::span<const NamedPlace> places, const Execution& execution);

/// Returns the place that an estimate for one of the request's GPUs assumes for data: host memory, unless the data is
/// on each of these GPUs. The other GPUs get a copy.
MemoryPlace place_for_each_gpu(MemoryPlace place, const Execution& execution);

/// Copies host memory to this GPU, after the work on `stream`, a cudaStream_t of the GPU. Returns when the copy is
/// complete.
void copy_to_gpu(void* to, const void* from, std::size_t bytes, int gpu, void* stream);

/// Copies rows from the memory of any GPU to the memory of the GPU `to`, and returns the copy. A row has `row_bytes`
/// bytes. In the original, consecutive rows begin `stride_bytes` apart. In the copy, there are no gaps between rows.
/// Returns when the copy is complete.
std::shared_ptr<void> copy_between_gpus(int to, const void* from, std::size_t stride_bytes, std::size_t row_bytes,
                                        std::int64_t rows);

/// The rows of a view, for a job on a GPU. If the rows are on another GPU, holds a copy of them; otherwise refers to
/// the given rows.
template <class T>
class RowsForGpu {
 public:
  RowsForGpu(MatrixView<const T> rows, int gpu) : rows_(rows) {
    if (rows.place().is_host() || rows.place().gpu == gpu || rows.rows() == 0) return;
    copy_ = copy_between_gpus(gpu, rows.data(), static_cast<std::size_t>(rows.row_stride()) * sizeof(T),
                              static_cast<std::size_t>(rows.columns()) * sizeof(T), rows.rows());
    rows_ = {static_cast<const T*>(copy_.get()), rows.rows(), rows.columns(), MemoryPlace::on_gpu(gpu)};
  }

  MatrixView<const T> view() const { return rows_; }

 private:
  MatrixView<const T> rows_;
  std::shared_ptr<void> copy_;
};

/// The elements of a view, for a job on a GPU. If the elements are on another GPU, holds a copy of them; otherwise
/// refers to the given elements.
template <class T>
class ElementsForGpu {
 public:
  ElementsForGpu(VectorView<const T> elements, int gpu)
      : column_({elements.data(), elements.size(), 1, 1, elements.place()}, gpu) {}

  VectorView<const T> view() const {
    const MatrixView<const T> column = column_.view();
    return {column.data(), column.rows(), column.place()};
  }

 private:
  RowsForGpu<T> column_;
};

}  // namespace gradus::execution
