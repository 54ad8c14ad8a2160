// Points on a GPU: their ranges and variance, rows and distances, and k-means++ and k-means|| over them.
//
// All kernels but a few read the points once and are bound by that: n d elements. A block works on 256 rows at a time,
// the blocks of RowSums (row_sums.hpp); it brings a tile of their columns to shared memory, side by side as they lie,
// and each thread then walks along its own row, so that the chain of each distance has the canonical order. Sums are of
// integers and extremes are exact, so that blocks may finish in any order.
//
// A step of greedy k-means++ reads the points twice, for the gains of the candidates and to add the best: 2 n d
// elements, 17 n bytes of distances, and (trials + 1) n d differences and multiply-adds in double.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include "cuda/callers_memory.hpp"
#include "cuda/column_ranges.hpp"
#include "kmeans/cuda_common.hpp"
#include "kmeans/cuda_points.hpp"
#include "kmeans/row_sums.hpp"
#include "kmeans/statistics.hpp"

namespace gradus::kmeans_detail {

namespace {

using Word = unsigned long long;

constexpr int block_rows = static_cast<int>(RowSums::block_rows);
constexpr int group_blocks = 256;      // blocks of rows whose sums are summed up again
constexpr int candidates_at_once = 8;  // distances that a thread computes side by side
constexpr int direct_columns = 8;      // rows so short that a warp's reads of its own rows use whole lines

// ------------------------------------------------------------------------------------------------ columns

/// sums[column] and sums[columns + column]: the limbs of each column.
template <class T>
__global__ void sum_columns(const DeviceRows<T> rows, const core::Grid* grids, Word* sums) {
  Word high = 0;
  Word low = 0;
  const auto visit = [&](std::int64_t, int column, T value) {
    const core::Limbs limbs = grids[column].split(static_cast<double>(value));
    high += static_cast<Word>(limbs.high);
    low += static_cast<Word>(limbs.low);
  };
  visit_columns(rows, visit, [&](int column) {
    atomicAdd(&sums[column], high);
    atomicAdd(&sums[rows.columns + column], low);
    high = low = 0;
  });
}

// Launch shape: one thread for each row, the grid's stride over them.
template <class T>
__global__ void scale_to_unit_length(const DeviceRows<T> rows, T* unit, Word* first_zero) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows.count; row += stride) {
    bool zero = true;
    double squares = 0;
    for (int dim = 0; dim < rows.columns; ++dim) {
      const double value = static_cast<double>(value_at(rows, row, dim));
      zero &= value == 0;
      squares = fma(value, value, squares);
    }
    if (zero) atomicMin(first_zero, static_cast<Word>(row));
    const double length = squares > 0 ? sqrt(squares) : 1.0;
    for (int dim = 0; dim < rows.columns; ++dim)
      unit[row * rows.columns + dim] = static_cast<T>(static_cast<double>(value_at(rows, row, dim)) / length);
  }
}

// ------------------------------------------------------------------------------------------------ distances of rows

/// sums[g] = D(row, the row of `others` with number which[g], or g) for g < count <= Group.
template <class T, int Group>
__device__ void squared_distances_of_row(const DeviceRows<T>& rows, std::int64_t row, const DeviceRows<T>& others,
                                         const std::int64_t* which, int count, double (&sums)[Group]) {
  for (int column = 0; column < rows.columns; ++column) {
    const auto value = static_cast<double>(value_at(rows, row, column));
#pragma unroll
    for (int g = 0; g < Group; ++g) {
      if (g >= count) break;
      const double difference = value - static_cast<double>(value_at(others, which ? which[g] : g, column));
      sums[g] = fma(difference, difference, sums[g]);
    }
  }
}

/// sums[g] = D(row `first` + thread, the row of `others` with number which[g], or g) for g < count <= Group.
/// Launch shape: blocks of block_rows threads, of which all take part.
template <class T, int Group>
__device__ void squared_distances_of_block(const DeviceRows<T>& rows, std::int64_t first, const DeviceRows<T>& others,
                                           const std::int64_t* which, int count, double (&sums)[Group]) {
  constexpr int width = 128 / static_cast<int>(sizeof(T));
  __shared__ T tile[block_rows * (width + 1)];  // the odd width keeps the rows of a warp on different banks
  __shared__ double other[Group * width];
  const int thread = static_cast<int>(threadIdx.x);
  const int rows_here = static_cast<int>(min(std::int64_t{block_rows}, rows.count - first));
  for (int g = 0; g < Group; ++g) sums[g] = 0;
  if (rows.columns <= direct_columns) {
    if (thread < rows_here) squared_distances_of_row(rows, first + thread, others, which, count, sums);
    return;
  }
  for (int dim = 0; dim < rows.columns; dim += width) {
    const int columns = min(width, rows.columns - dim);
    __syncthreads();  // all have read the tile before
    for (int index = thread; index < rows_here * columns; index += block_rows) {
      const int row = index / columns;
      tile[row * (width + 1) + (index - row * columns)] = value_at(rows, first + row, dim + index - row * columns);
    }
    for (int index = thread; index < Group * columns; index += block_rows) {
      const int g = index / columns;
      const int column = index - g * columns;
      other[g * width + column] =
          g < count ? static_cast<double>(value_at(others, which ? which[g] : g, dim + column)) : 0.0;
    }
    __syncthreads();  // the tile is complete
    if (thread >= rows_here) continue;
    for (int column = 0; column < columns; ++column) {
      const double value = static_cast<double>(tile[thread * (width + 1) + column]);
#pragma unroll
      for (int g = 0; g < Group; ++g) {
        const double difference = value - other[g * width + column];
        sums[g] = fma(difference, difference, sums[g]);
      }
    }
  }
}

