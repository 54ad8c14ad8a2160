// The steps of a round of cuda_dpx and their kernels: the diagonal, its row and column, and the rest. One kernel
// performs all rounds in one launch.
//
// A round has `depth` intermediate vertices. The operands of the rest are stored apart from the matrix, in panels: the
// round's rows, and the round's columns transposed, so that both are read along rows. There are panels for two rounds.
// While the rest of the current round is relaxed, the diagonal, row and column of the next round are prepared. They are
// first relaxed through the current round (`catch_up`), then closed.
#pragma once

#include <type_traits>

#include "shortest_paths/gpu/tiles.cuh"

namespace gradus::shortest_paths_detail {

template <class Word>
struct Work {
  Word* distances;         ///< `side` rows of `words` words each
  Word* row_panels[2];     ///< panels of even and odd rounds, depth x words each
  Word* column_panels[2];  ///< panels of even and odd rounds, depth x side words each, one element per word
  std::size_t words;
  int side;  ///< vertices, including the padding of the last tiles
  int one;   ///< the value 1, hidden from the compiler; see carriers.cuh

  __device__ Word* row_panel(int round) const { return round & 1 ? row_panels[1] : row_panels[0]; }
  __device__ Word* column_panel(int round) const { return round & 1 ? column_panels[1] : column_panels[0]; }
};

// ---------------------------------------------------------------------------------------------------------------------
// Shapes

template <class Carrier, int depth>
struct Shapes {
  using Word = typename Carrier::Word;
  using Scalar = typename Carrier::Scalar;
  static constexpr int pack = Carrier::pack;
  static constexpr int panel_side = 64;  // vertices per side of a tile of the row or column
  static constexpr int depth_words = depth / pack;
  static constexpr int panel_words = panel_side / pack;

  static constexpr int diagonal_threads = depth * depth / 16;
  static constexpr int panel_threads = 256;
  using Diagonal = std::conditional_t<pack == 1, RegisterTile<Word, 4, 4, depth / 16, depth / 32>,
                                      RegisterTile<Word, 2, 4, depth / 8, depth / 64>>;
  using Small = RegisterTile<Word, pack == 1 ? 4 : 2, 4, pack == 1 ? 4 : 8, pack == 1 ? 2 : 1>;
  using Row = std::conditional_t<depth == 64, Small,
                                 RegisterTile<Word, pack == 1 ? 8 : 4, 4, pack == 1 ? 4 : 8, pack == 1 ? 2 : 1>>;
  using Column = std::conditional_t<depth == 64, Small, RegisterTile<Word, 4, pack == 1 ? 8 : 4, 4, 2>>;
  static_assert(Diagonal::threads == diagonal_threads && Diagonal::rows == depth && Diagonal::columns == depth_words);
  static_assert(Row::threads == panel_threads && Row::rows == depth && Row::columns == panel_words);
  static_assert(Column::threads == panel_threads && Column::rows == panel_side && Column::columns == depth_words);

