// Tests buffers, transfers and checks on a GPU. Without a GPU, the tests are skipped.
#include <algorithm>
#include <numeric>
#include <vector>

#include "cpu/column_ranges.hpp"
#include "cuda/arena.hpp"
#include "cuda/job.hpp"
#include "cuda/portions.hpp"
#include "cuda/transfer.hpp"
#include "tests/on_gpu.hpp"

namespace gradus::cuda {
namespace {

using tests::error_of;
using tests::gpu_place;
using tests::LateOnDevice;
using tests::OnDevice;
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
  EXPECT_THROW(check(cudaErrorMemoryAllocation, "cudaSomething"), OutOfMemoryError);
  EXPECT_NO_THROW(check(cudaSuccess, "cudaSomething"));
}

TEST(cuda_memory, refuses_sizes_out_of_range) {
  EXPECT_THROW(DeviceBuffer<double>(-1), OutOfMemoryError);
  EXPECT_THROW(DeviceBuffer<double>(std::numeric_limits<std::int64_t>::max()), OutOfMemoryError);
  EXPECT_THROW(PinnedBuffer<double>(-1), OutOfMemoryError);
}

TEST_F(OnGpu, says_what_was_asked_for_and_what_is_free) {
  try {
    DeviceBuffer<char> buffer(std::int64_t{1} << 50);
    FAIL() << "a pebibyte was allocated";
  } catch (const OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("1125899906842624 bytes"), std::string::npos) << error.what();
  }
  EXPECT_THROW(require_free_memory(std::uint64_t{1} << 50), OutOfMemoryError);
  EXPECT_NO_THROW(require_free_memory(1));
}

TEST_F(OnGpu, a_copy_does_not_leave_its_buffer) {
  const Stream stream;
  DeviceBuffer<int> buffer(10);
  std::vector<int> host(11);
  EXPECT_THROW(buffer.copy_from_host(host.data(), 11, stream), Error);
  EXPECT_THROW(buffer.copy_to_host(host.data(), 11, stream), Error);
}

// Tests sizes below and above the threshold for staged transfers, with and without gaps between the rows.
TEST_F(OnGpu, matrices_come_back_as_they_went) {
  const Stream stream;
  Staging staging;  // all cases share this memory, because its earlier contents must not matter
  for (const std::int64_t rows : {1, 1000, 20011, 3000001})
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

TEST_F(OnGpu, narrow_numbers_come_back_wide) {
  const Stream stream;
  Staging staging;
  const auto check = [&]<class Narrow>(Narrow) {
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{7}, std::int64_t{50021}, std::int64_t{30000001}}) {
      Buffer<Narrow> host(count);
      for (std::int64_t index = 0; index < count; ++index) host[index] = static_cast<Narrow>(index % 65521);
      DeviceBuffer<Narrow> there(count);
      there.copy_from_host(host.data(), count, stream);
      stream.wait();
      Buffer<std::int32_t> back(count, -1);
      download(std::as_const(there).data(), back.data(), count, staging, 11, stream);
      EXPECT_TRUE(std::ranges::equal(back, host)) << count;
    }
  };
  check(std::uint8_t{});
  check(std::uint16_t{});
}

TEST_F(OnGpu, a_matrix_that_does_not_fit_is_refused) {
  const Stream stream;
  Staging staging;
  const Matrix<double> matrix(4, 3);
  DeviceBuffer<double> device(11);
  EXPECT_THROW(upload(matrix.view(), device, staging, 1, stream), Error);
}

