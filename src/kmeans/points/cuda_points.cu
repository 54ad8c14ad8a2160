// Points on a GPU: variance, scaling to unit length, and copies. cuda_cover.cu chooses initial centroids, and
// cuda_distances.cu computes distances.
//
// Almost all kernels take about as long as it takes to read the points once. Blocks may finish in any order, because
// sums of integers, minima and maxima do not depend on the order.
#include "kmeans/points/cuda_points.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "cpu/threads.hpp"
#include "cuda/launch.hpp"
#include "execution/devices.hpp"
#include "execution/rank_sums.hpp"
#include "kmeans/assign/cuda_row_distances.cuh"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/unit_length.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Sums the columns. Sets `too_small` to the number of values that the limbs cannot hold.
template <class T>
__global__ void sum_columns(const DeviceRows<T> rows, const core::TotalGrid* grids, TotalWords* sums, Word* too_small) {
  core::TotalLimbs limbs;
  const auto visit = [&](std::int64_t, int column, T value) {
    const auto wide = static_cast<double>(value);
    if (grids[column].holds(wide)) grids[column].add(wide, limbs);
    else atomicAdd(too_small, Word{1});
  };
  visit_columns(rows, visit, [&](int column) {
    add_limbs(sums[column], limbs);
    limbs = {};
  });
}

// Scales rows to unit length. Launch shape: one thread per row, grid-stride loop.
template <class T>
__global__ void scale_to_unit_length(const DeviceRows<T> rows, T* unit, Word* first_zero) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows.count; row += stride) {
    const T* const from = rows.data + row * rows.stride;  // stored rows are never scaled
    double largest = 0;
    for (int dim = 0; dim < rows.columns; ++dim) largest = fmax(largest, fabs(static_cast<double>(from[dim])));
    if (largest == 0) atomicMin(first_zero, static_cast<Word>(row));
    const NearOne scale(largest);
    double squares = 0;
    for (int dim = 0; dim < rows.columns; ++dim) {
      const double value = scale(static_cast<double>(from[dim]));
      squares = fma(value, value, squares);
    }
    const double length = sqrt(squares);
    for (int dim = 0; dim < rows.columns; ++dim)
      unit[row * rows.columns + dim] = static_cast<T>(scale(static_cast<double>(from[dim])) / length);
  }
}

/// Adds up the squared distances between the points and `mean`.
template <class T>
__global__ void sum_squares(const __grid_constant__ DeviceRows<T> rows, const __grid_constant__ DeviceRows<T> mean,
                            core::TotalGrid grid, SharedTotal* total) {
  const OtherRows<T, 1> the_mean(mean, nullptr, 1);
  core::TotalLimbs limbs;
  for (std::int64_t first = std::int64_t{blockIdx.x} * block_rows; first < rows.count;
       first += std::int64_t{gridDim.x} * block_rows) {
    double distance[1];
    the_mean.find(rows, first, 0, distance);
    if (first + threadIdx.x < rows.count) add_value(grid, distance[0], limbs, *total);
  }
  add_limbs_of_warp(*total, limbs);
}

// Copies rows. Launch: one thread per element.
template <class T>
__global__ void gather_rows(const DeviceRows<T> rows, const std::int64_t* which, std::int64_t count, T* out) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= count * rows.columns) return;
  out[index] = value_at(rows, which[index / rows.columns], static_cast<int>(index % rows.columns));
}

/// Converts stored elements to float. Launch shape: one thread per element.
__global__ void widen_elements(const unsigned char* from, StoredType type, std::int64_t count, float* to) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index < count) to[index] = cuda::widened(from, type, index);
}

/// Copies the rows with the numbers `which`. Row which[i] goes to the place places[i]; places begin `stride` elements
/// apart. Launch shape: one thread per element.
template <class T>
__global__ void scatter_rows(const DeviceRows<T> rows, const std::int64_t* which, const std::int64_t* places,
                             std::int64_t count, std::int64_t stride, T* out) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= count * rows.columns) return;
  const std::int64_t number = index / rows.columns;
  const auto column = static_cast<int>(index % rows.columns);
  out[places[number] * stride + column] = value_at(rows, which[number], column);
}

}  // namespace