  // The words of shared memory for the diagonal: first the operands of its catch-up, later its elements. Each row is 4
  // elements longer than needed, which avoids bank conflicts when a column is read.
  static constexpr int scalar_stride = depth + 4;
  static constexpr std::size_t catch_up_bytes = sizeof(Word) * depth * (depth + depth_words);
  static constexpr std::size_t close_bytes = sizeof(Scalar) * depth * scalar_stride;
  static constexpr std::size_t diagonal_bytes = catch_up_bytes > close_bytes ? catch_up_bytes : close_bytes;
  // The words of shared memory for a tile of the row or column: the operands of its catch-up, and the diagonal. The
  // tile itself later replaces one of the operands.
  static constexpr std::size_t row_words = std::size_t{depth} * (depth + panel_words + depth);
  static constexpr std::size_t column_words = std::size_t{depth} * (panel_side + depth_words + depth_words);
  static constexpr std::size_t panel_bytes = sizeof(Word) * (row_words > column_words ? row_words : column_words);
  static constexpr std::size_t most_bytes = diagonal_bytes > panel_bytes ? diagonal_bytes : panel_bytes;
};

// ---------------------------------------------------------------------------------------------------------------------
// The diagonal

/// Closes the tile, one intermediate vertex after another. A thread keeps 4 x 4 elements in registers. The row and
/// column of the current vertex are in shared memory, in one of two buffers. The row and column of the next vertex are
/// relaxed first and written to the other buffer, so one barrier per vertex suffices: it separates these writes from
/// the reads of the next step, and the reads of this step from the next writes to the same buffer.
template <class Carrier, int depth, class Scalar = typename Carrier::Scalar>
__device__ __forceinline__ void close_tile(Scalar (&own)[4][4], Scalar* rows, Scalar* columns) {
  const int right = static_cast<int>(threadIdx.x) % (depth / 4);
  const int down = static_cast<int>(threadIdx.x) / (depth / 4);
  if (down == 0)
#pragma unroll
    for (int x = 0; x < 4; ++x) rows[right * 4 + x] = own[0][x];
  if (right == 0)
#pragma unroll
    for (int x = 0; x < 4; ++x) columns[down * 4 + x] = own[x][0];
  __syncthreads();
#pragma unroll 1
  for (int four = 0; four < depth / 4; ++four) {
#pragma unroll
    for (int via = 0; via < 4; ++via) {
      Scalar onward[4];
      Scalar to_via[4];
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        onward[x] = rows[via % 2 * depth + right * 4 + x];
        to_via[x] = columns[via % 2 * depth + down * 4 + x];
      }
      const int next = (via + 1) % 4;
      const int next_four = via == 3 ? four + 1 : four;
      const int next_place = (via + 1) % 2 * depth;
#pragma unroll
      for (int x = 0; x < 4; ++x) own[next][x] = Carrier::relax(own[next][x], to_via[next], onward[x]);
      if (down == next_four)
#pragma unroll
        for (int x = 0; x < 4; ++x) rows[next_place + right * 4 + x] = own[next][x];
#pragma unroll
      for (int x = 0; x < 4; ++x)
        if (x != next) own[x][next] = Carrier::relax(own[x][next], to_via[x], onward[next]);
      if (right == next_four)
#pragma unroll
        for (int x = 0; x < 4; ++x) columns[next_place + down * 4 + x] = own[x][next];
#pragma unroll
      for (int row = 0; row < 4; ++row)
#pragma unroll
        for (int column = 0; column < 4; ++column)
          if (row != next && column != next)
            own[row][column] = Carrier::relax(own[row][column], to_via[row], onward[column]);
      __syncthreads();
    }
  }
}

/// Relaxes the diagonal through the previous round, closes the diagonal, and writes it to the matrix and both panels.
template <class Carrier, int depth>
__device__ __forceinline__ void close_diagonal(const Work<typename Carrier::Word>& work, int round, bool catch_up,
                                               unsigned char* shared) {
  using Word = typename Carrier::Word;
  using Scalar = typename Carrier::Scalar;
  using Shape = Shapes<Carrier, depth>;
  using Tile = typename Shape::Diagonal;
  const int vertex = round * depth;
  const int word = round * Shape::depth_words;
  Word* const diagonal = work.distances + static_cast<std::size_t>(vertex) * work.words + word;
  Word* const a = reinterpret_cast<Word*>(shared);
  Word* const b = a + depth * depth;
  Word cells[Tile::own_rows][Tile::own_columns];
  if (catch_up) {
    copy_tile<depth, depth, Tile::threads>(a, work.column_panel(round - 1) + vertex, work.side);
    copy_tile<depth, Shape::depth_words, Tile::threads>(b, work.row_panel(round - 1) + word, work.words);
    end_group();
  }
  load_cells<Tile>(cells, diagonal, work.words);
  if (catch_up) {
    wait_for_copies<0>();
    __syncthreads();  // the operands are loaded
    min_plus<Carrier, Tile, depth, depth, Shape::depth_words>(cells, a, b, work.one);
    __syncthreads();  // all threads have read the operands
  }
  // Redistributes the elements through shared memory, from the layout of a warp's tile to 4 x 4 neighbours per thread.
  Scalar* const elements = reinterpret_cast<Scalar*>(shared);
#pragma unroll
  for (int row = 0; row < Tile::own_rows; ++row)
#pragma unroll
    for (int column = 0; column < Tile::own_columns; ++column)
#pragma unroll
      for (int half = 0; half < Shape::pack; ++half)
        elements[Tile::row(row) * Shape::scalar_stride + Tile::column(column) * Shape::pack + half] =
            Carrier::get(cells[row][column], half);
  __syncthreads();  // the elements are stored
  const int right = static_cast<int>(threadIdx.x) % (depth / 4);
  const int down = static_cast<int>(threadIdx.x) / (depth / 4);
  Scalar own[4][4];
#pragma unroll
  for (int row = 0; row < 4; ++row)
#pragma unroll
    for (int column = 0; column < 4; ++column)
      own[row][column] = elements[(down * 4 + row) * Shape::scalar_stride + right * 4 + column];
  __syncthreads();  // all threads have read the elements
  close_tile<Carrier, depth>(own, elements, elements + 2 * depth);

  constexpr int own_words = 4 / Shape::pack;
  constexpr int row_vector = own_words * sizeof(Word) > 16 ? 2 : own_words;
  Word* const to_row = work.row_panel(round) + word + right * own_words;
#pragma unroll
  for (int row = 0; row < 4; ++row)
#pragma unroll
    for (int first = 0; first < own_words; first += row_vector) {
      Vector<Word, row_vector> vector;
#pragma unroll
      for (int x = 0; x < row_vector; ++x)
        vector.at[x] = Carrier::word_of(own[row][(first + x) * Shape::pack],
                                        own[row][(first + x) * Shape::pack + Shape::pack - 1]);
      const std::size_t place = static_cast<std::size_t>(down * 4 + row) * work.words + first;
      *reinterpret_cast<Vector<Word, row_vector>*>(diagonal + place + right * own_words) = vector;
      *reinterpret_cast<Vector<Word, row_vector>*>(to_row + place) = vector;
    }
  constexpr int column_vector = sizeof(Word) == 8 ? 2 : 4;
  Word* const to_column = work.column_panel(round) + vertex + down * 4;
#pragma unroll
  for (int column = 0; column < 4; ++column)
#pragma unroll
    for (int first = 0; first < 4; first += column_vector) {
      Vector<Word, column_vector> vector;
#pragma unroll
      for (int x = 0; x < column_vector; ++x) vector.at[x] = Carrier::both(own[first + x][column]);
      *reinterpret_cast<Vector<Word, column_vector>*>(
          to_column + static_cast<std::size_t>(right * 4 + column) * work.side + first) = vector;
    }
}

