// cuda_pipelined: operands are on their way while the ones before them are worked on; a kernel for each kind of shape.
//
// What changes from `cuda_warp_tiled`:
// * Copies from global to shared memory go past the registers (cp.async), some portions of k ahead of the arithmetic:
//   three are under way while a fourth is used. A barrier for each portion instead of two.
// * A is not turned on its way: it lies in shared memory by rows, and a thread loads of each of its rows as many
//   elements along k as 16 bytes hold. Rows are 16 bytes apart beyond a portion, so that those which a warp reads at
//   once lie in different banks.
// * Tiles that follow each other are taken from eight rows of tiles, so that those under way share A and B in the
//   second-level cache.
// * Tiles of other sizes for small and for narrow products, a thread for each element of a batch of tiny ones, and
//   kernels for products with a single row or column, which read each element of the matrix once and wait for memory.
// * Where C is too small to occupy the GPU and k is long, the sums of the blocks of 256 products are found side by
//   side and stored; another kernel adds them in their order. Blocks do not depend on each other, so that the bits are
//   the same.
//
// Barriers: one for each portion, when all copies of it have arrived, after which nobody reads the portion before it,
// whose place the next copies take.
//
// Operations: 2 m n k, m and n rounded up to a tile. Bytes: as `cuda_warp_tiled`; the sums of split products are
// written and read once. The arithmetic sets the pace of large products, memory that of one row or column.
// Limits: as `cuda_naive`; a block size that is asked for has no effect. plan.hpp chooses the kernel.
// Source: NVIDIA's CUTLASS, multistage kernels; split-k: the same, but with its order of additions kept.
#include "matmul/gpu/copies.cuh"
#include "matmul/gpu/plan.hpp"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

namespace {

/// What there is of k for a block of threads, and where its sums go.
template <class T>
struct Split {
  T* sums = nullptr;          ///< of each block of k one element for each of C, side by side in rows; null: not split
  std::int64_t elements = 0;  ///< of C in all products
  std::int64_t first = 0;     ///< block of k that is first in `sums`
  std::int64_t end = 0;       ///< behind the last one
  std::int64_t at_once = 0;   ///< of a block of threads
  std::int64_t parts = 1;     ///< blocks of threads for a tile