/// The sum over the block, in thread 0.
__device__ Word block_total(Word value) {
  __shared__ Word parts[block_rows / 32];
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(0xffffffffu, value, lanes);
  __syncthreads();  // the parts of a call before have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();  // every warp's part is there
  Word sum = 0;
  if (threadIdx.x == 0)
    for (const Word part : parts) sum += part;
  return sum;
}

/// total[0] and total[1]: the limbs of the sum of the squared distances to `mean`.
template <class T>
__global__ void sum_squares(const DeviceRows<T> rows, const DeviceRows<T> mean, core::Grid grid, Word* total) {
  Word high = 0;
  Word low = 0;
  for (std::int64_t first = std::int64_t{blockIdx.x} * block_rows; first < rows.count;
       first += std::int64_t{gridDim.x} * block_rows) {
    double distance[1];
    squared_distances_of_block(rows, first, mean, nullptr, 1, distance);
    if (first + threadIdx.x >= rows.count) continue;
    const core::Limbs limbs = grid.split(distance[0]);
    high += static_cast<Word>(limbs.high);
    low += static_cast<Word>(limbs.low);
  }
  high = block_total(high);
  low = block_total(low);
  if (threadIdx.x != 0) return;
  atomicAdd(&total[0], high);
  atomicAdd(&total[1], low);
}

// Launch shape: one thread for each row.
template <class T>
__global__ void measure_own_centroid(const DeviceRows<T> rows, const T* centroids, const std::int32_t* labels,
                                     double* out) {
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows.count) return;
  const T* centroid = centroids + std::int64_t{labels[row]} * rows.columns;
  double squares = 0;
  for (int dim = 0; dim < rows.columns; ++dim) {
    const double difference = static_cast<double>(value_at(rows, row, dim)) - static_cast<double>(centroid[dim]);
    squares = fma(difference, difference, squares);
  }
  out[row] = squares;
}

// Launch shape: one thread for each element.
template <class T>
__global__ void gather_rows(const DeviceRows<T> rows, const std::int64_t* which, std::int64_t count, T* out) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= count * rows.columns) return;
  out[index] = value_at(rows, which[index / rows.columns], static_cast<int>(index % rows.columns));
}

constexpr int square_side = 64;   // points and centroids of a block of find_distances
constexpr int square_depth = 16;  // columns at a time

/// The distances of transform(), each by the canonical chain; a thread has four points by four centroids.
/// Launch shape: blocks of 16 x 16 threads, one for 64 points (x) and 64 centroids (y).
template <class T>
__global__ void find_distances(const DeviceRows<T> points, const DeviceRows<T> centroids, bool cosine, T* out,
                               std::int64_t out_stride) {
  __shared__ double some_points[square_depth][square_side + 1];
  __shared__ double some_centroids[square_depth][square_side + 1];
  const std::int64_t first_point = std::int64_t{blockIdx.x} * square_side;
  const std::int64_t first_centroid = std::int64_t{blockIdx.y} * square_side;
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  double squares[4][4] = {};
  for (int dim = 0; dim < points.columns; dim += square_depth) {
    __syncthreads();  // all have used the columns before
    for (int row = y; row < square_side; row += 16) {
      const bool column_is_there = dim + x < points.columns;
      const bool point_is_there = column_is_there && first_point + row < points.count;
      const bool centroid_is_there = column_is_there && first_centroid + row < centroids.count;
      some_points[x][row] = point_is_there ? static_cast<double>(value_at(points, first_point + row, dim + x)) : 0.0;
      some_centroids[x][row] =
          centroid_is_there ? static_cast<double>(value_at(centroids, first_centroid + row, dim + x)) : 0.0;
    }
    __syncthreads();  // the columns are complete
    for (int column = 0; column < min(square_depth, points.columns - dim); ++column)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const double difference = some_points[column][y + 16 * i] - some_centroids[column][x + 16 * j];
          squares[i][j] = fma(difference, difference, squares[i][j]);
        }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const std::int64_t point = first_point + y + 16 * i;
      const std::int64_t centroid = first_centroid + x + 16 * j;
      if (point >= points.count || centroid >= centroids.count) continue;
      out[point * out_stride + centroid] = static_cast<T>(cosine ? 0.5 * squares[i][j] : sqrt(squares[i][j]));
    }
}