// Launch shape: one block of depth^2 / 16 threads.
template <class Carrier, int depth>
__global__ void __launch_bounds__(Shapes<Carrier, depth>::diagonal_threads, 1)
    close_diagonal_kernel(Work<typename Carrier::Word> work, int round) {
  extern __shared__ __align__(16) unsigned char shared[];
  close_diagonal<Carrier, depth>(work, round, round > 0, shared);
}

// ---------------------------------------------------------------------------------------------------------------------
// The row and column of the diagonal

/// Relaxes 64 columns of the round's rows through the previous round, then multiplies the closed diagonal by the tile.
template <class Carrier, int depth>
__device__ __forceinline__ void relax_row_tile(const Work<typename Carrier::Word>& work, int round, int tile,
                                               bool catch_up, unsigned char* shared) {
  using Word = typename Carrier::Word;
  using Shape = Shapes<Carrier, depth>;
  using Tile = typename Shape::Row;
  const int vertex = round * depth;
  const int left = tile * Shape::panel_words;
  Word* const a = reinterpret_cast<Word*>(shared);
  Word* const b = a + depth * depth;
  Word* const diagonal = b + depth * Shape::panel_words;
  if (catch_up) {
    copy_tile<depth, depth, Tile::threads>(a, work.column_panel(round - 1) + vertex, work.side);
    copy_tile<depth, Shape::panel_words, Tile::threads>(b, work.row_panel(round - 1) + left, work.words);
  }
  end_group();
  copy_tile<depth, depth, Tile::threads>(diagonal, work.column_panel(round) + vertex, work.side);
  end_group();
  Word cells[Tile::own_rows][Tile::own_columns];
  Word* const place = work.distances + static_cast<std::size_t>(vertex) * work.words + left;
  load_cells<Tile>(cells, place, work.words);
  if (catch_up) {
    wait_for_copies<1>();
    __syncthreads();  // the operands are loaded
    min_plus<Carrier, Tile, depth, depth, Shape::panel_words>(cells, a, b, work.one);
    __syncthreads();  // all threads have read the operands
  }
  store_cells<Tile>(cells, b, Shape::panel_words);
  wait_for_copies<0>();
  __syncthreads();  // the previous tile and the diagonal are loaded
  fill_cells<Tile>(cells, Carrier::nothing());
  min_plus<Carrier, Tile, depth, depth, Shape::panel_words>(cells, diagonal, b, work.one);
  store_cells<Tile>(cells, place, work.words);
  store_cells<Tile>(cells, work.row_panel(round) + left, work.words);
  __syncthreads();  // the shared memory is free for another tile
}