  /// Where sums of a block of k go: element (0, 0) of a product.
  __device__ T* slice(std::int64_t block, std::int64_t of_a_product, std::int64_t batch) const {
    return sums + (block - first) * elements + batch * of_a_product;
  }
};

/// What a block of threads works on.
struct Share {
  std::int64_t batch;
  std::int64_t row;  ///< of tiles
  std::int64_t column;
  std::int64_t first_block;  ///< of k
  std::int64_t end_block;
};

/// Tiles are numbered part after part.
template <class T>
__device__ Share share_of(const Tiles& tiles, const Split<T>& split) {
  const std::int64_t number = tiles.first + blockIdx.x;
  const Tiles::Place place = tiles.place_in_strips(number / split.parts);
  const std::int64_t first = split.first + number % split.parts * split.at_once;
  return {place.batch, place.row, place.column, first, min(first + split.at_once, split.end)};
}

// ---------------------------------------------------------------------------------------------------------------------
// Tiles

/// A block's tile: warps_down x warps_across warps of lanes_down x lanes_across threads, each with own_rows x
/// own_columns elements. So many columns of A and rows of B are a portion; so many portions are in shared memory at
/// once.
template <class T, int warps_down_, int warps_across_, int lanes_down_, int own_rows_, int own_columns_, int portion_,
          int stages_, int blocks_per_multiprocessor_>
struct PipelineShape {
  static constexpr int vector = vector_length<T>;
  static constexpr int lanes_down = lanes_down_;
  static constexpr int lanes_across = 32 / lanes_down;
  static constexpr int warps_across = warps_across_;
  static constexpr int own_rows = own_rows_;
  static constexpr int own_columns = own_columns_;
  static constexpr int portion = portion_;
  static constexpr int stages = stages_;
  static constexpr int blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr int threads = 32 * warps_down_ * warps_across;
  static constexpr int rows = warps_down_ * lanes_down * own_rows;
  static constexpr int columns = warps_across * lanes_across * own_columns;
  static constexpr int a_pitch = portion + vector;
  static constexpr int b_pitch = columns;
  static constexpr int a_elements = rows * a_pitch;
  static constexpr int stage_elements = a_elements + portion * b_pitch;
  static constexpr std::size_t bytes = sizeof(T) * stages * stage_elements;
  static_assert(own_columns % vector == 0 && portion % vector == 0 && block_depth % portion == 0);
  static_assert(rows * portion / vector % threads == 0 && portion * columns / vector % threads == 0);
};

template <class T, Kernel kernel>
struct ShapeOf;
template <>
struct ShapeOf<float, Kernel::large> : PipelineShape<float, 4, 2, 4, 8, 8, 16, 4, 1> {};
template <>
struct ShapeOf<double, Kernel::large> : PipelineShape<double, 2, 4, 4, 8, 4, 8, 4, 1> {};
template <class T>
struct ShapeOf<T, Kernel::medium> : PipelineShape<T, 2, 2, 4, 8, 4, sizeof(T) == 4 ? 16 : 8, 4, 2> {};
template <class T>
struct ShapeOf<T, Kernel::small> : PipelineShape<T, 2, 1, 4, 4, 4, sizeof(T) == 4 ? 16 : 8, 4, 8> {};
template <class T>
struct ShapeOf<T, Kernel::tall> : PipelineShape<T, 4, 1, 8, 4, 4, sizeof(T) == 4 ? 32 : 16, 4, 2> {};
template <class T>
struct ShapeOf<T, Kernel::wide> : PipelineShape<T, 1, 4, 4, 4, 4, sizeof(T) == 4 ? 32 : 16, 4, 2> {};

/// sums += A B for a portion in shared memory, from the thread's first row and first column on.
template <class T, class Shape>
__device__ __forceinline__ void add_portion(T (&sums)[Shape::own_rows][Shape::own_columns], const T* a, const T* b) {
  constexpr int vector = Shape::vector;
  constexpr int groups = Shape::own_columns / vector;
#pragma unroll
  for (int inner = 0; inner < Shape::portion; inner += vector) {
    Vector<T> here[Shape::own_rows];
#pragma unroll
    for (int r = 0; r < Shape::own_rows; ++r) here[r] = load_vector(a + r * Shape::lanes_down * Shape::a_pitch + inner);
#pragma unroll
    for (int index = 0; index < vector; ++index) {
      Vector<T> there[groups];
#pragma unroll
      for (int group = 0; group < groups; ++group)
        there[group] = load_vector(b + (inner + index) * Shape::b_pitch + group * Shape::lanes_across * vector);
#pragma unroll
      for (int r = 0; r < Shape::own_rows; ++r)
#pragma unroll
        for (int c = 0; c < Shape::own_columns; ++c)
          sums[r][c] = fma(here[r].at[index], there[c / vector].at[c % vector], sums[r][c]);
    }
  }
}

// Launch shape: a block for each tile of C, or for each part of k of a tile.
template <class T, Kernel kernel>
__global__ void __launch_bounds__(ShapeOf<T, kernel>::threads, ShapeOf<T, kernel>::blocks_per_multiprocessor)
    multiply_tiles(Product<T> product, Tiles tiles, Split<T> split, Wide wide) {
  using Shape = ShapeOf<T, kernel>;
  constexpr int vector = Shape::vector;
  constexpr int stages = Shape::stages;
  constexpr auto portions_of_a_block = static_cast<int>(block_depth / Shape::portion);
  extern __shared__ unsigned char dynamic_shared[];
  T* const shared = reinterpret_cast<T*>(dynamic_shared);
  const Share share = share_of(tiles, split);
  product.select(share.batch);
  const std::int64_t top = share.row * Shape::rows;
  const std::int64_t left = share.column * Shape::columns;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warp = thread / 32;
  // Of its own rows a thread has every lanes_down-th, and of its columns groups of a vector each.
  const int row = warp / Shape::warps_across * (Shape::lanes_down * Shape::own_rows) + lane / Shape::lanes_across;
  const int column =
      warp % Shape::warps_across * (Shape::lanes_across * Shape::own_columns) + lane % Shape::lanes_across * vector;

  const std::int64_t first = share.first_block * block_depth;
  const std::int64_t end = min(share.end_block * block_depth, product.k);
  const auto portions = static_cast<int>((end - first + Shape::portion - 1) / Shape::portion);
  const Copies<T, Shape> copies(product, top, left, wide);
#pragma unroll
  for (int ahead = 0; ahead < stages - 1; ++ahead) {
    if (ahead < portions) copies.order(first + ahead * Shape::portion, shared + ahead * Shape::stage_elements);
    cuda::end_group();
  }
  T sums[Shape::own_rows][Shape::own_columns];
  T totals[Shape::own_rows][Shape::own_columns];
#pragma unroll
  for (int r = 0; r < Shape::own_rows; ++r)
#pragma unroll
    for (int c = 0; c < Shape::own_columns; ++c) {
      sums[r][c] = 0;
      totals[r][c] = T(-0.0);
    }
#pragma unroll 1
  for (int now = 0; now < portions; ++now) {
    cuda::wait_for_copies<stages - 2>();
    __syncthreads();  // this portion is there, and nobody reads the one before, whose place the next one takes
    if (const int next = now + stages - 1; next < portions)
      copies.order(first + std::int64_t{next} * Shape::portion, shared + next % stages * Shape::stage_elements);
    cuda::end_group();
    const T* const operands = shared + now % stages * Shape::stage_elements;
    add_portion<T, Shape>(sums, operands + row * Shape::a_pitch, operands + Shape::a_elements + column);
    if ((now + 1) % portions_of_a_block != 0 && now + 1 != portions) continue;
    // The end of a block of k.
    if (split.sums != nullptr) {
      T* const slice = split.slice(share.first_block + now / portions_of_a_block, product.m * product.n, share.batch);
#pragma unroll
      for (int r = 0; r < Shape::own_rows; ++r)
#pragma unroll
        for (int c = 0; c < Shape::own_columns; ++c) {
          const std::int64_t to_row = top + row + r * Shape::lanes_down;
          const std::int64_t to_column = left + column + c / vector * (Shape::lanes_across * vector) + c % vector;
          if (to_row < product.m && to_column < product.n) slice[to_row * product.n + to_column] = sums[r][c];
        }
    }
#pragma unroll
    for (int r = 0; r < Shape::own_rows; ++r)
#pragma unroll
      for (int c = 0; c < Shape::own_columns; ++c) {
        totals[r][c] += sums[r][c];
        sums[r][c] = 0;
      }
  }
  if (split.sums != nullptr) return;
#pragma unroll
  for (int r = 0; r < Shape::own_rows; ++r)
#pragma unroll
    for (int group = 0; group < Shape::own_columns / vector; ++group) {
      Vector<T> all;
#pragma unroll
      for (int index = 0; index < vector; ++index) all.at[index] = totals[r][group * vector + index];
      finish_along_row(product, top + row + r * Shape::lanes_down,
                       left + column + group * (Shape::lanes_across * vector), all, wide.c);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// A matrix times a column, and a row times a matrix

constexpr int line_threads = 128;

// A warp has 32 rows, a thread one of them. Elements come 32 rows x 32 columns at a time: the warp reads 32 neighbours
// of a row at once, all rows before it waits, and each thread takes its own row from shared memory. The next 32 x 32
// are on their way while one is used. Launch shape: a block of 4 warps for each 128 rows of C, or for each part of k of
// them.
template <class T>
__global__ void __launch_bounds__(line_threads) multiply_rows(Product<T> product, Tiles tiles, Split<T> split) {
  constexpr int side = 32;
  __shared__ T a_tiles[line_threads / 32][side][side + 1];  // +1: so that a column's elements lie in different banks
  __shared__ T b_tiles[line_threads / 32][side];
  const Share share = share_of(tiles, split);
  product.select(share.batch);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t top = share.row * line_threads + warp * side;
  if (top >= product.m) return;  // the whole warp
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
    __syncwarp();  // all have read the elements before
#pragma unroll
    for (int row = 0; row < side; ++row) a_tile[row][lane] = on_their_way[row];
    b_tile[lane] = b_on_its_way;
    __syncwarp();  // all elements are there
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

// A thread has a column, whose elements it reads one below the other, its neighbours theirs beside them.
// Launch shape: a block for each 128 columns of C, or for each part of k of them.
template <class T>
__global__ void __launch_bounds__(line_threads) multiply_columns(Product<T> product, Tiles tiles, Split<T> split) {
  const Share share = share_of(tiles, split);
  product.select(share.batch);
  const std::int64_t column = share.column * line_threads + threadIdx.x;
  if (column >= product.n) return;
  T total = T(-0.0);
  for (std::int64_t block = share.first_block; block < share.end_block; ++block) {
    const std::int64_t end = min((block + 1) * block_depth, product.k);
    T sum = 0;
#pragma unroll 16
    for (std::int64_t inner = block * block_depth; inner < end; ++inner)
      sum = fma(product.a(0, inner), product.b(inner, column), sum);
    if (split.sums != nullptr) split.slice(block, product.n, share.batch)[column] = sum;
    total += sum;
  }
  if (split.sums == nullptr) product.finish(0, column, total);
}

// ---------------------------------------------------------------------------------------------------------------------
// Tiny products

// Launch shape: a thread for each element of C, product after product.
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

// ---------------------------------------------------------------------------------------------------------------------
// Sums of blocks to totals

// Launch shape: a thread for each element of C, product after product. `totals` has those of the blocks before, where
// there were some, and gets those up to the last one that is there.
template <class T>
__global__ void add_sums(Product<T> product, Split<T> split, T* totals, bool are_first, bool are_last) {
  const std::int64_t element = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (element >= split.elements) return;
  T total = are_first ? T(-0.0) : totals[element];
  const T* sum = split.sums + element;
#pragma unroll 8
  for (std::int64_t block = split.first; block < split.end; ++block, sum += split.elements) total += *sum;
  if (!are_last) {
    totals[element] = total;
    return;
  }
  const std::int64_t within = element % (product.m * product.n);
  product.select(element / (product.m * product.n));
  product.finish(within / product.n, within % product.n, total);
}

// ---------------------------------------------------------------------------------------------------------------------
// Launches

template <class T>
using Launch = void (*)(const Product<T>&, const Tiles&, const Split<T>&, const Wide&, unsigned blocks,
                        const cuda::Stream&);

template <class T, Kernel kernel>
void launch_tiles(const Product<T>& product, const Tiles& tiles, const Split<T>& split, const Wide& wide,
                  unsigned blocks, const cuda::Stream& stream) {
  using Shape = ShapeOf<T, kernel>;
  static_assert(Shape::rows == tile_of(kernel, sizeof(T)).rows && Shape::columns == tile_of(kernel, sizeof(T)).columns);
  static_assert(Shape::threads == threads_of(kernel) && Shape::bytes <= most_shared_bytes);
  constexpr auto multiply = multiply_tiles<T, kernel>;
  cuda::allow_shared_memory(reinterpret_cast<const void*>(multiply), Shape::bytes);
  multiply<<<blocks, Shape::threads, Shape::bytes, stream>>>(product, tiles, split, wide);
}

template <class T>
void launch(Kernel kernel, const Product<T>& product, const Tiles& tiles, const Split<T>& split, unsigned blocks,
            const cuda::Stream& stream) {
  const Wide wide{has_vectors(product.a), has_vectors(product.b), has_vectors(product.c)};
  switch (kernel) {
    case Kernel::rows: multiply_rows<<<blocks, line_threads, 0, stream>>>(product, tiles, split); break;
    case Kernel::columns: multiply_columns<<<blocks, line_threads, 0, stream>>>(product, tiles, split); break;
    case Kernel::large: launch_tiles<T, Kernel::large>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::medium: launch_tiles<T, Kernel::medium>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::small: launch_tiles<T, Kernel::small>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::tall: launch_tiles<T, Kernel::tall>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::wide: launch_tiles<T, Kernel::wide>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::cells: break;  // multiply_in_cells()
  }
  cuda::check_launch("multiply");
}

template <class T>
void multiply_in_cells(const Problem<T>& problem, const Execution& execution) {
  constexpr int threads = 256;
  const std::int64_t elements = problem.batches * problem.m * problem.n;
  const cuda::Stream& stream = problem.gpu->stream();
  cuda::Portions(problem.stop, first_portion)
      .run(elements, static_cast<double>(problem.k), threads, stream, [&](std::int64_t first, std::int64_t number) {
        if (execution.progress) execution.progress({"multiply", first, elements, {}});
        multiply_cells<<<cuda::blocks_for(number, threads), threads, 0, stream>>>(Product<T>(problem), first,
                                                                                  first + number);
        cuda::check_launch("multiply_cells");
      });
}

}  // namespace

template <class T>
Done cuda_pipelined(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "multiply");
  const Shape shape = problem.shape();
  const Plan plan = plan_of(shape);
  const cuda::Stream& stream = problem.gpu->stream();
  if (plan.kernel == Kernel::cells) {
    multiply_in_cells(problem, execution);
    stream.wait();
    return {};
  }
  const Product<T> product(problem);
  const TileSize size = tile_of(plan.kernel, sizeof(T));
  Tiles tiles = tiles_of(problem, size.rows, size.columns);
  const std::int64_t count = problem.batches * tiles.of_a_product;
  const std::int64_t blocks = blocks_of_k(shape);
  const double elements_of_a_tile = static_cast<double>(size.rows * size.columns);
  cuda::Portions portions(problem.stop, first_portion);
  if (plan.slices == 0) {
    Split<T> whole;
    whole.end = blocks;
    whole.at_once = blocks;
    portions.run(count, elements_of_a_tile * static_cast<double>(problem.k), 1, stream,
                 [&](std::int64_t first, std::int64_t number) {
                   if (execution.progress) execution.progress({"multiply", first, count, {}});
                   tiles.first = first;
                   launch(plan.kernel, product, tiles, whole, static_cast<unsigned>(number), stream);
                 });
    stream.wait();
    return {};
  }
  Split<T> split;
  split.elements = problem.batches * problem.m * problem.n;
  split.sums = problem.gpu->memory().template take<T>(plan.slices * split.elements);
  T* const totals = plan.slices < blocks ? problem.gpu->memory().template take<T>(split.elements) : nullptr;
  split.at_once = plan.blocks_at_once;
  for (std::int64_t first_block = 0; first_block < blocks; first_block += plan.slices) {
    split.first = first_block;
    split.end = std::min(first_block + plan.slices, blocks);
    split.parts = (split.end - split.first + split.at_once - 1) / split.at_once;
    portions.run(count * split.parts,
                 elements_of_a_tile * static_cast<double>(std::min(split.at_once * block_depth, problem.k)), 1, stream,
                 [&](std::int64_t first, std::int64_t number) {
                   if (execution.progress) execution.progress({"multiply", first_block, blocks, {}});
                   tiles.first = first;
                   launch(plan.kernel, product, tiles, split, static_cast<unsigned>(number), stream);
                 });
    constexpr int threads = 128;
    add_sums<<<cuda::blocks_for(split.elements, threads), threads, 0, stream>>>(product, split, totals,
                                                                                first_block == 0, split.end == blocks);
    cuda::check_launch("add_sums");
    // Launches of many short portions would otherwise be ordered long before they run, and no stop request be seen.
    if (split.end < blocks) stream.wait();
  }
  stream.wait();
  return {};
}

GRADUS_MATMUL_RUNG(cuda_pipelined)

}  // namespace gradus::matmul_detail
