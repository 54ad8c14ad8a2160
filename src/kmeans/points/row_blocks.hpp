// Blocks of points that are in host memory, or on the GPU in the type in which they are stored. While kernels read a
// block on the GPU, the next block is copied or widened.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kmeans/points/cuda_points.hpp"

namespace gradus::kmeans_detail {

/// Owns two buffers in GPU memory, each with room for the rows of a block. Rows in a buffer have no gaps and begin at a
/// multiple of 16 bytes.
template <class T>
class RowBlocks {
 public:
  /// `work` is the stream of the kernels that read the blocks.
  RowBlocks(const GpuPoints<T>& points, const cuda::Stream& work)
      : points_(points),
        work_(work), buffers_{cuda::DeviceBuffer<T>(points.plan().block_rows * points.rows().columns() + quad),
                              cuda::DeviceBuffer<T>(points.plan().block_rows * points.rows().columns() + quad)} {}

  std::int64_t count() const { return points_.plan().blocks; }
  std::int64_t first(std::int64_t block) const { return block * points_.plan().block_rows; }
  std::int64_t rows(std::int64_t block) const {
    return std::min(points_.plan().block_rows, points_.rows().rows() - first(block));
  }
  /// Returns the rows of a block where they are. Kernels may read some of them.
  DeviceRows<T> source(std::int64_t block) const { return device_rows(points_).slice(first(block), rows(block)); }

  /// Enqueues a copy of a block, unless a buffer holds it. The buffer of the block in work stays unchanged.
  void ask_for(std::int64_t block) {
    if (is_held(block)) return;
    const int buffer = 1 - current_;
    cuda::check(cudaStreamWaitEvent(copies_, used_[buffer]), "cudaStreamWaitEvent");
    points_.copy_rows(first(block), rows(block), buffers_[buffer].data(), copies_);
    copied_[buffer].record(copies_);
    held_[buffer] = block;
  }

  /// Begins the work on a block. Returns its rows, which later kernels in the stream of the work may read.
  const T* begin(std::int64_t block) {
    ask_for(block);
    return enter(held_[0] == block ? 0 : 1).data();
  }
  /// Begins the work on a block of which kernels write the rows that they need. Returns room for the whole block.
  T* begin_without_rows() {
    held_[1 - current_] = none;
    return enter(1 - current_).data();
  }
  /// Ends the work on a block after its last kernel is enqueued. Returns when the work on the block before is complete,
  /// so that at most two blocks are in work and stop requests take effect soon.
  void end() {
    used_[current_].record(work_);
    used_[1 - current_].wait();
  }

 private:
  static constexpr std::int64_t none = -1;
  static constexpr std::int64_t quad = 16 / static_cast<std::int64_t>(sizeof(T));

  bool is_held(std::int64_t block) const { return held_[0] == block || held_[1] == block; }
  cuda::DeviceBuffer<T>& enter(int buffer) {
    current_ = buffer;
    cuda::check(cudaStreamWaitEvent(work_, copied_[buffer]), "cudaStreamWaitEvent");
    return buffers_[buffer];
  }

  const GpuPoints<T>& points_;
  const cuda::Stream& work_;
  cuda::DeviceBuffer<T> buffers_[2];
  cuda::Event copied_[2];
  cuda::Event used_[2];
  std::int64_t held_[2] = {none, none};  ///< the block whose rows are complete in each buffer
  int current_ = 1;                      ///< the buffer of the block in work
  cuda::Stream copies_;                  ///< destroyed first, because its destructor waits for the copies
};

}  // namespace gradus::kmeans_detail