/// Relaxes 64 rows of the round's columns through the previous round, then multiplies the tile by the closed diagonal.
template <class Carrier, int depth>
__device__ __forceinline__ void relax_column_tile(const Work<typename Carrier::Word>& work, int round, int tile,
                                                  bool catch_up, unsigned char* shared) {
  using Word = typename Carrier::Word;
  using Shape = Shapes<Carrier, depth>;
  using Tile = typename Shape::Column;
  const int word = round * Shape::depth_words;
  const int top = tile * Shape::panel_side;
  Word* const a = reinterpret_cast<Word*>(shared);
  Word* const b = a + depth * Shape::panel_side;
  Word* const diagonal = b + depth * Shape::depth_words;
  if (catch_up) {
    copy_tile<depth, Shape::panel_side, Tile::threads>(a, work.column_panel(round - 1) + top, work.side);
    copy_tile<depth, Shape::depth_words, Tile::threads>(b, work.row_panel(round - 1) + word, work.words);
  }
  end_group();
  copy_tile<depth, Shape::depth_words, Tile::threads>(diagonal, work.row_panel(round) + word, work.words);
  end_group();
  Word cells[Tile::own_rows][Tile::own_columns];
  Word* const place = work.distances + static_cast<std::size_t>(top) * work.words + word;
  load_cells<Tile>(cells, place, work.words);
  if (catch_up) {
    wait_for_copies<1>();
    __syncthreads();  // the operands are loaded
    min_plus<Carrier, Tile, depth, Shape::panel_side, Shape::depth_words>(cells, a, b, work.one);
    __syncthreads();  // all threads have read the operands
  }
  store_transposed<Carrier, Tile>(cells, a, Shape::panel_side);
  wait_for_copies<0>();
  __syncthreads();  // the previous tile and the diagonal are loaded
  fill_cells<Tile>(cells, Carrier::nothing());
  min_plus<Carrier, Tile, depth, Shape::panel_side, Shape::depth_words>(cells, a, diagonal, work.one);
  store_cells<Tile>(cells, place, work.words);
  store_transposed<Carrier, Tile>(cells, work.column_panel(round) + top, work.side);
  __syncthreads();  // the shared memory is free for another tile
}

/// Relaxes tile `number` of the 2 side / 64 tiles of the row and column. Tiles within the diagonal are already done.
template <class Carrier, int depth>
__device__ __forceinline__ void relax_panel_tile(const Work<typename Carrier::Word>& work, int round, int number,
                                                 bool catch_up, unsigned char* shared) {
  constexpr int panel_side = Shapes<Carrier, depth>::panel_side;
  const int tiles = work.side / panel_side;
  const int tile = number % tiles;
  if (tile * panel_side / depth == round) return;
  if (number < tiles) relax_row_tile<Carrier, depth>(work, round, tile, catch_up, shared);
  else relax_column_tile<Carrier, depth>(work, round, tile, catch_up, shared);
}

// Launch shape: a block of 256 threads per tile.
template <class Carrier, int depth>
__global__ void __launch_bounds__(Shapes<Carrier, depth>::panel_threads)
    relax_panels_kernel(Work<typename Carrier::Word> work, int round) {
  extern __shared__ __align__(16) unsigned char shared[];
  relax_panel_tile<Carrier, depth>(work, round, static_cast<int>(blockIdx.x), round > 0, shared);
}

// ---------------------------------------------------------------------------------------------------------------------
// The rest