// ------------------------------------------------------------------------------------------------ the cover

template <class T>
struct CoverJob {
  DeviceRows<T> rows;
  const T* weights;  ///< null: all 1
  double weight_unit;
  Quantizer quantize;
  double* closest;
  std::int32_t* owners;  ///< null: nobody asks
  Word* block_sums;
  Word* group_sums;
  Word* total;

  __device__ double weighed(std::int64_t row, double distance) const {
    return weights ? static_cast<double>(weights[row]) * weight_unit * distance : distance;
  }
  __device__ Word integer(std::int64_t row) const { return quantize(weighed(row, closest[row])); }
  __device__ std::int64_t row_blocks() const { return (rows.count + block_rows - 1) / block_rows; }
};

/// Gives each point to the nearest of `count` new rows if that is nearer than its own; the first of them, `before` all
/// of which others were chosen. Leaves the block's sum. `anew`: there are none before.
/// Launch shape: blocks of block_rows threads, the grid's stride over the blocks of rows.
template <class T, int Group>
__global__ void add_rows(const CoverJob<T> job, const std::int64_t* which, int count, int before, bool anew) {
  for (std::int64_t block = blockIdx.x; block < job.row_blocks(); block += gridDim.x) {
    const std::int64_t row = block * block_rows + threadIdx.x;
    const bool is_row = row < job.rows.count;
    double least = is_row && !anew ? job.closest[row] : std::numeric_limits<double>::infinity();
    int nearest = -1;
    for (int part = 0; part < count; part += Group) {
      double distances[Group];
      squared_distances_of_block(job.rows, block * block_rows, job.rows, which + part, min(Group, count - part),
                                 distances);
      for (int g = 0; g < Group && part + g < count; ++g)
        if (distances[g] < least) {
          least = distances[g];
          nearest = part + g;
        }
    }
    if (is_row && nearest >= 0) {
      job.closest[row] = least;
      if (job.owners) job.owners[row] = before + nearest;
    }
    const Word sum = block_total(is_row ? job.quantize(job.weighed(row, least)) : 0);
    if (threadIdx.x == 0) job.block_sums[block] = sum;
  }
}

// Launch shape: as add_rows.
template <class T>
__global__ void sum_blocks(const CoverJob<T> job) {
  for (std::int64_t block = blockIdx.x; block < job.row_blocks(); block += gridDim.x) {
    const std::int64_t row = block * block_rows + threadIdx.x;
    const Word sum = block_total(row < job.rows.count ? job.integer(row) : 0);
    if (threadIdx.x == 0) job.block_sums[block] = sum;
  }
}

// Launch shape: one block of group_blocks threads for each group of blocks.
template <class T>
__global__ void sum_groups(const CoverJob<T> job) {
  const std::int64_t block = std::int64_t{blockIdx.x} * group_blocks + threadIdx.x;
  const Word sum = block_total(block < job.row_blocks() ? job.block_sums[block] : 0);
  if (threadIdx.x != 0) return;
  job.group_sums[blockIdx.x] = sum;
  atomicAdd(job.total, sum);
}

/// The largest w * D, as the bits of a double that is not negative. Launch shape: the grid's stride over the rows.
template <class T>
__global__ void find_largest(const CoverJob<T> job, Word* largest) {
  double most = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < job.rows.count; row += stride)
    most = fmax(most, job.weighed(row, job.closest[row]));
  for (int lanes = 16; lanes > 0; lanes /= 2) most = fmax(most, __shfl_down_sync(0xffffffffu, most, lanes));
  if (threadIdx.x % 32 == 0) atomicMax(largest, static_cast<Word>(__double_as_longlong(most)));
}

