// Tiles of cuda_dpx: elements in registers, and the min-plus product that updates them from two tiles in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/async_copy.cuh"

namespace gradus::shortest_paths_detail {

template <class Word, int count>
struct alignas(sizeof(Word) * count) Vector {
  Word at[count];
};

/// A block's tile. The block has warp_rows x warp_columns warps of 4 x 8 threads, and each thread has own_rows x
/// own_columns words. A thread's rows and columns form groups of 16 bytes, which the thread loads as vectors. The
/// groups of a warp are adjacent, so the loads of its lanes are broadcasts without bank conflicts.
template <class Word, int own_rows_, int own_columns_, int warp_rows_, int warp_columns_>
struct RegisterTile {
  static constexpr int own_rows = own_rows_;
  static constexpr int own_columns = own_columns_;
  static constexpr int widest = 16 / int(sizeof(Word));
  static constexpr int row_vector = own_rows < widest ? own_rows : widest;
  static constexpr int column_vector = own_columns < widest ? own_columns : widest;
  static constexpr int row_groups = own_rows / row_vector;
  static constexpr int column_groups = own_columns / column_vector;
  static constexpr int rows = 4 * own_rows * warp_rows_;
  static constexpr int columns = 8 * own_columns * warp_columns_;
  static constexpr int threads = 32 * warp_rows_ * warp_columns_;

  using Cells = Word[own_rows][own_columns];
  using RowVector = Vector<Word, row_vector>;
  using ColumnVector = Vector<Word, column_vector>;