// Tests jobs that run one after another, and jobs that run at the same time. A job must reuse the memory that an
// earlier job returned, but two jobs must not use the same memory at the same time.
TEST_F(OnGpu, staging_memory_is_kept_for_the_next_job) {
  unsigned char* first = nullptr;
  {
    Staging staging;
    first = staging.part(0).memory.data();
    EXPECT_EQ(staging.part(staging_parts).memory.data(), first);
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

// ------------------------------------------------------------------------------------------------ the job

/// Returns a rows x columns matrix whose neighbouring elements differ.
template <class T>
Matrix<T> some_rows(std::int64_t rows, std::int64_t columns) {
  Matrix<T> matrix(rows, columns);
  for (std::int64_t index = 0; index < rows * columns; ++index) matrix.data()[index] = static_cast<T>(index % 16777213);
  return matrix;
}

template <class T>
MatrixView<const T> read_only(const Matrix<T>& matrix) {
  return matrix.view();
}

template <class T>
bool same(MatrixView<const T> one, MatrixView<const T> other) {
  if (one.rows() != other.rows() || one.columns() != other.columns()) return false;
  for (std::int64_t row = 0; row < one.rows(); ++row)
    if (!std::equal(one.row(row), one.row(row) + one.columns(), other.row(row))) return false;
  return true;
}

TEST(cuda_job, only_host_memory_takes_room_on_the_gpu) {
  const Matrix<double> matrix(5, 7);
  EXPECT_EQ(Job::bytes_to_bring(read_only(matrix)), part_bytes(35, 8));
  EXPECT_EQ(Job::bytes_to_bring(MatrixView<const double>(matrix.data(), 5, 7, gpu_place)), 0u);
  EXPECT_EQ(Job::bytes_to_bring(VectorView<const double>(matrix.data(), 35)), part_bytes(35, 8));
  EXPECT_EQ(Job::bytes_to_bring(VectorView<const double>(matrix.data(), 35, gpu_place)), 0u);
  EXPECT_EQ(Job::bytes_to_bring(VectorView<const double>()), 0u);
}

template <class T>
class OnGpuOf : public OnGpu {};
using JobTypes = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(OnGpuOf, JobTypes);

// Tests sizes below and above the threshold for staged transfers, with and without gaps between the rows. Results go to
// ordinary memory, to rows with gaps, and to GPU memory.
TYPED_TEST(OnGpuOf, a_job_brings_views_and_takes_results_back) {
  using T = TypeParam;
  for (const std::int64_t rows : {0, 1, 1000, 300001})
    for (const std::int64_t padding : {0, 2}) {
      constexpr std::int64_t columns = 3;
      const Matrix<T> wide = some_rows<T>(rows, columns + padding);
      const MatrixView<const T> from(wide.data(), rows, columns, columns + padding);
      Job job({}, 3, Job::bytes_to_bring(from));
      const MatrixView<const T> there = job.bring(from, "rows");
      EXPECT_EQ(there.place(), gpu_place);
      EXPECT_TRUE(there.contiguous());
      EXPECT_THROW(job.memory().template take<char>(1), Error);
      EXPECT_TRUE(same<T>(read_only(job.copy_to_host(there)), from));
      Matrix<T> back(rows, columns + padding);
      job.copy_back(there, MatrixView<T>(back.data(), rows, columns, columns + padding));
      EXPECT_TRUE(same<T>({back.data(), rows, columns, columns + padding}, from)) << rows << ", padding " << padding;
      DeviceBuffer<T> elsewhere(rows * (columns + padding));
      const MatrixView<T> rows_there(elsewhere.data(), rows, columns, columns + padding, gpu_place);
      job.copy_back(there, rows_there);
      const MatrixView<const T> same_rows = job.bring(MatrixView<const T>(rows_there), "rows");
      EXPECT_EQ(same_rows.data(), elsewhere.data());
      EXPECT_EQ(same_rows.row_stride(), columns + padding);
      EXPECT_TRUE(same<T>(read_only(job.copy_to_host(same_rows)), from));
      DeviceBuffer<T> closed_up(rows * columns);
      job.copy_here(same_rows, closed_up.data());
      EXPECT_TRUE(same<T>(read_only(job.copy_to_host(MatrixView<const T>(closed_up.data(), rows, columns))), from));
    }
}

TEST_F(OnGpu, a_job_says_what_it_needs_and_what_is_free) {
  const std::string message = error_of<OutOfMemoryError>([] { Job({}, 1, std::uint64_t{1} << 50); });
  EXPECT_NE(message.find("1125899906842624 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("are free"), std::string::npos) << message;
}

TEST_F(OnGpu, a_job_refuses_views_that_lie_elsewhere) {
  Job job({}, 1);
  const Matrix<float> matrix = some_rows<float>(4, 3);
  const MatrixView<const float> lie(matrix.data(), 4, 3, gpu_place);
  EXPECT_EQ(error_of<UsageError>([&] { job.bring(lie, "edges"); }),
            "edges: the view says that they are on GPU 0, but their address is not memory of a GPU");
  EXPECT_THROW(job.admit(matrix.data(), "distances"), UsageError);
}

TEST_F(OnGpu, a_job_waits_for_the_callers_stream) {
  const Matrix<float> matrix = some_rows<float>(1000, 3);
  const LateOnDevice<float> late(matrix);
  Job job(late.execution(), 1);
  EXPECT_TRUE(same(read_only(job.copy_to_host(job.bring(late.view(), "rows"))), read_only(matrix)));
}

TEST_F(OnGpu, a_job_finds_ranges) {
  Matrix<double> matrix = some_rows<double>(5000, 3);
  matrix(7, 1) = -3.5;
  const auto ranges = [&](std::uint64_t bytes) {
    const OnDevice<double> there(matrix.view());
    Job job({}, 1, bytes);
    if (bytes > 0) job.reserve_scratch(column_range_words(3));
    return job.column_ranges(job.bring(there.view(), "rows"), "rows");
  };
  const core::ColumnRanges truth = cpu::column_ranges<double>(matrix.view(), "rows", 1);
  for (const std::uint64_t bytes : {std::uint64_t{0}, part_bytes(column_range_words(3), 8)}) {
    EXPECT_EQ(ranges(bytes).lowest, truth.lowest);
    EXPECT_EQ(ranges(bytes).highest, truth.highest);
  }
  matrix(4321, 2) = std::numeric_limits<double>::infinity();
  const std::string message = error_of<InputError>([&] { ranges(0); });
  EXPECT_EQ(message, error_of<InputError>([&] { cpu::column_ranges<double>(matrix.view(), "rows", 1); }));
  EXPECT_NE(message.find("row 4321, column 2"), std::string::npos) << message;
}

TEST_F(OnGpu, a_jobs_scratch_is_the_same_memory_again) {
  Job job({}, 1, part_bytes(10, 8));
  job.reserve_scratch(10);
  Job::Word* const reserved = job.scratch(10);
  EXPECT_EQ(job.scratch(3), reserved);
  Job::Word* const longer = job.scratch(1000);
  EXPECT_NE(longer, reserved);
  EXPECT_EQ(job.scratch(1000), longer);
}

TEST_F(OnGpu, rows_of_a_job_are_visited_on_the_host) {
  const Matrix<float> matrix = some_rows<float>(3000, 2);
  const OnDevice<float> there(matrix.view());
  const Job job({}, 1);
  for (const Job* where : {static_cast<const Job*>(nullptr), &job}) {
    std::int64_t seen = 0;
    visit_rows(where ? there.view() : read_only(matrix), where, [&](std::int64_t first, MatrixView<const float> some) {
      EXPECT_EQ(first, seen);
      EXPECT_TRUE(same(some, read_only(matrix).slice(first, some.rows())));
      seen += some.rows();
      return true;
    });
    EXPECT_EQ(seen, 3000);
  }
}

TEST_F(OnGpu, a_job_honours_a_stop_request) {
  std::stop_source source;
  Execution execution;
  execution.stop = source.get_token();
  const Matrix<std::int64_t> matrix = some_rows<std::int64_t>(1 << 20, 4);
  Job job(execution, 1, Job::bytes_to_bring(read_only(matrix)));
  const MatrixView<const std::int64_t> there = job.bring(read_only(matrix), "rows");
  source.request_stop();
  Matrix<std::int64_t> back(1 << 20, 4);
  EXPECT_THROW(job.copy_back(there, back.view()), InterruptedError);
  EXPECT_THROW(job.copy_here(read_only(matrix), const_cast<std::int64_t*>(there.data())), InterruptedError);
}

TEST_F(OnGpu, the_current_gpu_is_the_one_before_after_a_job) {
  int before = -1;
  check(cudaGetDevice(&before), "cudaGetDevice");
  { const Job job({}, 1); }
  int after = -1;
  check(cudaGetDevice(&after), "cudaGetDevice");
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace gradus::cuda
