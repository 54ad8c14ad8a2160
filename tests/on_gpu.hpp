// Shared parts of tests that use GPU memory: skipping without a GPU, and copies of host memory on the GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "cuda/memory.hpp"
#include "cuda/pinned.hpp"
#include "execution/devices.hpp"
#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "tests/helpers.hpp"

namespace gradus::tests {

inline constexpr MemoryPlace gpu_place = MemoryPlace::on_gpu(0);

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = execution::why_no_gpu(execution::this_machine()); !reason.empty())
      skip_for_want_of_gpu(reason);
  }
};

/// A copy of host memory on GPU 0. The copy begins `offset` elements after the start of an allocation. Elements before
/// the rows and between the rows must not be read and are NaN.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(MatrixView<const T> rows, std::int64_t offset = 0)
      : rows_(rows), offset_(offset), memory_(offset + rows.rows() * rows.row_stride()) {
    const cuda::Stream stream;
    Buffer<T> host(memory_.size());
    std::fill(host.begin(), host.end(), std::numeric_limits<T>::quiet_NaN());
    for (std::int64_t row = 0; row < rows.rows(); ++row)
      std::copy_n(rows.row(row), rows.columns(), host.data() + offset + row * rows.row_stride());
    memory_.copy_from_host(host.data(), memory_.size(), stream);
    stream.wait();
  }
  explicit OnDevice(VectorView<const T> values) : OnDevice(MatrixView<const T>(values.data(), values.size(), 1)) {}

  MatrixView<const T> view() const {
    return {memory_.data() + offset_, rows_.rows(), rows_.columns(), rows_.row_stride(), gpu_place};
  }
  VectorView<const T> vector() const { return {memory_.data() + offset_, rows_.rows(), gpu_place}; }

 private:
  MatrixView<const T> rows_;
  std::int64_t offset_;
  cuda::DeviceBuffer<T> memory_;
};

/// A copy of host memory on GPU 0. A stream makes the copy after tens of milliseconds of other work. Until then, all
/// elements are NaN.
template <class T>
class LateOnDevice {
 public:
  explicit LateOnDevice(const Matrix<T>& rows)
      : rows_(rows.rows()), columns_(rows.columns()), staged_(rows_ * columns_), memory_(staged_.size()),
        elsewhere_(std::int64_t{1} << 30) {
    std::copy_n(rows.data(), staged_.size(), staged_.data());
    memory_.fill_bytes(0xff, stream_);
    stream_.wait();
    for (int repeat = 0; repeat < 100; ++repeat) elsewhere_.clear(stream_);
    memory_.copy_from_host(staged_.data(), staged_.size(), stream_);
  }

  MatrixView<const T> view() const { return {memory_.data(), rows_, columns_, gpu_place}; }
  /// Returns an execution request that names the stream.
  Execution execution() const {
    Execution execution;
    execution.stream = static_cast<cudaStream_t>(stream_);
    return execution;
  }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  cuda::PinnedBuffer<T> staged_;
  cuda::DeviceBuffer<T> memory_;
  cuda::DeviceBuffer<char> elsewhere_;
  cuda::Stream stream_;  ///< destroyed before the buffers, because its destructor waits for its work
};

}  // namespace gradus::tests