/// What the total would lose, for each of `count` candidates. Launch shape: as add_rows.
template <class T>
__global__ void find_gains(const CoverJob<T> job, const std::int64_t* which, int count, Word* gains) {
  for (int part = 0; part < count; part += candidates_at_once) {
    Word sums[candidates_at_once] = {};
    for (std::int64_t block = blockIdx.x; block < job.row_blocks(); block += gridDim.x) {
      const std::int64_t row = block * block_rows + threadIdx.x;
      double distances[candidates_at_once];
      squared_distances_of_block(job.rows, block * block_rows, job.rows, which + part,
                                 min(candidates_at_once, count - part), distances);
      if (row >= job.rows.count) continue;
      const double mine = job.closest[row];
      const Word before = job.quantize(job.weighed(row, mine));
#pragma unroll
      for (int g = 0; g < candidates_at_once; ++g)
        if (distances[g] < mine) sums[g] += before - job.quantize(job.weighed(row, distances[g]));
    }
#pragma unroll
    for (int g = 0; g < candidates_at_once; ++g) {
      const Word sum = block_total(sums[g]);
      if (threadIdx.x == 0 && part + g < count && sum > 0) atomicAdd(&gains[part + g], sum);
    }
  }
}

/// The first of up to 256 numbers at which their prefix sum passes `target`, which is lowered by what comes before; the
/// number of threads where there is none. `mine`: this thread's number. All threads get the same answer.
__device__ int passes_at(Word mine, Word& target) {
  __shared__ Word prefix[block_rows];
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();  // a call before has been read
  prefix[thread] = mine;
  for (int step = 1; step < block_rows; step *= 2) {
    __syncthreads();  // the sums of the step before are there
    const Word other = thread >= step ? prefix[thread - step] : 0;
    __syncthreads();  // and have been read
    prefix[thread] += other;
  }
  __syncthreads();  // the sums are complete
  const int found = __syncthreads_count(prefix[thread] <= target);
  if (found > 0) target -= prefix[found - 1];
  return found;
}

/// The row in which the prefix sum of all integers passes each target.
/// Launch shape: one block of block_rows threads for each target.
template <class T>
__global__ void find_rows(const CoverJob<T> job, const Word* targets, std::int64_t* found) {
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t groups = (job.row_blocks() + group_blocks - 1) / group_blocks;
  Word target = targets[blockIdx.x];
  std::int64_t first = 0;
  int place = block_rows;
  for (; place == block_rows && first < groups; first += block_rows)
    place = passes_at(first + thread < groups ? job.group_sums[first + thread] : 0, target);
  const std::int64_t group = first - block_rows + place;
  const std::int64_t some_block = group * group_blocks + thread;
  const std::int64_t block =
      group * group_blocks + passes_at(some_block < job.row_blocks() ? job.block_sums[some_block] : 0, target);
  const std::int64_t row = block * block_rows + thread;
  const std::int64_t result = block * block_rows + passes_at(row < job.rows.count ? job.integer(row) : 0, target);
  if (thread == 0) found[blockIdx.x] = result;
}

/// The rows of a round of k-means||, in any order; length[0] counts also those for which there is no room.
/// Launch shape: the grid's stride over the rows.
template <class T>
__global__ void draw_rows(const CoverJob<T> job, Word wanted, Word total, core::Philox random, int round,
                          std::int64_t* drawn, Word room, Word* length) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < job.rows.count; row += stride) {
    const Word share = job.integer(row);
    if (share == 0 || !is_drawn(wanted, share, total, random.bits(draw_index(round, row)))) continue;
    const Word place = atomicAdd(length, Word{1});
    if (place < room) drawn[place] = row;
  }
}

// Launch shape: the grid's stride over the rows.
template <class T>
__global__ void weigh_chosen(const CoverJob<T> job, Quantizer quantize, Word* sums) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < job.rows.count; row += stride)
    atomicAdd(&sums[job.owners[row]], job.weights ? quantize(job.weighed(row, 1.0)) : Word{1});
}

template <class T>
class CudaCover : public GpuCover<T> {
 public:
  CudaCover(const CudaPoints<T>& points, DeviceRows<T> rows, const cpu::Gpu& gpu, std::int64_t first, bool groups)
      : session_(points.session()), multiprocessors_(gpu.multiprocessors), closest_(rows.count),
        owners_(groups ? rows.count : 0), block_sums_((rows.count + block_rows - 1) / block_rows),
        group_sums_((block_sums_.size() + group_blocks - 1) / group_blocks), total_(1), targets_(most), which_(most),
        gains_(most), staged_(2 * most) {
    double largest_weight = 0;
    for (const T weight : points.host_weights()) largest_weight = std::max(largest_weight, static_cast<double>(weight));
    job_.rows = rows;
    job_.weights = points.weights().data();
    job_.weight_unit = points.weights().empty() ? 1.0 : std::ldexp(1.0, -core::exponent_above(largest_weight));
    job_.closest = closest_.data();
    job_.owners = groups ? owners_.data() : nullptr;
    job_.block_sums = block_sums_.data();
    job_.group_sums = group_sums_.data();
    job_.total = total_.data();
    put(std::span(&first, 1));
    add_rows<T, 1><<<blocks(8), block_rows, 0, stream()>>>(job_, which_.data(), 1, 0, true);
    cuda::check_launch("add_rows");
    chosen_ = {first};
    rescale();
  }