// Launch shape: one block per tile of the whole matrix. `next` is the next round, or -1. The rows and columns of the
// next round are skipped, because another stream processes them. The rows and columns of the current round are relaxed
// again, which changes nothing and costs less than skipping them.
template <class Carrier, int depth, class Shape>
__global__ void __launch_bounds__(Shape::Tile::threads, Shape::blocks_per_multiprocessor)
    relax_rest_kernel(Work<typename Carrier::Word> work, int round, int next) {
  using Word = typename Carrier::Word;
  using Tile = typename Shape::Tile;
  constexpr int depth_words = depth / Carrier::pack;
  extern __shared__ __align__(16) unsigned char memory[];
  Word* const shared = reinterpret_cast<Word*>(memory);
  const int tiles_in_a_row = static_cast<int>(work.words) / Tile::columns;
  const int top = static_cast<int>(blockIdx.x) / tiles_in_a_row * Tile::rows;
  const int left = static_cast<int>(blockIdx.x) % tiles_in_a_row * Tile::columns;
  const int next_row = next * depth;
  const int next_word = next * depth_words;
  const auto in_next_rows = [&](int row) { return next >= 0 && row >= next_row && row < next_row + depth; };
  const auto in_next_columns = [&](int word) {
    return next >= 0 && word >= next_word && word < next_word + depth_words;
  };
  if (depth >= Tile::rows && in_next_rows(top)) return;
  if (depth_words >= Tile::columns && in_next_columns(left)) return;

  Word cells[Tile::own_rows][Tile::own_columns];
  Word* const place = work.distances + static_cast<std::size_t>(top) * work.words + left;
  min_plus_by_portions<Carrier, Shape>(
      cells, work.column_panel(round) + top, work.side, work.row_panel(round) + left, work.words,
      depth / Shape::portion, shared, work.one, [&] { load_cells<Tile>(cells, place, work.words); }, [](int) {});
#pragma unroll
  for (int row = 0; row < Tile::own_rows; ++row) {
    if (in_next_rows(top + Tile::row(row))) continue;
#pragma unroll
    for (int group = 0; group < Tile::column_groups; ++group)
      if (!in_next_columns(left + Tile::group_column(group))) store_group<Tile>(cells, row, group, place, work.words);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Copying elements into and out of the padded matrix

/// Copies `rows` x `columns` elements into rows of `words` words. Pads the copy on the right, and below up to `filled`
/// rows. The calling thread is number `first` of `threads` threads, and copies only its share.
template <class Carrier, class Element>
__device__ __forceinline__ void bring_in(typename Carrier::Word* to, int filled, std::size_t words,
                                         const Element* elements, int rows, int columns, std::size_t first,
                                         std::size_t threads) {
  const std::size_t all = static_cast<std::size_t>(filled) * words;
  for (std::size_t word = first; word < all; word += threads) {
    const auto from = static_cast<int>(word / words);
    const auto left = static_cast<int>(word % words) * Carrier::pack;
    typename Carrier::Scalar scalars[Carrier::pack];
#pragma unroll
    for (int half = 0; half < Carrier::pack; ++half) {
      const bool exists = from < rows && left + half < columns;
      scalars[half] = exists ? Carrier::from(elements[static_cast<std::size_t>(from) * columns + left + half])
                             : Carrier::get(Carrier::nothing(), 0);
    }
    to[word] = Carrier::word_of(scalars[0], scalars[Carrier::pack - 1]);
  }
}
template <class Carrier, class Element>
__device__ __forceinline__ void bring_out(const typename Carrier::Word* from, std::size_t words, Element* elements,
                                          int rows, int columns, std::size_t first, std::size_t threads) {
  const std::size_t count = static_cast<std::size_t>(rows) * columns;
  for (std::size_t element = first; element < count; element += threads) {
    const auto row = element / static_cast<unsigned int>(columns);
    const auto column = static_cast<int>(element % static_cast<unsigned int>(columns));
    const auto word = load_uncached<Vector<typename Carrier::Word, 1>>(from + row * words + column / Carrier::pack);
    elements[element] = Carrier::template to<Element>(Carrier::get(word.at[0], column % Carrier::pack));
  }
}

__device__ __forceinline__ std::size_t thread_of_grid() {
  return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
}
__device__ __forceinline__ std::size_t threads_of_grid() { return gridDim.x * static_cast<std::size_t>(blockDim.x); }

// Both kernels below work with any launch shape.
template <class Carrier, class Element>
__global__ void bring_in_kernel(typename Carrier::Word* to, int filled, std::size_t words, const Element* elements,
                                int rows, int columns) {
  bring_in<Carrier>(to, filled, words, elements, rows, columns, thread_of_grid(), threads_of_grid());
}
template <class Carrier, class Element>
__global__ void bring_out_kernel(const typename Carrier::Word* from, std::size_t words, Element* elements, int rows,
                                 int columns) {
  bring_out<Carrier>(from, words, elements, rows, columns, thread_of_grid(), threads_of_grid());
}

// ---------------------------------------------------------------------------------------------------------------------
// Rounds in one launch

/// Barrier of all blocks of a cooperative launch. Both counters must be 0 before the barrier and are 0 after it.
struct GridBarrier {
  unsigned int arrived;
  unsigned int left;
};

/// Waits until all blocks arrive. Everything that any thread wrote before the barrier is visible to every thread after
/// it. In each block, one thread takes part for the whole block. The arrival of this thread is a release operation, and
/// its poll is an acquire operation. The block's barriers place the earlier accesses of the other threads before the
/// arrival, and their later accesses after the poll.
__device__ __forceinline__ void wait_for_grid(GridBarrier* barrier, unsigned int& target) {
  target += gridDim.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned int arrived;
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(&barrier->arrived) : "memory");
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(arrived) : "l"(&barrier->arrived) : "memory");
    while (arrived < target);
  }
  __syncthreads();
}