template <class T>
cuda::DeviceBuffer<T> contiguous_copy(MatrixView<const T> rows, cuda::Job& job) {
  constexpr std::int64_t quad = 16 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t area = rows.rows() * rows.columns();
  cuda::DeviceBuffer<T> copy(area + quad);
  cuda::check(cudaMemsetAsync(copy.data() + area, 0, 16, job.stream()), "cudaMemsetAsync");
  job.copy_here(rows, copy.data());
  return copy;
}

namespace {

/// Stored rows travel to the GPU in portions of at most this many bytes.
constexpr std::int64_t stored_portion_bytes = std::int64_t{32} << 20;

/// Copies stored rows to the GPU as float, without gaps, and with 16 bytes behind them.
template <class T>
cuda::DeviceBuffer<T> widened_copy(const StoredMatrixView& rows, cuda::Job& job) {
  constexpr std::int64_t quad = 16 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t area = rows.rows() * rows.columns();
  const int bytes = bytes_of(rows.type());
  const std::int64_t row_bytes = rows.columns() * bytes;
  const std::int64_t most = std::min(rows.rows(), std::max<std::int64_t>(1, stored_portion_bytes / row_bytes));
  cuda::DeviceBuffer<T> copy(area + quad);
  cuda::DeviceBuffer<std::uint8_t> portion(most * row_bytes);
  cuda::check(cudaMemsetAsync(copy.data() + area, 0, 16, job.stream()), "cudaMemsetAsync");
  for (std::int64_t first = 0; first < rows.rows(); first += most) {
    const std::int64_t count = std::min(most, rows.rows() - first);
    job.copy_here(MatrixView<const std::uint8_t>(static_cast<const std::uint8_t*>(rows.row(first)), count, row_bytes,
                                                 rows.row_stride() * bytes),
                  portion.data());
    const std::int64_t elements = count * rows.columns();
    widen_elements<<<cuda::blocks_for(elements, 256), 256, 0, job.stream()>>>(portion.data(), rows.type(), elements,
                                                                              copy.data() + first * rows.columns());
    cuda::check_launch("widen_elements");
  }
  job.stream().wait();  // the GPU no longer reads the portion
  return copy;
}

/// Copies the rows to the GPU in the type of the job.
template <class T>
cuda::DeviceBuffer<T> copy_on_gpu(const PointRows<T>& rows, cuda::Job& job) {
  if constexpr (sizeof(T) == sizeof(float))
    if (rows.is_stored()) return widened_copy<T>(rows.stored(), job);
  return contiguous_copy(rows.shape(), job);
}

/// Returns the GPU memory that copy_on_gpu() takes.
template <class T>
std::uint64_t bytes_of_copy(const PointRows<T>& rows) {
  const auto elements = static_cast<std::uint64_t>(rows.rows() * rows.columns());
  return elements * sizeof(T) + 16 + (rows.is_stored() ? static_cast<std::uint64_t>(stored_portion_bytes) : 0);
}

}  // namespace

template <class T>
GpuPoints<T>::GpuPoints(const PointRows<T>& points, VectorView<const T> weights, const Execution& execution,
                        const GpuNeeds& needs, const core::RankRows& rank_rows)
    : PointSource<T>(points.shape(), weights, cpu::thread_count(execution), execution.stop, rank_rows),
      gpu_(execution::require_gpu(execution::this_machine(), execution.gpu)), job_(execution::start_gpu_job(execution)),
      weights_(weights) {
  const bool uploads = points.place().is_host();
  const bool uploads_weights = !weights.empty() && weights.place().is_host();
  plan_ = plan_of(uploads ? bytes_of_copy(points) : 0,
                  uploads_weights ? static_cast<std::uint64_t>(weights.size()) * sizeof(T) : 0, execution, needs);
  if (plan_.tier == GpuTier::stored) {
    keep_stored(points);
  } else if (are_in_blocks()) {
    pin(points, &execution);
  } else if (uploads) {
    owned_ = copy_on_gpu(points, *job_);
    points_ = {owned_.data(), points.rows(), points.columns(), job_->place()};
  } else {
    job_->admit(points.data(), "points");
  }
  const MatrixView<const T> column(weights.data(), weights.size(), 1, weights.place());
  if (uploads_weights) {
    owned_weights_ = contiguous_copy(column, *job_);
    weights_ = {owned_weights_.data(), weights.size(), job_->place()};
  } else if (!weights.empty()) {
    job_->admit(weights.data(), "weights");
    copied_weights_ = job_->copy_to_host(column);
    host_weights_ = {copied_weights_.data(), weights.size()};
  }
  job_->stream().wait();
}

