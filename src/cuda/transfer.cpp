#include "cuda/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/stop.hpp"

namespace gradus::cuda {

namespace {

// Below this size, staging has no advantage: the driver copies contiguous memory at least as fast, and one thread packs
// rows as fast as several threads.
constexpr std::int64_t least_staged_bytes = 1 << 20;

// With this number of threads, a buffer is filled as fast as the bus empties it. More threads would only make the waits
// for threads longer. A transfer of 268 MB to an NVIDIA H200 takes 5.3 ms with 8 threads, 6.1 ms with 16 threads, and
// 4.8 ms from memory that is already pinned.
constexpr int most_copying_threads = 8;

// The driver embeds up to this many bytes of ordinary memory in its command buffer. Longer copies use a copy engine,
// which also has to clear freed memory. After a job that used 300 MB, a single copy of 128 KiB waits 0.74 ms for this
// engine on an NVIDIA H200, but two copies of 64 KiB take 0.03 ms.
constexpr std::size_t bytes_beside_commands = std::size_t{64} << 10;

void honour_stop(const Staging& staging) {
  core::honour_stop(staging.stop(), "stopped while data travelled to the GPU or back");
}

}  // namespace

void copy_to_gpu(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  const std::size_t most = bytes < std::size_t{least_staged_bytes} ? bytes_beside_commands : bytes;
  for (std::size_t first = 0; first < bytes; first += most)
    check(cudaMemcpyAsync(static_cast<char*>(to) + first, static_cast<const char*>(from) + first,
                          std::min(most, bytes - first), cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync");
}

template <class T>
void upload(MatrixView<const T> from, DeviceBuffer<T>& to, Staging& staging, int threads, const Stream& stream) {
  if (from.rows() * from.columns() > to.size())
    throw Error("a matrix of " + std::to_string(from.rows()) + " x " + std::to_string(from.columns()) +
                " does not fit a GPU buffer of " + std::to_string(to.size()) + " elements");
  upload(from, to.data(), staging, threads, stream);
}

template <class T>
void upload(MatrixView<const T> from, T* to, Staging& staging, int threads, const Stream& stream) {
  const std::int64_t d = from.columns();
  const std::size_t row_bytes = static_cast<std::size_t>(d) * sizeof(T);
  const auto rows_at_once = static_cast<std::int64_t>(Staging::part_bytes / row_bytes);
  const bool small = from.rows() * static_cast<std::int64_t>(row_bytes) < least_staged_bytes;
  if (small && from.contiguous()) {
    copy_to_gpu(to, from.data(), static_cast<std::size_t>(from.rows()) * row_bytes, stream);
    stream.wait();
    return;
  }
  if (rows_at_once < 1) {  // few long rows: copied directly, although the driver needs about 0.2 us per row
    constexpr std::int64_t bytes_between_looks = std::int64_t{1} << 28;
    const std::int64_t some = std::max<std::int64_t>(1, bytes_between_looks / static_cast<std::int64_t>(row_bytes));
    for (std::int64_t first = 0; first < from.rows(); first += some) {
      honour_stop(staging);
      check(cudaMemcpy2DAsync(to + first * d, row_bytes, from.row(first),
                              static_cast<std::size_t>(from.row_stride()) * sizeof(T), row_bytes,
                              static_cast<std::size_t>(std::min(some, from.rows() - first)), cudaMemcpyHostToDevice,
                              stream),
            "cudaMemcpy2DAsync");
      stream.wait();
    }
    return;
  }
  threads = small ? 1 : std::min(threads, most_copying_threads);
  int turn = 0;
  for (std::int64_t first = 0; first < from.rows(); first += rows_at_once, ++turn) {
    honour_stop(staging);
    Staging::Part& buffer = staging.part(turn);
    buffer.free.wait();  // an event that was never recorded counts as complete
    const std::int64_t count = std::min(rows_at_once, from.rows() - first);
    unsigned char* staged = buffer.memory.data();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int part = 0; part < threads; ++part) {
      const std::int64_t begin = count * part / threads;
      const std::int64_t end = count * (part + 1) / threads;
      if (from.contiguous()) {
        std::memcpy(staged + static_cast<std::size_t>(begin) * row_bytes, from.row(first + begin),
                    static_cast<std::size_t>(end - begin) * row_bytes);
        continue;
      }
      for (std::int64_t row = begin; row < end; ++row)
        std::memcpy(staged + static_cast<std::size_t>(row) * row_bytes, from.row(first + row), row_bytes);
    }
    check(cudaMemcpyAsync(to + first * d, staged, static_cast<std::size_t>(count) * row_bytes, cudaMemcpyHostToDevice,
                          stream),
          "cudaMemcpyAsync");
    buffer.free.record(stream);
  }
  stream.wait();
}

template <class From, class T>
void download(const From* from, T* to, std::int64_t count, Staging& staging, int threads, const Stream& stream) {
  constexpr bool widens = !std::is_same_v<From, T>;
  const auto bytes = static_cast<std::int64_t>(sizeof(From)) * count;
  if (bytes < least_staged_bytes) {
    Buffer<From> narrow(widens ? count : 0);
    void* const staged = widens ? static_cast<void*>(narrow.data()) : to;
    if (bytes > 0)
      check(cudaMemcpyAsync(staged, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream),
            "cudaMemcpyAsync");
    stream.wait();
    if constexpr (widens) std::copy_n(narrow.data(), count, to);
    return;
  }
  threads = std::min(threads, most_copying_threads);
  constexpr auto at_once = static_cast<std::int64_t>(Staging::part_bytes / sizeof(From));
  const std::int64_t pieces = (count + at_once - 1) / at_once;
  // Later pieces are in transit while a piece is copied out of its buffer.
  constexpr std::int64_t ahead = staging_parts - 1;
  for (std::int64_t piece = 0; piece < pieces + ahead; ++piece) {
    honour_stop(staging);
    if (piece < pieces) {
      // the buffer is empty, because it was drained above or by an earlier transfer
      Staging::Part& buffer = staging.part(piece);
      const std::int64_t first = piece * at_once;
      const auto length = static_cast<std::size_t>(std::min(at_once, count - first)) * sizeof(From);
      check(cudaMemcpyAsync(buffer.memory.data(), from + first, length, cudaMemcpyDeviceToHost, stream),
            "cudaMemcpyAsync");
      buffer.free.record(stream);
    }
    if (piece < ahead || piece - ahead >= pieces) continue;
    Staging::Part& buffer = staging.part(piece - ahead);
    buffer.free.wait();
    const std::int64_t first = (piece - ahead) * at_once;
    const std::int64_t length = std::min(at_once, count - first);
    const auto* const staged = reinterpret_cast<const From*>(buffer.memory.data());
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int part = 0; part < threads; ++part) {
      const std::int64_t begin = length * part / threads;
      const std::int64_t end = length * (part + 1) / threads;
      std::copy(staged + begin, staged + end, to + first + begin);
    }
  }
}

template <class T>
void download(const DeviceBuffer<T>& from, T* to, std::int64_t count, Staging& staging, int threads,
              const Stream& stream) {
  if (count < 0 || count > from.size())
    throw Error("a copy of " + std::to_string(count) + " elements does not fit a GPU buffer of " +
                std::to_string(from.size()));
  download(from.data(), to, count, staging, threads, stream);
}

namespace {

struct FreeMemory {
  std::size_t free = 0;
  std::size_t total = 0;
};
FreeMemory free_memory() {
  FreeMemory found;
  check(cudaMemGetInfo(&found.free, &found.total), "cudaMemGetInfo");
  return found;
}

}  // namespace

bool has_free_memory(std::uint64_t bytes) { return bytes <= free_memory().free; }

void require_free_memory(std::uint64_t bytes) {
  const auto [free, total] = free_memory();
  if (bytes > free)
    throw OutOfMemoryError("the job needs " + std::to_string(bytes) + " bytes of GPU memory, but only " +
                           std::to_string(free) + " of " + std::to_string(total) + " bytes are free");
}

#define GRADUS_INSTANTIATE(T)                                                                \
  template void upload(MatrixView<const T>, T*, Staging&, int, const Stream&);               \
  template void upload(MatrixView<const T>, DeviceBuffer<T>&, Staging&, int, const Stream&); \
  template void download(const T*, T*, std::int64_t, Staging&, int, const Stream&);          \
  template void download(const DeviceBuffer<T>&, T*, std::int64_t, Staging&, int, const Stream&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(std::uint64_t);
#undef GRADUS_INSTANTIATE
template void upload(MatrixView<const std::uint8_t>, std::uint8_t*, Staging&, int, const Stream&);
template void download(const std::uint8_t*, std::int32_t*, std::int64_t, Staging&, int, const Stream&);
template void download(const std::uint16_t*, std::int32_t*, std::int64_t, Staging&, int, const Stream&);

}  // namespace gradus::cuda