  std::uint64_t total() const override { return host_total_; }
  const std::vector<std::int64_t>& chosen() const override { return chosen_; }

  std::vector<std::int64_t> rows_at(std::span<const std::uint64_t> targets) const override {
    const auto count = static_cast<std::int64_t>(targets.size());
    std::copy(targets.begin(), targets.end(), staged_.data());
    targets_.copy_from_host(staged_.data(), count, stream());
    find_rows<T><<<static_cast<unsigned int>(count), block_rows, 0, stream()>>>(job_, targets_.data(), which_.data());
    cuda::check_launch("find_rows");
    std::vector<std::int64_t> rows(targets.size());
    which_.copy_to_host(rows.data(), count, stream());
    stream().wait();
    return rows;
  }

  std::vector<std::uint64_t> gains(std::span<const std::int64_t> candidates) const override {
    put(candidates);
    gains_.clear(stream());
    const auto count = static_cast<int>(candidates.size());
    find_gains<T><<<blocks(6), block_rows, 0, stream()>>>(job_, which_.data(), count, gains_.data());
    cuda::check_launch("find_gains");
    gains_.copy_to_host(staged_.data(), count, stream());
    stream().wait();
    return {staged_.data(), staged_.data() + count};
  }

  void add(std::span<const std::int64_t> rows) override {
    put(rows);
    const auto count = static_cast<int>(rows.size());
    const auto before = static_cast<int>(chosen_.size());
    if (count == 1) add_rows<T, 1><<<blocks(8), block_rows, 0, stream()>>>(job_, which_.data(), 1, before, false);
    else
      add_rows<T, candidates_at_once>
          <<<blocks(6), block_rows, 0, stream()>>>(job_, which_.data(), count, before, false);
    cuda::check_launch("add_rows");
    chosen_.insert(chosen_.end(), rows.begin(), rows.end());
    refresh();
    if (host_total_ < total_at_rescale_ / 4) rescale();
  }

  std::vector<std::int64_t> sample(std::uint64_t wanted, const core::Philox& random, int round) const override {
    cuda::DeviceBuffer<Word> length(1);
    Word room = std::min<Word>(2 * wanted + 1024, static_cast<Word>(job_.rows.count));
    while (true) {
      cuda::DeviceBuffer<std::int64_t> drawn(static_cast<std::int64_t>(room));
      length.clear(stream());
      draw_rows<T><<<blocks(8), block_rows, 0, stream()>>>(job_, wanted, host_total_, random, round, drawn.data(), room,
                                                           length.data());
      cuda::check_launch("draw_rows");
      Word count = 0;
      length.copy_to_host(&count, 1, stream());
      stream().wait();
      if (count > room) {
        room = count;  // once more: the same rows again, and room for all
        continue;
      }
      std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
      drawn.copy_to_host(rows.data(), static_cast<std::int64_t>(count), stream());
      stream().wait();
      std::sort(rows.begin(), rows.end());
      return rows;
    }
  }

  std::vector<std::uint64_t> weights_of_chosen() const override {
    cuda::DeviceBuffer<Word> sums(static_cast<std::int64_t>(chosen_.size()));
    sums.clear(stream());
    weigh_chosen<T><<<blocks(8), block_rows, 0, stream()>>>(job_, Quantizer(1.0, job_.rows.count), sums.data());
    cuda::check_launch("weigh_chosen");
    std::vector<Word> host(chosen_.size());
    sums.copy_to_host(host.data(), sums.size(), stream());
    stream().wait();
    return {host.begin(), host.end()};
  }

 private:
  static constexpr std::int64_t most = GpuCover<T>::most_candidates;

  const cuda::Stream& stream() const { return session_->stream; }
  unsigned int blocks(int per_multiprocessor) const {
    return static_cast<unsigned int>(
        std::min<std::int64_t>(std::int64_t{per_multiprocessor} * multiprocessors_, block_sums_.size()));
  }

  void put(std::span<const std::int64_t> rows) const {
    if (static_cast<std::int64_t>(rows.size()) > most) throw Error("too many candidates at once");
    stream().wait();  // what was staged before has been sent
    std::int64_t* staged = reinterpret_cast<std::int64_t*>(staged_.data()) + most;
    std::copy(rows.begin(), rows.end(), staged);
    which_.copy_from_host(staged, static_cast<std::int64_t>(rows.size()), stream());
  }

  void refresh() {
    total_.clear(stream());
    sum_groups<T><<<static_cast<unsigned int>(group_sums_.size()), group_blocks, 0, stream()>>>(job_);
    cuda::check_launch("sum_groups");
    total_.copy_to_host(staged_.data(), 1, stream());
    stream().wait();
    host_total_ = staged_[0];
  }