template <class T>
void GpuPoints<T>::keep_stored(const PointRows<T>& rows) {
  const StoredMatrixView& stored = rows.stored();
  const int bytes = bytes_of(stored.type());
  const std::int64_t row_bytes = rows.columns() * bytes;
  owned_stored_ = cuda::DeviceBuffer<unsigned char>(rows.rows() * row_bytes);
  job_->copy_here(MatrixView<const unsigned char>(static_cast<const unsigned char*>(stored.data()), rows.rows(),
                                                  row_bytes, stored.row_stride() * bytes),
                  owned_stored_.data());
  stored_on_gpu_ = {owned_stored_.data(), stored.type(), rows.rows(), rows.columns(), rows.columns(), job_->place()};
  host_rows_ = rows;
  points_ = {nullptr, rows.rows(), rows.columns(), job_->place()};
}

template <class T>
void GpuPoints<T>::copy_rows(std::int64_t first, std::int64_t count, T* to, const cuda::Stream& stream) const {
  const std::int64_t columns = points_.columns();
  if constexpr (sizeof(T) == sizeof(float))
    if (plan_.tier == GpuTier::stored) {
      const StoredMatrixView rows = stored_on_gpu_.slice(first, count);
      widen_elements<<<cuda::blocks_for(count * columns, 256), 256, 0, stream>>>(
          static_cast<const unsigned char*>(rows.data()), rows.type(), count * columns, to);
      return cuda::check_launch("widen_elements");
    }
  constexpr std::int64_t element = sizeof(T);
  pinned_.copy_to_gpu(to, static_cast<std::size_t>(first * columns * element),
                      static_cast<std::size_t>(count * columns * element), stream);
}

template <class T>
void gather_of_ranks(const DeviceRows<T>& own, const core::RankRows& rank_rows, std::span<const std::int64_t> numbers,
                     std::int64_t stride, const std::function<T*()>& allocate, cuda::Job& job) {
  using Words = execution::RankSums::Word;
  constexpr std::int64_t portion_bytes = std::int64_t{1} << 26;
  // Each portion has a multiple of 16 rows, so the next one begins at a multiple of 16 bytes.
  const std::int64_t row_bytes = stride * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t most = std::max<std::int64_t>(1, portion_bytes / row_bytes / 16) * 16;
  const cuda::Stream& stream = job.stream();
  execution::RankSums& sums = execution::RankSums::of(rank_rows.ranks(), job.gpu());
  const auto words_of = [&](std::int64_t rows) { return (rows * row_bytes + 15) / 16 * 2; };
  const auto all = static_cast<std::int64_t>(numbers.size());
  cuda::DeviceBuffer<Words> mine;
  cuda::DeviceBuffer<std::int64_t> places_on_gpu;
  // Allocates all memory before the first sum. In a sum, the other ranks would wait for a rank without memory.
  T* const to = rank_rows.ranks().agree([&] {
    mine = cuda::DeviceBuffer<Words>(words_of(std::min(most, all)));
    places_on_gpu = cuda::DeviceBuffer<std::int64_t>(2 * std::min(most, all));
    return allocate();
  });
  for (std::int64_t first = 0; first < all; first += most) {
    const std::int64_t count = std::min(most, all - first);
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> places;
    for (std::int64_t place = 0; place < count; ++place) {
      const std::int64_t number = numbers[static_cast<std::size_t>(first + place)];
      if (!rank_rows.is_own(number)) continue;
      rows.push_back(number - rank_rows.first());
      places.push_back(place);
    }
    const std::int64_t found = std::ssize(rows);
    mine.clear(stream);
    if (found > 0) {
      rows.insert(rows.end(), places.begin(), places.end());
      places_on_gpu.copy_from_host(rows.data(), 2 * found, stream);
      scatter_rows<T><<<cuda::blocks_for(found * own.columns, 256), 256, 0, stream>>>(
          own, places_on_gpu.data(), places_on_gpu.data() + found, found, stride, reinterpret_cast<T*>(mine.data()));
      cuda::check_launch("scatter_rows");
    }
    // All ranks but the one that has a row add zeros to its elements.
    sums.add_up(mine.data(), reinterpret_cast<Words*>(to + first * stride), words_of(count), stream);
    sums.wait(stream);
  }
}

