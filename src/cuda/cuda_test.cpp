// Buffers, transfers and checks on a GPU; without one, the tests say so and are skipped.
#include <algorithm>
#include <numeric>
#include <vector>

#include "cuda/arena.hpp"
#include "cuda/portions.hpp"
#include "cuda/transfer.hpp"
#include "tests/on_gpu.hpp"

namespace gradus::cuda {
namespace {

using tests::OnGpu;

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

// Jobs one after the other and at once: memory that one gave back serves the next, and never two at the same time.
TEST_F(OnGpu, staging_memory_is_kept_for_the_next_job) {
  unsigned char* first = nullptr;
  {
    Staging staging;
    first = staging.part(0).memory.data();
    EXPECT_EQ(staging.part(2).memory.data(), first);
    EXPECT_NE(staging.part(1).memory.data(), first);
  }
  Staging one;
  Staging other;
  std::vector<unsigned char*> parts;
  for (Staging* staging : {&one, &other})
    for (const int turn : {0, 1}) parts.push_back(staging->part(turn).memory.data());
  EXPECT_EQ(std::ranges::count(parts, first), 1);
  std::ranges::sort(parts);
  EXPECT_EQ(std::ranges::unique(parts).begin(), parts.end());
}

TEST_F(OnGpu, parts_of_an_arena_lie_apart_and_within_it) {
  Arena arena(part_bytes(3, 8) + part_bytes(0, 4) + part_bytes(65, 4));
  const Stream stream;
  double* const numbers = zero_part<double>(arena, 3, stream);
  const float* const none = arena.take<float>(0);
  const std::vector<int> values(65, 7);
  const int* const copy = copy_part(arena, std::span<const int>(values), stream);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers) % 256, 0u);
  EXPECT_EQ(static_cast<const void*>(none), static_cast<const void*>(copy));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy) - reinterpret_cast<std::uintptr_t>(numbers), 256u);
  std::vector<int> back(65);
  fetch_part<int>(copy, back, stream);
  EXPECT_EQ(back, values);
  EXPECT_THROW(arena.take<char>(1), Error);
}

TEST_F(OnGpu, portions_cover_the_work_and_honour_a_stop_request) {
  const Stream stream;
  std::stop_source source;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const auto note = [&](std::int64_t first, std::int64_t count) { ranges.emplace_back(first, count); };
  Portions whole(source.get_token(), 1000);
  EXPECT_TRUE(whole.is_one_launch(100, 10));
  whole.run(100, 10, 7, stream, note);
  EXPECT_EQ(ranges, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 100}}));
  ranges.clear();
  Portions parts(source.get_token(), 1000);
  EXPECT_FALSE(parts.is_one_launch(100'000, 10));
  parts.run(100'000, 10, 7, stream, note);
  EXPECT_GT(ranges.size(), 1u);
  std::int64_t end = 0;
  for (const auto& [first, count] : ranges) {
    EXPECT_EQ(first, end);
    EXPECT_EQ(first % 7, 0);
    EXPECT_GT(count, 0);
    end = first + count;
  }
  EXPECT_EQ(end, 100'000);
  ranges.clear();
  Portions stopped(source.get_token(), 1000);
  const auto stop = [&](std::int64_t first, std::int64_t count) {
    note(first, count);
    source.request_stop();
  };
  EXPECT_THROW(stopped.run(100'000, 10, 7, stream, stop), InterruptedError);
  EXPECT_EQ(ranges.size(), 1u);
  EXPECT_THROW(whole.run(100, 10, 7, stream, note), InterruptedError);
  EXPECT_EQ(ranges.size(), 1u);
}

TEST_F(OnGpu, transfers_honour_a_stop_request) {
  const Stream stream;
  std::stop_source source;
  Staging staging(source.get_token());
  const Matrix<float> rows(1 << 20, 8);
  DeviceBuffer<float> there(rows.rows() * rows.columns());
  upload(rows.view(), there, staging, 1, stream);
  source.request_stop();
  EXPECT_THROW(upload(rows.view(), there, staging, 1, stream), InterruptedError);
  Buffer<float> back(there.size());
  EXPECT_THROW(download(there, back.data(), there.size(), staging, 1, stream), InterruptedError);
}

}  // namespace
}  // namespace gradus::cuda