  void rescale() {
    total_.clear(stream());
    find_largest<T><<<blocks(8), block_rows, 0, stream()>>>(job_, total_.data());
    cuda::check_launch("find_largest");
    total_.copy_to_host(staged_.data(), 1, stream());
    stream().wait();
    job_.quantize = Quantizer(std::bit_cast<double>(staged_[0]), job_.rows.count);
    sum_blocks<T><<<blocks(8), block_rows, 0, stream()>>>(job_);
    cuda::check_launch("sum_blocks");
    refresh();
    total_at_rescale_ = host_total_;
  }

  std::shared_ptr<CudaSession> session_;
  int multiprocessors_;
  CoverJob<T> job_{};
  cuda::DeviceBuffer<double> closest_;
  cuda::DeviceBuffer<std::int32_t> owners_;
  cuda::DeviceBuffer<Word> block_sums_;
  cuda::DeviceBuffer<Word> group_sums_;
  cuda::DeviceBuffer<Word> total_;
  mutable cuda::DeviceBuffer<Word> targets_;
  mutable cuda::DeviceBuffer<std::int64_t> which_;
  mutable cuda::DeviceBuffer<Word> gains_;
  mutable cuda::PinnedBuffer<Word> staged_;
  std::uint64_t host_total_ = 0;
  std::uint64_t total_at_rescale_ = 0;
  std::vector<std::int64_t> chosen_;
};

}  // namespace

template <class T>
cuda::DeviceBuffer<T> contiguous_copy(MatrixView<const T> rows, CudaSession& session) {
  constexpr std::int64_t quad = 16 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t area = rows.rows() * rows.columns();
  cuda::DeviceBuffer<T> copy(area + quad);
  cuda::check(cudaMemsetAsync(copy.data() + area, 0, 16, session.stream), "cudaMemsetAsync");
  if (rows.place().is_host()) cuda::upload(rows, copy, session.staging, session.threads, session.stream);
  else cuda::copy_rows(rows, copy.data(), cudaMemcpyDeviceToDevice, session.stream);
  return copy;
}

template <class T>
CudaPoints<T>::CudaPoints(MatrixView<const T> points, VectorView<const T> weights, const Execution& execution,
                          std::uint64_t extra_bytes)
    : gpu_(cuda::require_gpu(cpu::this_machine(), execution.gpu)),
      session_(std::make_shared<CudaSession>(execution.gpu, cpu::thread_count(execution))), points_(points),
      weights_(weights) {
  const MemoryPlace here = MemoryPlace::on_gpu(execution.gpu);
  const bool uploads = points.place().is_host();
  const bool uploads_weights = !weights.empty() && weights.place().is_host();
  std::uint64_t bytes = extra_bytes;
  if (uploads) bytes += static_cast<std::uint64_t>(points.rows() * points.columns()) * sizeof(T) + 16;
  if (uploads_weights) bytes += static_cast<std::uint64_t>(weights.size()) * sizeof(T);
  cuda::require_free_memory(bytes);
  if (!uploads || (!weights.empty() && !uploads_weights)) cuda::wait_for_caller(execution);
  if (!uploads) {
    cuda::require_memory_of(points.data(), execution.gpu, "points");
  } else {
    owned_ = contiguous_copy(points, *session_);
    points_ = {owned_.data(), points.rows(), points.columns(), here};
  }
  weights_in_host_memory_ = weights;
  if (uploads_weights) {
    owned_weights_ = contiguous_copy(MatrixView<const T>(weights.data(), weights.size(), 1), *session_);
    weights_ = {owned_weights_.data(), weights.size(), here};
  } else if (!weights.empty()) {
    cuda::require_memory_of(weights.data(), execution.gpu, "weights");
    host_weights_ = Buffer<T>(weights.size());
    cuda::copy_rows(MatrixView<const T>(weights.data(), weights.size(), 1), host_weights_.data(),
                    cudaMemcpyDeviceToHost, session_->stream);
    weights_in_host_memory_ = std::as_const(host_weights_).view();
  }
  session_->stream.wait();
}

template <class T>
unsigned int CudaPoints<T>::blocks(int per_multiprocessor) const {
  const std::int64_t needed = (points_.rows() + block_rows - 1) / block_rows;
  return static_cast<unsigned int>(
      std::clamp<std::int64_t>(needed, 1, std::int64_t{per_multiprocessor} * gpu_.multiprocessors));
}

template <class T>
VectorView<const T> CudaPoints<T>::host_weights() const {
  return weights_in_host_memory_;
}

template <class T>
core::ColumnRanges CudaPoints<T>::column_ranges() {
  return cuda::column_ranges(points_, "points", session_->stream);
}