template <class T>
GpuPoints<T>::GpuPoints(const GpuPoints& all, std::span<const std::int64_t> rows, VectorView<const T> weights,
                        std::uint64_t extra_bytes)
    : PointSource<T>({}, weights, all.threads(), all.stop(), core::RankRows(std::ssize(rows))), gpu_(all.gpu_),
      job_(all.job_) {
  const cuda::Stream& stream = job_->stream();
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t columns = all.points_.columns();
  constexpr std::int64_t quad = 16 / static_cast<std::int64_t>(sizeof(T));
  const auto allocate = [&] {
    cuda::require_free_memory(extra_bytes + static_cast<std::uint64_t>(count * (columns + 1) + quad) * sizeof(T) +
                              rows.size_bytes());
    owned_ = cuda::DeviceBuffer<T>(count * columns + quad);
    cuda::check(cudaMemsetAsync(owned_.data() + count * columns, 0, 16, stream), "cudaMemsetAsync");
    owned_weights_ = contiguous_copy(MatrixView<const T>(weights.data(), weights.size(), 1), *job_);
    return owned_.data();
  };
  if (all.ranks().size() == 1) gather(all, rows, allocate());
  else gather_of_ranks<T>(device_rows(all), all.rank_rows(), rows, columns, allocate, *job_);
  points_ = {owned_.data(), count, columns, job_->place()};
  weights_ = {owned_weights_.data(), weights.size(), job_->place()};
  stream.wait();
}

template <class T>
void GpuPoints<T>::gather(const GpuPoints& all, std::span<const std::int64_t> rows, T* to) const {
  const cuda::Stream& stream = job_->stream();
  const auto count = static_cast<std::int64_t>(rows.size());
  if (count == 0) return;
  cuda::DeviceBuffer<std::int64_t> which(count);
  which.copy_from_host(rows.data(), count, stream);
  gather_rows<T><<<cuda::blocks_for(count * all.points_.columns(), 256), 256, 0, stream>>>(device_rows(all),
                                                                                           which.data(), count, to);
  cuda::check_launch("gather_rows");
  stream.wait();  // the GPU has read the numbers of the rows
}

template <class T>
unsigned int GpuPoints<T>::blocks(int per_multiprocessor) const {
  const std::int64_t needed = (points_.rows() + block_rows - 1) / block_rows;
  return static_cast<unsigned int>(
      std::clamp<std::int64_t>(needed, 1, std::int64_t{per_multiprocessor} * gpu_.multiprocessors));
}

