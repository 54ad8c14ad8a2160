#include "cuda/column_ranges.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "cuda/memory.hpp"
#include "cuda/rows.cuh"

namespace gradus::cuda {

namespace {

using Word = unsigned long long;

/// Converts a double to an integer for atomic minima and maxima. The integers have the same order as the doubles.
__host__ __device__ inline Word ordered(double value) {
#ifdef __CUDA_ARCH__
  const auto bits = static_cast<Word>(__double_as_longlong(value));
#else
  const auto bits = std::bit_cast<Word>(value);
#endif
  return bits >> 63 ? ~bits : bits | Word{1} << 63;
}
double from_ordered(Word bits) { return std::bit_cast<double>(bits >> 63 ? bits & ~(Word{1} << 63) : ~bits); }

// Launch shape: as for visit_columns. A thread first reads the common result. It performs an atomic operation only if
// its own result is more extreme. The common result may have changed in the meantime. The atomic operation is then
// redundant, but not incorrect.
template <class T>
__global__ void find_ranges(const DeviceRows<T> rows, Word* lowest, Word* highest, Word* finest, Word* first_bad) {
  T low = std::numeric_limits<T>::infinity();
  T high = -std::numeric_limits<T>::infinity();
  int bit = core::no_bits;
  const auto visit = [&](std::int64_t row, int column, T value) {
    low = value < low ? value : low;
    high = value > high ? value : high;
    bit = min(bit, core::finest_bit(static_cast<double>(value)));
    if (!(fabs(static_cast<double>(value)) <= core::largest_magnitude))
      atomicMin(first_bad, static_cast<Word>(row) * static_cast<Word>(rows.columns) + static_cast<Word>(column));
  };
  visit_columns(rows, visit, [&](int column) {
    const Word least = ordered(static_cast<double>(low));
    const Word most = ordered(static_cast<double>(high));
    if (least < lowest[column]) atomicMin(&lowest[column], least);
    if (most > highest[column]) atomicMax(&highest[column], most);
    const auto of_bit = static_cast<Word>(bit + core::no_bits);
    if (of_bit < finest[column]) atomicMin(&finest[column], of_bit);
    bit = core::no_bits;
    low = std::numeric_limits<T>::infinity();
    high = -std::numeric_limits<T>::infinity();
  });
}

}  // namespace

template <class T>
core::FoundRanges find_column_ranges(MatrixView<const T> rows, Word* scratch, const Stream& stream) {
  constexpr std::int64_t block_rows = 256;
  constexpr std::int64_t most_blocks = 1024;
  const std::int64_t d = rows.columns();
  Buffer<Word> host(column_range_words(d));
  std::fill_n(host.data(), d, ordered(std::numeric_limits<double>::infinity()));
  std::fill_n(host.data() + d, d, ordered(-std::numeric_limits<double>::infinity()));
  std::fill_n(host.data() + 2 * d, d, Word{2 * core::no_bits});
  Word& first_bad = host[3 * d];
  first_bad = ~Word{0};
  if (rows.rows() > 0) {
    const std::size_t bytes = static_cast<std::size_t>(host.size()) * sizeof(Word);
    copy_to_gpu(scratch, host.data(), bytes, stream);
    const auto blocks = std::min((rows.rows() + block_rows - 1) / block_rows, most_blocks);
    find_ranges<T><<<static_cast<unsigned int>(blocks), block_rows, 0, stream>>>(
        {rows.data(), rows.rows(), rows.row_stride(), static_cast<int>(d)}, scratch, scratch + d, scratch + 2 * d,
        scratch + 3 * d);
    check_launch("find_ranges");
    check(cudaMemcpyAsync(host.data(), scratch, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    stream.wait();
  }
  core::FoundRanges found;
  for (std::int64_t column = 0; column < d; ++column) {
    found.ranges.lowest.push_back(from_ordered(host[column]));
    found.ranges.highest.push_back(from_ordered(host[d + column]));
    found.ranges.finest.push_back(static_cast<int>(host[2 * d + column]) - core::no_bits);
  }
  if (first_bad == ~Word{0}) return found;
  found.bad_row = static_cast<std::int64_t>(first_bad / static_cast<Word>(d));
  found.bad_column = static_cast<std::int64_t>(first_bad % static_cast<Word>(d));
  T value{};
  // The rows may be in pinned host memory.
  check(cudaMemcpyAsync(&value, rows.row(found.bad_row) + found.bad_column, sizeof value, cudaMemcpyDefault, stream),
        "cudaMemcpyAsync");
  stream.wait();
  found.bad_value = static_cast<double>(value);
  return found;
}

template core::FoundRanges find_column_ranges(MatrixView<const float>, Word*, const Stream&);
template core::FoundRanges find_column_ranges(MatrixView<const double>, Word*, const Stream&);

}  // namespace gradus::cuda