template <class T>
double CudaPoints<T>::mean_column_variance(const Statistics& statistics) {
  const cuda::Stream& stream = session_->stream;
  const std::int64_t n = points_.rows();
  const std::int64_t d = points_.columns();
  cuda::DeviceBuffer<core::Grid> grids(d);
  cuda::DeviceBuffer<Word> sums(2 * d + 2);
  grids.copy_from_host(statistics.columns.data(), d, stream);
  sums.clear(stream);
  sum_columns<T><<<blocks(8), 256, 0, stream>>>(device_rows(), grids.data(), sums.data());
  cuda::check_launch("sum_columns");
  Buffer<Word> host(2 * d + 2);
  sums.copy_to_host(host.data(), host.size(), stream);
  stream.wait();
  const auto limbs = [&](std::int64_t high, std::int64_t low) {
    return core::Limbs{static_cast<std::int64_t>(host[high]), static_cast<std::int64_t>(host[low])};
  };
  Matrix<T> mean(1, d);
  for (std::int64_t column = 0; column < d; ++column) {
    const core::Grid& grid = statistics.columns[static_cast<std::size_t>(column)];
    mean(0, column) =
        core::round_quotient<T>(grid.total(limbs(column, d + column)), static_cast<core::UInt128>(n), grid.unit);
  }
  cuda::DeviceBuffer<T> device_mean(d);
  device_mean.copy_from_host(mean.data(), d, stream);
  const DeviceRows<T> mean_row{device_mean.data(), 1, d, static_cast<int>(d)};
  sum_squares<T>
      <<<blocks(6), block_rows, 0, stream>>>(device_rows(), mean_row, statistics.inertia, sums.data() + 2 * d);
  cuda::check_launch("sum_squares");
  sums.copy_to_host(host.data(), host.size(), stream);
  stream.wait();
  const core::Int128 squares = statistics.inertia.total(limbs(2 * d, 2 * d + 1));
  return core::round_quotient<double>(squares, static_cast<core::UInt128>(n), statistics.inertia.unit) /
         static_cast<double>(d);
}

template <class T>
void CudaPoints<T>::to_unit_rows() {
  const cuda::Stream& stream = session_->stream;
  constexpr std::int64_t quad = 16 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t area = points_.rows() * points_.columns();
  cuda::DeviceBuffer<T> unit(area + quad);
  cuda::DeviceBuffer<Word> first_zero(1);
  cuda::check(cudaMemsetAsync(unit.data() + area, 0, 16, stream), "cudaMemsetAsync");
  first_zero.fill_bytes(0xff, stream);
  scale_to_unit_length<T><<<blocks(8), block_rows, 0, stream>>>(device_rows(), unit.data(), first_zero.data());
  cuda::check_launch("scale_to_unit_length");
  Word zero = 0;
  first_zero.copy_to_host(&zero, 1, stream);
  stream.wait();
  if (zero != ~Word{0}) throw_zero_row("points", static_cast<std::int64_t>(zero));
  owned_ = std::move(unit);
  points_ = {owned_.data(), points_.rows(), points_.columns(), points_.place()};
}

template <class T>
Matrix<T> CudaPoints<T>::copy_rows(std::span<const std::int64_t> rows) const {
  const cuda::Stream& stream = session_->stream;
  const auto count = static_cast<std::int64_t>(rows.size());
  Matrix<T> copy(count, points_.columns());
  if (count == 0) return copy;
  cuda::DeviceBuffer<std::int64_t> which(count);
  cuda::DeviceBuffer<T> gathered(count * points_.columns());
  which.copy_from_host(rows.data(), count, stream);
  gather_rows<T>
      <<<blocks_for(gathered.size(), 256), 256, 0, stream>>>(device_rows(), which.data(), count, gathered.data());
  cuda::check_launch("gather_rows");
  gathered.copy_to_host(copy.data(), gathered.size(), stream);
  stream.wait();
  return copy;
}

template <class T>
Matrix<T> CudaPoints<T>::copy_slice(std::int64_t first, std::int64_t count) const {
  Matrix<T> copy(count, points_.columns());
  cuda::copy_rows(points_.slice(first, count), copy.data(), cudaMemcpyDeviceToHost, session_->stream);
  session_->stream.wait();
  return copy;
}

template <class T>
void CudaPoints<T>::own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels,
                                          double* out) const {
  const cuda::Stream& stream = session_->stream;
  const std::int64_t n = points_.rows();
  const cuda::DeviceBuffer<T> device_centroids = contiguous_copy(centroids, *session_);
  cuda::DeviceBuffer<std::int32_t> device_labels(n);
  cuda::DeviceBuffer<double> distances(n);
  device_labels.copy_from_host(labels, n, stream);
  measure_own_centroid<T><<<blocks_for(n, 256), 256, 0, stream>>>(device_rows(), device_centroids.data(),
                                                                  device_labels.data(), distances.data());
  cuda::check_launch("measure_own_centroid");
  cuda::download(distances, out, n, session_->staging, session_->threads, stream);
  stream.wait();
}

