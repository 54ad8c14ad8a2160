// Buffers, transfers and checks on a GPU; without one, the tests say so and are skipped.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "cuda/on_gpu.hpp"
#include "cuda/transfer.hpp"

namespace gradus::cuda {
namespace {

TEST(cuda_check, names_the_call_and_the_place) {
  try {
    check(cudaErrorInvalidValue, "cudaSomething");
    FAIL() << "an error passed";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("cudaSomething failed"), std::string::npos) << message;
    EXPECT_NE(message.find("cudaErrorInvalidValue"), std::string::npos) << message;
    EXPECT_NE(message.find("cuda_test.cpp:"), std::string::npos) << message;
  }
  EXPECT_THROW(check(cudaErrorNoDevice, "cudaSomething"), UnsupportedError);
  EXPECT_NO_THROW(check(cudaSuccess, "cudaSomething"));
}

TEST(cuda_memory, refuses_sizes_out_of_range) {
  EXPECT_THROW(DeviceBuffer<double>(-1), Error);
  EXPECT_THROW(DeviceBuffer<double>(std::numeric_limits<std::int64_t>::max()), Error);
  EXPECT_THROW(PinnedBuffer<double>(-1), Error);
}

TEST_F(OnGpu, says_what_was_asked_for_and_what_is_free) {
  try {
    DeviceBuffer<char> buffer(std::int64_t{1} << 50);
    FAIL() << "a pebibyte was allocated";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("1125899906842624 bytes"), std::string::npos) << error.what();
  }
  EXPECT_THROW(require_free_memory(std::uint64_t{1} << 50), Error);
  EXPECT_NO_THROW(require_free_memory(1));
}

TEST_F(OnGpu, a_copy_does_not_leave_its_buffer) {
  const Stream stream;
  DeviceBuffer<int> buffer(10);
  std::vector<int> host(11);
  EXPECT_THROW(buffer.copy_from_host(host.data(), 11, stream), Error);
  EXPECT_THROW(buffer.copy_to_host(host.data(), 11, stream), Error);
}

// Below and above the size from which transfers are staged, with and without room between the rows.
TEST_F(OnGpu, matrices_come_back_as_they_went) {
  const Stream stream;
  Staging staging;  // one for all: what it held before does not matter
  for (const std::int64_t rows : {1, 1000, 3000001})
    for (const std::int64_t padding : {0, 2}) {
      constexpr std::int64_t columns = 3;
      Buffer<float> host(rows * (columns + padding), -1.0f);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
          host[row * (columns + padding) + column] = static_cast<float>((row * columns + column) % 16777213);
      DeviceBuffer<float> device(rows * columns);
      upload(MatrixView<const float>(host.data(), rows, columns, columns + padding), device, staging, 3, stream);
      Buffer<float> back(rows * columns, -2.0f);
      download(device, back.data(), back.size(), staging, 3, stream);
      std::int64_t wrong = 0;
      for (std::int64_t index = 0; index < back.size(); ++index)
        wrong += back[index] != static_cast<float>(index % 16777213);
      EXPECT_EQ(wrong, 0) << rows << " rows, padding " << padding;
    }
}

TEST_F(OnGpu, a_matrix_that_does_not_fit_is_refused) {
  const Stream stream;
  Staging staging;
  const Matrix<double> matrix(4, 3);
  DeviceBuffer<double> device(11);
  EXPECT_THROW(upload(matrix.view(), device, staging, 1, stream), Error);
}

}  // namespace
}  // namespace gradus::cuda