template <class T>
std::optional<double> GpuPoints<T>::own_mean_column_variance(const Statistics& statistics) const {
  const cuda::Stream& stream = job_->stream();
  const std::int64_t n = this->rank_rows().all();
  const std::int64_t d = points_.columns();
  const std::vector<core::TotalGrid> grids = column_totals(statistics, n, 0, std::ssize(statistics.columns));
  constexpr std::size_t words_of_a_sum = sizeof(TotalWords) / sizeof(Word);
  const std::size_t words = words_of_a_sum * static_cast<std::size_t>(d);
  const std::vector<std::uint64_t> found = this->ranks().sum(words + 1, [&](std::span<std::uint64_t> own) {
    cuda::DeviceBuffer<core::TotalGrid> device_grids(d);
    cuda::DeviceBuffer<TotalWords> sums(d);
    cuda::DeviceBuffer<Word> too_small(1);
    device_grids.copy_from_host(grids.data(), d, stream);
    sums.clear(stream);
    too_small.clear(stream);
    sum_columns<T>
        <<<blocks(8), 256, 0, stream>>>(device_rows(*this), device_grids.data(), sums.data(), too_small.data());
    cuda::check_launch("sum_columns");
    sums.copy_to_host(reinterpret_cast<TotalWords*>(own.data()), d, stream);
    too_small.copy_to_host(reinterpret_cast<Word*>(&own[words]), 1, stream);
    stream.wait();
  });
  if (found[words] > 0) return std::nullopt;
  core::ExactAccumulator count;
  count.add(static_cast<double>(n));
  Matrix<T> mean(1, d);
  for (std::int64_t column = 0; column < d; ++column) {
    core::ExactAccumulator sum;
    TotalWords limbs{};
    std::memcpy(&limbs, &found[words_of_a_sum * static_cast<std::size_t>(column)], sizeof limbs);
    grids[static_cast<std::size_t>(column)].add_to(sum, limbs_of(limbs), 0);
    mean(0, column) = sum.quotient<T>(count);
  }
  core::ExactAccumulator squares;
  this->ranks().add_up(
      core::accumulator_limbs,
      [&] {
        cuda::DeviceBuffer<T> device_mean(d);
        device_mean.copy_from_host(mean.data(), d, stream);
        const DeviceRows<T> mean_row{device_mean.data(), 1, d, static_cast<int>(d)};
        DeviceTotal total;
        sum_squares<T><<<blocks(6), block_rows, 0, stream>>>(device_rows(*this), mean_row, statistics.inertia,
                                                             total.cleared(stream));
        cuda::check_launch("sum_squares");
        squares = total.fetch(statistics.inertia, 0, stream);
      },
      [&](std::span<std::uint64_t> own) { core::Ranks::put(std::span(&squares, 1), own); },
      [&](std::span<const std::uint64_t> all) { core::Ranks::take(all, std::span(&squares, 1)); });
  return squares.template quotient<double>(count) / static_cast<double>(d);
}

template <class T>
void GpuPoints<T>::to_unit_rows() {
  if (are_in_blocks()) return to_unit_rows_on_host();
  const cuda::Stream& stream = job_->stream();
  constexpr std::int64_t quad = 16 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t area = points_.rows() * points_.columns();
  this->ranks().agree([&] {
    cuda::DeviceBuffer<T> unit(area + quad);
    cuda::DeviceBuffer<Word> first_zero(1);
    cuda::check(cudaMemsetAsync(unit.data() + area, 0, 16, stream), "cudaMemsetAsync");
    first_zero.fill_bytes(0xff, stream);
    scale_to_unit_length<T><<<blocks(8), block_rows, 0, stream>>>(device_rows(*this), unit.data(), first_zero.data());
    cuda::check_launch("scale_to_unit_length");
    Word zero = 0;
    first_zero.copy_to_host(&zero, 1, stream);
    stream.wait();
    if (zero != ~Word{0}) throw_zero_row("points", this->rank_rows().first() + static_cast<std::int64_t>(zero));
    owned_ = std::move(unit);
  });
  points_ = {owned_.data(), points_.rows(), points_.columns(), points_.place()};
}

template <class T>
Matrix<T> GpuPoints<T>::copies_of(std::span<const std::int64_t> rows) const {
  const cuda::Stream& stream = job_->stream();
  const auto count = static_cast<std::int64_t>(rows.size());
  Matrix<T> copy(count, points_.columns());
  if (count == 0) return copy;
  if (are_in_blocks()) {
    for (std::int64_t index = 0; index < count; ++index)
      host_rows_.copy(rows[static_cast<std::size_t>(index)], 1, copy.row(index));
    return copy;
  }
  cuda::DeviceBuffer<T> gathered(count * points_.columns());
  gather(*this, rows, gathered.data());
  gathered.copy_to_host(copy.data(), gathered.size(), stream);
  stream.wait();
  return copy;
}

template <class T>
Matrix<T> GpuPoints<T>::rows_at(std::span<const std::int64_t> numbers) const {
  return this->rank_rows().template rows_at<T>(numbers, points_.columns(), [&](std::span<const std::int64_t> own) {
    std::vector<std::int64_t> rows(own.begin(), own.end());
    for (std::int64_t& row : rows) row -= this->rank_rows().first();
    return copies_of(rows);
  });
}

#define GRADUS_INSTANTIATE(T)                                                                               \
  template class GpuPoints<T>;                                                                              \
  template cuda::DeviceBuffer<T> contiguous_copy(MatrixView<const T>, cuda::Job&);                          \
  template void gather_of_ranks(const DeviceRows<T>&, const core::RankRows&, std::span<const std::int64_t>, \
                                std::int64_t, const std::function<T*()>&, cuda::Job&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
