// Kernels for products that are not tiled: tiny products, and products with a single row or column. Products with a
// single row or column read each element of the matrix once and are limited by memory. This file also distributes
// blocks of k among blocks of threads.
#pragma once

#include "cuda/warpgroup.cuh"
#include "matmul/gpu/product.cuh"
#include "matmul/gpu/vectors.cuh"

namespace gradus::matmul_detail {

/// Describes how blocks of k are divided among blocks of threads, and where the sums of the blocks of k are stored.
template <class T>
struct Split {
  T* sums = nullptr;  ///< for each block of k, one sum per element of C in row-major order; null if k is not split
  std::int64_t elements = 0;  ///< number of elements of C, over all products
  std::int64_t first = 0;     ///< the first block of k in `sums`
  std::int64_t end = 0;       ///< one past the last block of k in `sums`
  std::int64_t at_once = 0;   ///< number of blocks of k that a block of threads sums
  std::int64_t parts = 1;     ///< number of blocks of threads per tile

  __device__ T* slice(std::int64_t block, std::int64_t of_a_product, std::int64_t batch) const {
    return sums + (block - first) * elements + batch * of_a_product;
  }
};

struct Share {
  std::int64_t batch;
  std::int64_t row;
  std::int64_t column;
  std::int64_t first_block;
  std::int64_t end_block;
};

/// Returns the calling block's share of the work. All parts of a tile have consecutive block numbers.
template <class T>
__device__ Share share_of(const Tiles& tiles, const Split<T>& split) {
  const std::int64_t number = tiles.first + blockIdx.x;
  const Tiles::Place place = tiles.place_in_strips(number / split.parts);
  const std::int64_t first = split.first + number % split.parts * split.at_once;
  return {place.batch, place.row, place.column, first, min(first + split.at_once, split.end)};
}

// ---------------------------------------------------------------------------------------------------------------------
// A matrix times a column, and a row times a matrix

constexpr int line_threads = 128;

// Matrix times column. A warp computes 32 rows, one per thread, and loads 32 x 32 elements at a time. The 32 elements
// that the warp loads from a row are adjacent. The warp issues the loads of all rows before it waits. Each thread then
// reads its row from shared memory. The next 32 x 32 elements are loaded while the current ones are used. Launch shape:
// a block of 4 warps per 128 rows of C. If k is split, each part of k has a separate block.
template <class T>
__global__ void __launch_bounds__(line_threads) multiply_rows(Product<T> product, Tiles tiles, Split<T> split) {
  constexpr int side = 32;
  __shared__ T a_tiles[line_threads / 32][side][side + 1];  // +1 avoids bank conflicts in a column
  __shared__ T b_tiles[line_threads / 32][side];
  const Share share = share_of(tiles, split);
  product.select(share.batch);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t top = share.row * line_threads + warp * side;
  if (top >= product.m) return;  // the whole warp returns
  T(&a_tile)[side][side + 1] = a_tiles[warp];
  T(&b_tile)[side] = b_tiles[warp];
  const std::int64_t end = min(share.end_block * block_depth, product.k);
  T on_their_way[side];
  T b_on_its_way = 0;
  const auto order = [&](std::int64_t first) {
    const bool is_there = first + lane < end;
    const T* from = product.a.data + first + lane;
#pragma unroll
    for (int row = 0; row < side; ++row)
      on_their_way[row] = is_there ? from[min(top + row, product.m - 1) * product.a.row_stride] : T(-0.0);
    b_on_its_way = is_there ? product.b(first + lane, 0) : T(0);
  };
  T total = T(-0.0);
  T sum = 0;
  std::int64_t block = share.first_block;
  order(block * block_depth);
  for (std::int64_t first = block * block_depth; first < end; first += side) {
    __syncwarp();  // the previous elements have been read
#pragma unroll
    for (int row = 0; row < side; ++row) a_tile[row][lane] = on_their_way[row];
    b_tile[lane] = b_on_its_way;
    __syncwarp();  // all elements have arrived
    if (first + side < end) order(first + side);
#pragma unroll
    for (int inner = 0; inner < side; ++inner) sum = fma(a_tile[lane][inner], b_tile[inner], sum);
    if ((first + side) % block_depth != 0 && first + side < end) continue;
    if (split.sums != nullptr && top + lane < product.m) split.slice(block, product.m, share.batch)[top + lane] = sum;
    total += sum;
    sum = 0;
    ++block;
  }
  if (split.sums == nullptr) product.finish(top + lane, 0, total);
}

// Matrix times column with the copy engine, for rows that begin at multiples of 16 bytes. One warp issues copies of 512
// bytes from each of 32 rows and from the column. Each thread of the other warp computes one row. A gap of 16 bytes
// between rows in shared memory lets eight threads read different banks. Throughput grows with the number of bytes in
// flight. The copies need no registers, so a multiprocessor holds six blocks, each with 34 KiB in flight.
struct LongRows {
  static constexpr int rows = 32;
  static constexpr int threads = 64;
  static constexpr int stages = 2;
  static constexpr int bytes = 512;  ///< bytes of a row per stage
  static constexpr int pitch = bytes + 16;
  static constexpr int stage_bytes = rows * pitch + bytes;
};

/// Returns true if the copy engine can fetch the rows and the column. Only float benefits. Double needs half as many
/// additions per byte as float, so multiply_rows() for double is already limited by memory alone.
template <class T>
bool has_long_rows(const Problem<T>& problem) {
  if (sizeof(T) != sizeof(float)) return false;
  const Operand<const T> column{problem.b.data, vector_length<T>, 1, problem.b.batch_stride};
  return problem.n == 1 && problem.b.row_stride == 1 && has_vectors(problem.a) && has_vectors(column) &&
         problem.k % vector_length<T> == 0;
}

// Launch shape: a block of two warps per 32 rows of C. If k is split, each part of k has a separate block.
template <class T>
__global__ void __launch_bounds__(LongRows::threads)
    multiply_long_rows(Product<T> product, Tiles tiles, Split<T> split) {
#ifdef GRADUS_WARPGROUP_PRODUCT
  using Shape = LongRows;
  constexpr int columns = Shape::bytes / sizeof(T);
  constexpr int vector = vector_length<T>;
  static_assert(block_depth % columns == 0);
  __shared__ alignas(128) unsigned char memory[Shape::stages][Shape::stage_bytes];
  __shared__ cuda::Barrier filled[Shape::stages];
  __shared__ cuda::Barrier emptied[Shape::stages];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Shape::stages; ++stage) {
      filled[stage].start(1);
      emptied[stage].start(1);
    }
    cuda::make_barriers_known();
  }
  __syncthreads();  // the barriers are now initialized
  const Share share = share_of(tiles, split);
  product.select(share.batch);
  const std::int64_t top = share.row * Shape::rows;
  const bool has_row = top + lane < product.m;
  const std::int64_t end = min(share.end_block * block_depth, product.k);
  int stage = 0;
  unsigned int parity = 0;
  const auto advance = [&] {
    if (++stage == Shape::stages) {
      stage = 0;
      parity ^= 1;
    }
  };
  if (threadIdx.x >= 32) {
    const T* const row = &product.a(has_row ? top + lane : top, 0);
    const auto rows = static_cast<unsigned int>(min(std::int64_t{Shape::rows}, product.m - top));
    for (std::int64_t first = share.first_block * block_depth; first < end; first += columns, advance()) {
      emptied[stage].wait(parity ^ 1);  // passes immediately in the first round
      const auto bytes = static_cast<unsigned int>(min(std::int64_t{columns}, end - first) * sizeof(T));
      if (lane == 0) {
        filled[stage].arrive_for((rows + 1) * bytes);
        filled[stage].copy(memory[stage] + Shape::rows * Shape::pitch, product.b.data + first, bytes);
      }
      __syncwarp();  // lane 0 announces the bytes before they can arrive
      if (has_row) filled[stage].copy(memory[stage] + lane * Shape::pitch, row + first, bytes);
    }
    return;
  }
  T total = T(-0.0);
  T sum = 0;
  std::int64_t block = share.first_block;
  for (std::int64_t first = block * block_depth; first < end; first += columns) {
    filled[stage].wait(parity);
    const T* const row = reinterpret_cast<const T*>(memory[stage] + lane * Shape::pitch);
    const T* const column = reinterpret_cast<const T*>(memory[stage] + Shape::rows * Shape::pitch);
    const auto add = [&](int inner) {
      const Vector<T> here = load_vector(row + inner);
      const Vector<T> there = load_vector(column + inner);
#pragma unroll
      for (int index = 0; index < vector; ++index) sum = fma(here.at[index], there.at[index], sum);
    };
    if (first + columns <= end) {
#pragma unroll 8
      for (int inner = 0; inner < columns; inner += vector) add(inner);
    } else {
      for (int inner = 0; inner < static_cast<int>(end - first); inner += vector) add(inner);
    }
    __syncwarp();  // all lanes have now read the stage
    if (lane == 0) emptied[stage].arrive();
    advance();
    if ((first + columns) % block_depth != 0 && first + columns < end) continue;
    if (split.sums != nullptr && has_row) split.slice(block, product.m, share.batch)[top + lane] = sum;
    total += sum;
    sum = 0;
    ++block;
  }
  if (split.sums == nullptr) product.finish(top + lane, 0, total);
