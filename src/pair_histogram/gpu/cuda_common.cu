#include <algorithm>
#include <cmath>

#include "core/stop.hpp"
#include "gradus/communicator.hpp"
#include "gradus/error.hpp"
#include "pair_histogram/gpu/cuda_common.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Launches aim at this duration, so that stop requests take effect soon. The first launch is small, because the speed
// of the rung is not known before it.
constexpr double seconds_of_a_launch = 0.2;
constexpr double pairs_of_the_first_launch = 0x1p32;
// A block has at most 1024 first points and therefore counts at most 2^31 pairs per launch, so 32-bit counters suffice.
constexpr std::int64_t second_points_of_a_launch = std::int64_t{1} << 21;

// Launch shape: one thread per point. Surplus threads of the last block return at once.
template <class T>
__global__ void split_columns(const T* rows, std::int64_t count, std::int64_t stride, int dimensions, T* columns) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= count) return;
  for (int dim = 0; dim < dimension_limit; ++dim)
    columns[dim * count + point] = dim < dimensions ? rows[point * stride + dim] : T{0};
}

// Launch shape: one thread per weight. Surplus threads of the last block return at once.
template <class T>
__global__ void encode_weights(const T* weights, std::int64_t count, WeightSums sums, bool second,
                               std::int64_t* encoded) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= count) return;
  const auto weight = static_cast<double>(weights[point]);
  encoded[point] = second ? sums.encode_second(weight) : sums.encode_first(weight);
}

}  // namespace

void honour_stop(const Execution& execution, std::int64_t done, std::int64_t total) {
  if (execution.stop.stop_requested())
    throw InterruptedError("stopped after " + std::to_string(done) + " of " + std::to_string(total) + " pairs");
}

template <class T>
CudaPairs<T>::CudaPairs(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases)
    : problem_(problem), execution_(execution), phases_(phases), gpu_job_(*problem.gpu),
      gpu_(execution::require_gpu(execution::this_machine(), gpu_job_.gpu())) {
  const core::PhaseTimer timer(phases, "to_device");
  job_.sums = problem.sums;
  job_.first = columns(problem.points, problem.weights, false);
  job_.second = problem.cross ? columns(problem.others, problem.other_weights, true) : job_.first;
  job_.cross = problem.cross;
  std::copy(problem.box.begin(), problem.box.end(), job_.box);
  job_.cell = problem.cell;
  if (execution.communicator != nullptr) {
    job_.part = execution.communicator->rank();
    job_.parts = execution.communicator->size();
  }

  const std::span<const double> edges = problem.bins.edges();
  job_.bins = {cuda::copy_part(memory(), edges, stream()), static_cast<int>(problem.bins.count()), problem.bins.width(),
               problem.bins.reach()};

  const std::int64_t slots = problem.bins.slots();
  const std::int64_t words = slots * problem.sum_words();
  const bool long_sums = problem.sum_words() > words_in_shared;
  job_.histogram.counts = cuda::zero_part<Word>(memory(), slots + (long_sums ? 0 : words), stream());
  if (long_sums) {
    long_sums_ = cuda::DeviceBuffer<Word>(words);
    long_sums_.fill_bytes(0, stream());
  }
  job_.histogram.sums = {long_sums ? long_sums_.data() : job_.histogram.counts + slots, static_cast<int>(slots),
                         problem.sum_words()};
  stream().wait();
}

template <class T>
DevicePoints<T> CudaPairs<T>::columns(MatrixView<const T> rows, VectorView<const T> weights, bool second) {
  const std::int64_t n = rows.rows();
  if (n == 0) return {};
  T* const columns = memory().template take<T>(dimension_limit * n);
  split_columns<<<cuda::blocks_for(n, 256), 256, 0, stream()>>>(rows.data(), n, rows.row_stride(),
                                                                static_cast<int>(rows.columns()), columns);
  cuda::check_launch("split_columns");
  std::int64_t* encoded = nullptr;
  if (!weights.empty()) {
    encoded = memory().template take<std::int64_t>(n);
    encode_weights<<<cuda::blocks_for(n, 256), 256, 0, stream()>>>(weights.data(), n, job_.sums, second, encoded);
    cuda::check_launch("encode_weights");
  }
  return {columns, columns + n, columns + 2 * n, encoded, n};
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
  cuda::allow_shared_memory(reinterpret_cast<const void*>(kernel), shared_bytes);
  const std::int64_t total = pair_count(problem_.n(), problem_.m(), problem_.cross);
  const auto pairs_before = [&](std::int64_t end) {
    return pair_count(problem_.cross ? problem_.n() : end, end, problem_.cross);
  };
  double portion = pairs_of_the_first_launch;
  for (job_.begin = 0; problem_.n() > 0 && job_.begin < job_.second.count; job_.begin = job_.end) {
    honour_stop(execution_, pairs_before(job_.begin), total);
    job_.end = end_of_portion(portion);
    const auto start = core::Clock::now();
    // If `cross` is false, first points at or after the end of the range have no later point in the range.
    const std::int64_t first_points = job_.cross ? job_.first.count : std::min(job_.first.count, job_.end);
    // One of every `parts` consecutive first points belongs to this part.
    if (const std::int64_t own = (first_points - job_.part + job_.parts - 1) / job_.parts; own > 0) {
      kernel<<<cuda::blocks_for(own, threads), threads, shared_bytes, stream()>>>(job_);
      cuda::check_launch(name);
      stream().wait();
    }
    portion *= std::clamp(seconds_of_a_launch / core::seconds_since(start), 0.5, 8.0);
    if (execution_.progress && job_.end < job_.second.count)
      execution_.progress({"pairs", pairs_before(job_.end), total, {}});
  }
  if (execution_.progress) execution_.progress({"pairs", total, total, {}});
}

template <class T>
Histogram CudaPairs<T>::histogram() {
  const core::PhaseTimer timer(phases_, "to_host");
  const std::int64_t slots = problem_.bins.slots();
  Histogram result(slots, problem_.sum_words());
  std::vector<Word> words(static_cast<std::size_t>(slots));
  cuda::fetch_part<Word>(job_.histogram.counts, words, stream());
  std::copy(words.begin(), words.end(), result.counts.begin());
  for (int word = 0; word < result.sum_words; ++word) {
    core::honour_stop(problem_.stop, while_adding_up);
    cuda::fetch_part<Word>(job_.histogram.sums.words + word * slots, words, stream());
    for (std::int64_t slot = 0; slot < slots; ++slot) result.sum(slot)[word] = words[static_cast<std::size_t>(slot)];
  }
  return result;
}

template class CudaPairs<float>;
template class CudaPairs<double>;

}  // namespace gradus::pair_histogram_detail