  /// Returns the first row of one of the thread's groups. group_column() returns the first column.
  __device__ static int group_row(int group) {
    const int thread = static_cast<int>(threadIdx.x);
    return thread / 32 / warp_columns_ * 4 * own_rows + group * 4 * row_vector + thread % 32 / 8 * row_vector;
  }
  __device__ static int group_column(int group) {
    const int thread = static_cast<int>(threadIdx.x);
    return thread / 32 % warp_columns_ * 8 * own_columns + group * 8 * column_vector + thread % 8 * column_vector;
  }
  __device__ static int row(int own) { return group_row(own / row_vector) + own % row_vector; }
  __device__ static int column(int own) { return group_column(own / column_vector) + own % column_vector; }
};

// ---------------------------------------------------------------------------------------------------------------------
// The product

/// Applies relax2() to all elements from number `element` on. Each element's number is a compile-time constant.
template <class Carrier, class Tile, int element, class Word>
__device__ __forceinline__ void relax_elements(Word (&best)[Tile::own_rows][Tile::own_columns],
                                               const Word (&a)[2][Tile::own_rows],
                                               const Word (&b)[2][Tile::own_columns], int one) {
  if constexpr (element < Tile::own_rows * Tile::own_columns) {
    constexpr int row = element / Tile::own_columns;
    constexpr int column = element % Tile::own_columns;
    best[row][column] =
        Carrier::template relax2<element>(best[row][column], a[0][row], b[0][column], a[1][row], b[1][column], one);
    relax_elements<Carrier, Tile, element + 1>(best, a, b, one);
  }
}

/// Computes best = min(best, A + B) through `depth` vertices. Both operands are in shared memory, with one row per
/// intermediate vertex. A row of `a` has a_columns words, one for each row of the tile. A row of `b` has b_columns
/// words, one for each column of the tile.
template <class Carrier, class Tile, int depth, int a_columns, int b_columns, class Word>
__device__ __forceinline__ void min_plus(Word (&best)[Tile::own_rows][Tile::own_columns], const Word* a_operand,
                                         const Word* b_operand, int one) {
  constexpr int step = Carrier::step;
  const Word* const a_from = a_operand + Tile::group_row(0);
  const Word* const b_from = b_operand + Tile::group_column(0);
#pragma unroll(depth > 8 ? 8 / step : depth / step)
  for (int via = 0; via < depth; via += step) {
    Word a[step][Tile::own_rows];
    Word b[step][Tile::own_columns];
#pragma unroll
    for (int s = 0; s < step; ++s) {
#pragma unroll
      for (int group = 0; group < Tile::row_groups; ++group) {
        const auto vector = *reinterpret_cast<const typename Tile::RowVector*>(a_from + (via + s) * a_columns +
                                                                               group * 4 * Tile::row_vector);
#pragma unroll
        for (int x = 0; x < Tile::row_vector; ++x) a[s][group * Tile::row_vector + x] = vector.at[x];
      }
#pragma unroll
      for (int group = 0; group < Tile::column_groups; ++group) {
        const auto vector = *reinterpret_cast<const typename Tile::ColumnVector*>(b_from + (via + s) * b_columns +
                                                                                  group * 8 * Tile::column_vector);
#pragma unroll
        for (int x = 0; x < Tile::column_vector; ++x) b[s][group * Tile::column_vector + x] = vector.at[x];
      }
    }
    if constexpr (step == 2) {
      relax_elements<Carrier, Tile, 0>(best, a, b, one);
    } else {
#pragma unroll
      for (int row = 0; row < Tile::own_rows; ++row)
#pragma unroll
        for (int column = 0; column < Tile::own_columns; ++column)
          best[row][column] = Carrier::relax_word(best[row][column], a[0][row], b[0][column]);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Between registers and memory

template <class Tile, class Word>
__device__ __forceinline__ void fill_cells(Word (&cells)[Tile::own_rows][Tile::own_columns], Word value) {
#pragma unroll
  for (int row = 0; row < Tile::own_rows; ++row)
#pragma unroll
    for (int column = 0; column < Tile::own_columns; ++column) cells[row][column] = value;
}

/// Bypasses the L1 cache, because another block of the same launch may have written the data.
template <class Vec>
__device__ __forceinline__ Vec load_uncached(const void* from) {
  static_assert(sizeof(Vec) == 16 || sizeof(Vec) == 8 || sizeof(Vec) == 4);
  Vec vector;
  if constexpr (sizeof(Vec) == 16) *reinterpret_cast<uint4*>(&vector) = __ldcg(static_cast<const uint4*>(from));
  else if constexpr (sizeof(Vec) == 8) *reinterpret_cast<uint2*>(&vector) = __ldcg(static_cast<const uint2*>(from));
  else *reinterpret_cast<unsigned int*>(&vector) = __ldcg(static_cast<const unsigned int*>(from));
  return vector;
}

/// `stride` is the distance between rows in memory, in words.
template <class Tile, class Word>
__device__ __forceinline__ void load_cells(Word (&cells)[Tile::own_rows][Tile::own_columns], const Word* from,
                                           std::size_t stride) {
#pragma unroll
  for (int row = 0; row < Tile::own_rows; ++row)
#pragma unroll
    for (int group = 0; group < Tile::column_groups; ++group) {
      const auto vector = load_uncached<typename Tile::ColumnVector>(
          from + static_cast<std::size_t>(Tile::row(row)) * stride + Tile::group_column(group));
#pragma unroll
      for (int x = 0; x < Tile::column_vector; ++x) cells[row][group * Tile::column_vector + x] = vector.at[x];
    }
}

template <class Tile, class Word>
__device__ __forceinline__ void store_group(const Word (&cells)[Tile::own_rows][Tile::own_columns], int row, int group,
                                            Word* to, std::size_t stride) {
  typename Tile::ColumnVector vector;
#pragma unroll
  for (int x = 0; x < Tile::column_vector; ++x) vector.at[x] = cells[row][group * Tile::column_vector + x];
  *reinterpret_cast<typename Tile::ColumnVector*>(to + static_cast<std::size_t>(Tile::row(row)) * stride +
                                                  Tile::group_column(group)) = vector;
}

template <class Tile, class Word>
__device__ __forceinline__ void store_cells(const Word (&cells)[Tile::own_rows][Tile::own_columns], Word* to,
                                            std::size_t stride) {
#pragma unroll
  for (int row = 0; row < Tile::own_rows; ++row)
#pragma unroll
    for (int group = 0; group < Tile::column_groups; ++group) store_group<Tile>(cells, row, group, to, stride);
}

/// Stores by columns, one word per element. If a word can hold two distances, both halves of the word get the same
/// distance.
template <class Carrier, class Tile, class Word>
__device__ __forceinline__ void store_transposed(const Word (&cells)[Tile::own_rows][Tile::own_columns], Word* to,
                                                 std::size_t stride) {
#pragma unroll
  for (int column = 0; column < Tile::own_columns; ++column)
#pragma unroll
    for (int half = 0; half < Carrier::pack; ++half)
#pragma unroll
      for (int group = 0; group < Tile::row_groups; ++group) {
        typename Tile::RowVector vector;
#pragma unroll
        for (int x = 0; x < Tile::row_vector; ++x)
          vector.at[x] = Carrier::both(Carrier::get(cells[group * Tile::row_vector + x][column], half));
        const int element = Tile::column(column) * Carrier::pack + half;
        *reinterpret_cast<typename Tile::RowVector*>(to + static_cast<std::size_t>(element) * stride +
                                                     Tile::group_row(group)) = vector;
      }
}

// ---------------------------------------------------------------------------------------------------------------------
// From global memory to shared memory

using cuda::copy_16_bytes;
using cuda::end_group;
using cuda::wait_for_copies;

/// Copies rows x columns words. The copy in shared memory is contiguous.
template <int rows, int columns, int threads, class Word>
__device__ __forceinline__ void copy_tile(Word* shared, const Word* global, std::size_t stride) {
  constexpr int vector = 16 / int(sizeof(Word));
  constexpr int in_a_row = columns / vector;
  constexpr int vectors = rows * in_a_row;
#pragma unroll
  for (int turn = 0; turn < (vectors + threads - 1) / threads; ++turn) {
    const int index = turn * threads + static_cast<int>(threadIdx.x);
    if (vectors % threads == 0 || index < vectors)
      copy_16_bytes(shared + index / in_a_row * columns + index % in_a_row * vector,
                    global + static_cast<std::size_t>(index / in_a_row) * stride + index % in_a_row * vector);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The product of operands in global memory

/// Shape of a product of large operands: a block's tile, the intermediate vertices in a portion, and the number of
/// portions in shared memory. While one portion is used, the others are loaded.
template <class Tile_, int portion_, int stages_, int blocks_per_multiprocessor_>
struct ProductShape {
  using Tile = Tile_;
  static constexpr int portion = portion_;
  static constexpr int stages = stages_;
  static constexpr int blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr int stage_words = portion * (Tile::rows + Tile::columns);
  template <class Word>
  static constexpr std::size_t bytes = sizeof(Word) * stages* stage_words;
};

/// Computes cells = min(cells, A + B) through portions * Shape::portion vertices. A (transposed) and B are in global
/// memory; strides are in words. Copies to `shared` are issued several portions in advance. load() fills the cells
/// after the first copies have been issued. after(portion) is called after each portion.
template <class Carrier, class Shape, class Word, class Load, class After>
__device__ __forceinline__ void min_plus_by_portions(Word (&cells)[Shape::Tile::own_rows][Shape::Tile::own_columns],
                                                     const Word* a, std::size_t a_stride, const Word* b,
                                                     std::size_t b_stride, int portions, Word* shared, int one,
                                                     const Load& load, const After& after) {
  using Tile = typename Shape::Tile;
  constexpr int portion = Shape::portion;
  constexpr int stages = Shape::stages;
  // Each thread copies 16 bytes of every a_rows-th or b_rows-th row, always at the same place in the row. It therefore
  // only advances two pointers.
  constexpr int vector = 16 / int(sizeof(Word));
  constexpr int a_threads = Tile::rows / vector;  // number of threads that copy one row of A
  constexpr int b_threads = Tile::columns / vector;
  constexpr int a_rows = Tile::threads / a_threads;  // number of rows of A that all threads copy at once
  constexpr int b_rows = Tile::threads / b_threads;
  static_assert(Tile::threads % a_threads == 0 && Tile::threads % b_threads == 0);
  static_assert(portion % a_rows == 0 && portion % b_rows == 0);
  const int thread = static_cast<int>(threadIdx.x);
  const Word* a_from = a + static_cast<std::size_t>(thread / a_threads) * a_stride + thread % a_threads * vector;
  const Word* b_from = b + static_cast<std::size_t>(thread / b_threads) * b_stride + thread % b_threads * vector;
  const auto copy_portion = [&](int stage) {
    Word* to = shared + stage * Shape::stage_words + thread * vector;
#pragma unroll
    for (int turn = 0; turn < portion / a_rows; ++turn) {
      copy_16_bytes(to + turn * Tile::threads * vector, a_from);
      a_from += static_cast<std::size_t>(a_rows) * a_stride;
    }
    to += portion * Tile::rows;
#pragma unroll
    for (int turn = 0; turn < portion / b_rows; ++turn) {
      copy_16_bytes(to + turn * Tile::threads * vector, b_from);
      b_from += static_cast<std::size_t>(b_rows) * b_stride;
    }
  };
#pragma unroll
  for (int ahead = 0; ahead < stages - 1; ++ahead) {
    if (ahead < portions) copy_portion(ahead);
    end_group();
  }
  load();
#pragma unroll 1
  for (int now = 0; now < portions; ++now) {
    wait_for_copies<stages - 2>();
    __syncthreads();  // this portion is loaded, and the previous portion may be overwritten
    if (now + stages - 1 < portions) copy_portion((now + stages - 1) % stages);
    end_group();
    const Word* const operands = shared + now % stages * Shape::stage_words;
    min_plus<Carrier, Tile, portion, Tile::rows, Tile::columns>(cells, operands, operands + portion * Tile::rows, one);
    after(now);
  }
}

}  // namespace gradus::shortest_paths_detail