#else
  __trap();
#endif
}

// Row times matrix. A thread computes a vector of neighbouring columns and walks down their rows. Neighbouring threads
// read neighbouring vectors. Launch shape: one block per 128 vectors of columns of C. If k is split, each part of k has
// a separate block.
template <class T>
__global__ void __launch_bounds__(line_threads)
    multiply_columns(Product<T> product, Tiles tiles, Split<T> split, bool wide) {
  constexpr int vector = vector_length<T>;
  const Share share = share_of(tiles, split);
  product.select(share.batch);
  const std::int64_t column = (share.column * line_threads + threadIdx.x) * vector;
  if (column >= product.n) return;
  const bool whole = wide && column + vector <= product.n;
  T totals[vector];
#pragma unroll
  for (T& total : totals) total = T(-0.0);
  for (std::int64_t block = share.first_block; block < share.end_block; ++block) {
    const std::int64_t end = min((block + 1) * block_depth, product.k);
    T sums[vector] = {};
    const auto add = [&](std::int64_t inner, const Vector<T>& row) {
      const T factor = product.a(0, inner);
#pragma unroll
      for (int index = 0; index < vector; ++index) sums[index] = fma(factor, row.at[index], sums[index]);
    };
    if (whole) {
#pragma unroll 16
      for (std::int64_t inner = block * block_depth; inner < end; ++inner)
        add(inner, load_vector(&product.b(inner, column)));
    } else {
#pragma unroll 4
      for (std::int64_t inner = block * block_depth; inner < end; ++inner)
        add(inner, load_along_b(product, inner, column, false));
    }
    if (split.sums != nullptr) {
      T* const slice = split.slice(block, product.n, share.batch) + column;
#pragma unroll
      for (int index = 0; index < vector; ++index)
        if (column + index < product.n) slice[index] = sums[index];
    }
#pragma unroll
    for (int index = 0; index < vector; ++index) totals[index] += sums[index];
  }
  if (split.sums != nullptr) return;
#pragma unroll
  for (int index = 0; index < vector; ++index) product.finish(0, column + index, totals[index]);
}

// ---------------------------------------------------------------------------------------------------------------------
// Tiny products

// Launch shape: one thread per element of C, over all products.
template <class T>
__global__ void multiply_cells(Product<T> product, std::int64_t first, std::int64_t elements) {
  const std::int64_t element = first + std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (element >= elements) return;
  const std::int64_t within = element % (product.m * product.n);
  product.select(element / (product.m * product.n));
  const std::int64_t row = within / product.n;
  const std::int64_t column = within % product.n;
  T sum = 0;
#pragma unroll 4
  for (std::int64_t inner = 0; inner < product.k; ++inner)
    sum = fma(product.a(row, inner), product.b(inner, column), sum);
  product.finish(row, column, sum);
}

}  // namespace gradus::matmul_detail
