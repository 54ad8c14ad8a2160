#include <algorithm>
#include <cmath>

#include "cpu/threads.hpp"
#include "cuda/devices.hpp"
#include "gradus/error.hpp"
#include "pair_histogram/cuda_common.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// A launch takes so long, so that a stop request is honoured soon; the first one is small, since rungs differ.
constexpr double seconds_of_a_launch = 0.2;
constexpr double pairs_of_the_first_launch = 0x1p32;
// With up to 1024 first points a block then has 2^31 pairs at most, which counters of 32 bits hold.
constexpr std::int64_t second_points_of_a_launch = std::int64_t{1} << 21;

// Launch shape: one thread for each point; the last block's surplus threads have none.
template <class T>
__global__ void split_columns(const T* rows, std::int64_t count, int dimensions, T* columns) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= count) return;
  for (int dim = 0; dim < dimension_limit; ++dim)
    columns[dim * count + point] = dim < dimensions ? rows[point * dimensions + dim] : T{0};
}

}  // namespace

void allow_shared_memory(const void* kernel, std::uint64_t bytes) {
  constexpr std::uint64_t always_allowed = 48 << 10;
  if (bytes > always_allowed)
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                "cudaFuncSetAttribute");
}

void honour_stop(const Execution& execution, std::int64_t done, std::int64_t total) {
  if (execution.stop.stop_requested())
    throw InterruptedError("stopped after " + std::to_string(done) + " of " + std::to_string(total) + " pairs");
}

template <class T>
CudaPairs<T>::CudaPairs(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases)
    : problem_(problem), execution_(execution), phases_(phases),
      gpu_(cuda::require_gpu(cpu::this_machine(), execution.gpu)), device_(execution.gpu) {
  const core::PhaseTimer timer(phases, "to_device");
  job_.first = upload(problem.points, problem.weights, columns_, weights_);
  job_.second =
      problem.cross ? upload(problem.others, problem.other_weights, other_columns_, other_weights_) : job_.first;
  job_.cross = problem.cross;
  std::copy(problem.box.begin(), problem.box.end(), job_.box);
  job_.weight_grid = problem.weight_grid;

  const std::span<const double> edges = problem.bins.edges();
  edges_ = cuda::DeviceBuffer<double>(std::ssize(edges));
  edges_.copy_from_host(edges.data(), std::ssize(edges), stream_);
  job_.bins = {edges_.data(), static_cast<int>(problem.bins.count()), problem.bins.width(), problem.bins.reach()};

  const std::int64_t slots = problem.bins.slots();
  histogram_ = cuda::DeviceBuffer<Word>(slots * (problem.weighted() ? 3 : 1));
  histogram_.clear(stream_);
  job_.histogram.counts = histogram_.data();
  if (problem.weighted()) {
    job_.histogram.low = histogram_.data() + slots;
    job_.histogram.high = histogram_.data() + 2 * slots;
  }
  stream_.wait();
}

template <class T>
DevicePoints<T> CudaPairs<T>::upload(MatrixView<const T> rows, VectorView<const T> weights,
                                     cuda::DeviceBuffer<T>& columns, cuda::DeviceBuffer<T>& device_weights) {
  const std::int64_t n = rows.rows();
  if (n == 0) return {};
  const auto d = static_cast<int>(rows.columns());
  const int threads = cpu::thread_count(execution_);
  cuda::require_free_memory(static_cast<std::uint64_t>(n) * sizeof(T) *
                            static_cast<std::uint64_t>(dimension_limit + d + 1));
  cuda::DeviceBuffer<T> as_given(n * d);
  cuda::upload(rows, as_given, staging_, threads, stream_);
  columns = cuda::DeviceBuffer<T>(dimension_limit * n);
  split_columns<<<cuda::blocks_for(n, 256), 256, 0, stream_>>>(as_given.data(), n, d, columns.data());
  cuda::check_launch("split_columns");
  if (!weights.empty()) {
    device_weights = cuda::DeviceBuffer<T>(n);
    cuda::upload(MatrixView<const T>(weights.data(), n, 1), device_weights, staging_, threads, stream_);
  }
  stream_.wait();
  return {columns.data(), columns.data() + n, columns.data() + 2 * n, device_weights.data(), n};
}

template <class T>
std::int64_t CudaPairs<T>::end_of_portion(double pairs) const {
  const auto begin = static_cast<double>(job_.begin);
  const double end =
      job_.cross ? begin + pairs / static_cast<double>(job_.first.count) : std::sqrt(begin * begin + 2 * pairs);
  const double least = begin + 1024;
  const double most = begin + static_cast<double>(second_points_of_a_launch);
  return std::min(static_cast<std::int64_t>(std::clamp(end, least, most)), job_.second.count);
}

template <class T>
void CudaPairs<T>::count(const char* name, Kernel kernel, int threads, std::uint64_t shared_bytes) {
  const core::PhaseTimer timer(phases_, "count");
  allow_shared_memory(reinterpret_cast<const void*>(kernel), shared_bytes);
  const std::int64_t total = pair_count(problem_.n(), problem_.m(), problem_.cross);
  double portion = pairs_of_the_first_launch;
  for (job_.begin = 0; problem_.n() > 0 && job_.begin < job_.second.count; job_.begin = job_.end) {
    const std::int64_t done = pair_count(problem_.cross ? problem_.n() : job_.begin, job_.begin, problem_.cross);
    honour_stop(execution_, done, total);
    job_.end = end_of_portion(portion);
    const auto start = core::Clock::now();
    // Points at the end of the range or after it have no partner in it.
    const std::int64_t first_points = job_.cross ? job_.first.count : std::min(job_.first.count, job_.end);
    kernel<<<cuda::blocks_for(first_points, threads), threads, shared_bytes, stream_>>>(job_);
    cuda::check_launch(name);
    stream_.wait();
    portion *= std::clamp(seconds_of_a_launch / core::seconds_since(start), 0.5, 8.0);
    if (execution_.progress && job_.end < job_.second.count) execution_.progress({"pairs", done, total, {}});
  }
  if (execution_.progress) execution_.progress({"pairs", total, total, {}});
}

template <class T>
Histogram CudaPairs<T>::histogram() {
  const core::PhaseTimer timer(phases_, "to_host");
  const std::int64_t slots = problem_.bins.slots();
  Buffer<Word> words(histogram_.size());
  histogram_.copy_to_host(words.data(), words.size(), stream_);
  stream_.wait();
  Histogram result(slots, problem_.weighted());
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const auto at = static_cast<std::size_t>(slot);
    result.counts[at] = words[slot];
    if (problem_.weighted())
      result.weights[at] =
          static_cast<core::Int128>(core::UInt128{words[2 * slots + slot]} << 64 | words[slots + slot]);
  }
  return result;
}

template class CudaPairs<float>;
template class CudaPairs<double>;

}  // namespace gradus::pair_histogram_detail