template <class T>
void CudaPoints<T>::distances(MatrixView<const T> centroids, Metric metric, MatrixView<T> distances) const {
  const cuda::Stream& stream = session_->stream;
  const std::int64_t n = points_.rows();
  const std::int64_t k = centroids.rows();
  const cuda::DeviceBuffer<T> device_centroids = contiguous_copy(centroids, *session_);
  const DeviceRows<T> columns{device_centroids.data(), k, centroids.columns(), static_cast<int>(centroids.columns())};
  const bool stays = !distances.place().is_host();
  // Distances for host memory are computed some hundred MiB at a time.
  constexpr std::int64_t most_elements = (std::int64_t{256} << 20) / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t at_once = stays ? n : std::clamp<std::int64_t>(most_elements / k, 1, n);
  cuda::DeviceBuffer<T> piece(stays ? 0 : at_once * k);
  for (std::int64_t first = 0; first < n; first += at_once) {
    const std::int64_t count = std::min(at_once, n - first);
    const DeviceRows<T> rows{points_.row(first), count, points_.row_stride(), static_cast<int>(points_.columns())};
    const dim3 grid(blocks_for(count, square_side), blocks_for(k, square_side));
    find_distances<T><<<grid, dim3(16, 16), 0, stream>>>(rows, columns, metric == Metric::cosine,
                                                         stays ? distances.data() : piece.data(),
                                                         stays ? distances.row_stride() : k);
    cuda::check_launch("find_distances");
    if (stays) continue;
    if (distances.contiguous()) {
      cuda::download(piece, distances.row(first), count * k, session_->staging, session_->threads, stream);
      continue;
    }
    cuda::check(cudaMemcpy2DAsync(distances.row(first), static_cast<std::size_t>(distances.row_stride()) * sizeof(T),
                                  piece.data(), static_cast<std::size_t>(k) * sizeof(T),
                                  static_cast<std::size_t>(k) * sizeof(T), static_cast<std::size_t>(count),
                                  cudaMemcpyDeviceToHost, stream),
                "cudaMemcpy2DAsync");
  }
  stream.wait();
}

template <class T>
void CudaPoints<T>::require_here(const void* address, const char* what) const {
  cuda::require_memory_of(address, gpu_.index, what);
}

template <class T>
void CudaPoints<T>::store_labels(const std::int32_t* labels, VectorView<std::int32_t> to) const {
  cuda::check(cudaMemcpyAsync(to.data(), labels, static_cast<std::size_t>(to.size()) * sizeof *labels,
                              cudaMemcpyHostToDevice, session_->stream),
              "cudaMemcpyAsync");
  session_->stream.wait();
}

template <class T>
std::unique_ptr<GpuCover<T>> CudaPoints<T>::cover(std::int64_t first, bool groups) const {
  return std::make_unique<CudaCover<T>>(*this, device_rows(), gpu_, first, groups);
}

template <class T>
std::unique_ptr<GpuPoints<T>> make_gpu_points(MatrixView<const T> points, VectorView<const T> weights,
                                              const Execution& execution, std::uint64_t extra_bytes) {
  return std::make_unique<CudaPoints<T>>(points, weights, execution, extra_bytes);
}

template <class T>
Matrix<T> copy_to_host(MatrixView<const T> rows, const char* what, const Execution& execution) {
  if (rows.place().is_host()) return Matrix<T>::copy_of(rows);
  cuda::require_gpu(cpu::this_machine(), rows.place().gpu);
  const cuda::CurrentDevice device(rows.place().gpu);
  cuda::wait_for_caller(execution);
  cuda::require_memory_of(rows.data(), rows.place().gpu, what);
  const cuda::Stream stream;
  Matrix<T> copy(rows.rows(), rows.columns());
  cuda::copy_rows(rows, copy.data(), cudaMemcpyDeviceToHost, stream);
  stream.wait();
  return copy;
}

#define GRADUS_INSTANTIATE(T)                                                                                        \
  template class CudaPoints<T>;                                                                                      \
  template cuda::DeviceBuffer<T> contiguous_copy(MatrixView<const T>, CudaSession&);                                 \
  template std::unique_ptr<GpuPoints<T>> make_gpu_points(MatrixView<const T>, VectorView<const T>, const Execution&, \
                                                         std::uint64_t);                                             \
  template Matrix<T> copy_to_host(MatrixView<const T>, const char*, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
