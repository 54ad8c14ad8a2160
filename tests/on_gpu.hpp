// What tests with memory of a GPU share: the skip where there is none, and copies there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <typeinfo>

#include "cuda/memory.hpp"
#include "execution/devices.hpp"
#include "gradus/array.hpp"

namespace gradus::tests {

inline constexpr MemoryPlace gpu_place = MemoryPlace::on_gpu(0);

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = execution::why_no_gpu(execution::this_machine()); !reason.empty())
      GTEST_SKIP() << reason;
  }
};

/// A copy of host memory on GPU 0, `offset` elements behind the beginning of an allocation. What no one may look at,
/// before the rows and between them, is NaN.
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

/// The message of the error of class E that `action` throws.
template <class E>
std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const E& error) {
    EXPECT_EQ(typeid(error), typeid(E)) << error.what();
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "an error of another class: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace gradus::tests