inline constexpr int one_launch_depth = 64;

// Runs rounds [first, last). In each round, all blocks wait for each other twice: after the row and column, and after
// the rest. While the rest is relaxed, block 0 closes the next diagonal. The first launch copies the elements in, and
// the launch with the last round copies them out. Launch shape: cooperative; blocks of 256 threads, at most as many as
// the GPU runs concurrently.
template <class Carrier, class Element>
__global__ void __launch_bounds__(256, 2) relax_in_one_launch(Work<typename Carrier::Word> work, Element* elements,
                                                              int n, int first, int last, GridBarrier* barrier) {
  constexpr int depth = one_launch_depth;
  using Word = typename Carrier::Word;
  using Shape = Shapes<Carrier, depth>;
  using Tile = typename Shape::Row;
  extern __shared__ __align__(16) unsigned char shared[];
  const int block = static_cast<int>(blockIdx.x);
  const int blocks = static_cast<int>(gridDim.x);
  const int tiles = work.side / depth;
  unsigned int target = 0;
  if (first == 0) {
    bring_in<Carrier>(work.distances, work.side, work.words, elements, n, n, thread_of_grid(), threads_of_grid());
    wait_for_grid(barrier, target);
    if (block == 0) close_diagonal<Carrier, depth>(work, 0, false, shared);
    wait_for_grid(barrier, target);
  }
  for (int round = first; round < last; ++round) {
    for (int number = block; number < 2 * tiles; number += blocks)
      relax_panel_tile<Carrier, depth>(work, round, number, false, shared);
    wait_for_grid(barrier, target);
    const int next = round + 1;
    if (block == 0 && next < tiles) {
      close_diagonal<Carrier, depth>(work, next, true, shared);
      __syncthreads();  // the shared memory is free
    }
    // The blocks other than block 0 share the rest. If there is only one block, this block does all the work.
    const int helpers = blocks > 1 ? blocks - 1 : 1;
    const int helper = blocks > 1 ? block - 1 : 0;
    for (int number = helper; helper >= 0 && number < (tiles - 1) * (tiles - 1); number += helpers) {
      int row = number / (tiles - 1);
      int column = number % (tiles - 1);
      row += row >= round;
      column += column >= round;
      if (row == next && column == next) continue;
      Word* const a = reinterpret_cast<Word*>(shared);
      Word* const b = a + depth * depth;
      copy_tile<depth, depth, Tile::threads>(a, work.column_panel(round) + row * depth, work.side);
      copy_tile<depth, Shape::panel_words, Tile::threads>(b, work.row_panel(round) + column * Shape::panel_words,
                                                          work.words);
      end_group();
      Word cells[Tile::own_rows][Tile::own_columns];
      Word* const place =
          work.distances + static_cast<std::size_t>(row) * depth * work.words + column * Shape::panel_words;
      load_cells<Tile>(cells, place, work.words);
      wait_for_copies<0>();
      __syncthreads();  // the operands are loaded
      min_plus<Carrier, Tile, depth, depth, Shape::panel_words>(cells, a, b, work.one);
      store_cells<Tile>(cells, place, work.words);
      __syncthreads();  // all threads have read the operands
    }
    wait_for_grid(barrier, target);
  }
  if (last == tiles)
    bring_out<Carrier>(work.distances, work.words, elements, n, n, thread_of_grid(), threads_of_grid());
  __syncthreads();
  if (threadIdx.x == 0 && atomicInc(&barrier->left, gridDim.x - 1) == gridDim.x - 1) barrier->arrived = 0;
}

}  // namespace gradus::shortest_paths_detail
