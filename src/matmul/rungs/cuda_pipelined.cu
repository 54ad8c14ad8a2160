// cuda_pipelined: operands are copied ahead of the arithmetic, and each kind of shape has its own kernel.
//
// What changes from `cuda_warp_tiled`:
// * Copies from global to shared memory bypass the registers (cp.async). They run three portions of k ahead of the
//   arithmetic: three portions are in flight while a fourth is used. A is transposed during the copy, element by
//   element.
// * A thread loads its operands for the next k while it multiplies the operands of the current k.
// * For large products of float on GPUs with a copy engine, A and B are packed tile by tile in the layout of shared
//   memory. One thread of a block issues copies of 32 KiB each. The other threads only load operands and multiply
//   (RegisterTile, gpu/panels.cuh). No thread computes an address, and no barrier stops the whole block.
// * Small and narrow products use other tile sizes. A batch of tiny products uses a thread per element. Products with a
//   single row or column use kernels that read each element of the matrix once and are limited by memory
//   (gpu/lines.cuh).
// * If C is too small to occupy the GPU and k is long, blocks of 256 terms are summed in parallel, and their sums are
//   stored. Another kernel adds the stored sums in order. In the canonical result, the blocks are independent, so the
//   bits do not change.
//
// Barriers: one per portion, after all of the portion's copies have arrived. The barrier also ensures that no thread
// still reads the previous portion, which the next copies overwrite. With packed operands, two barriers per stage
// synchronize the copying thread and the multiplying threads.
// Operations: 2 m n k, with m and n rounded up to whole tiles. Bytes: as `cuda_warp_tiled`. Packed operands are written
// and read once more; the sums of split products are written and read once. Large products are limited by arithmetic,
// products with one row or column by memory.
// Limits: as `cuda_naive`. A requested block size has no effect. gpu/plan.hpp chooses the kernel.
// Source: NVIDIA's CUTLASS, multistage and warp-specialized kernels; packing: K. Goto, R. van de Geijn, "Anatomy of
// high-performance matrix multiplication" (2008); split-k: CUTLASS, but here the additions keep the order of the
// canonical result.
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "execution/devices.hpp"
#include "matmul/gpu/copies.cuh"
#include "matmul/gpu/lines.cuh"
#include "matmul/gpu/pack.cuh"
#include "matmul/gpu/plan.hpp"

namespace gradus::matmul_detail {

namespace {

// ---------------------------------------------------------------------------------------------------------------------
// Tiles

/// The shape of a block's tile. A block has warps_down x warps_across warps, and a warp has lanes_down x lanes_across
/// threads. Each thread computes own_rows x own_columns elements. The operands pass through shared memory in portions
/// of `portion` columns of A and as many rows of B. Shared memory holds `stages` portions.
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
  static constexpr int a_pitch = rows + vector;
  static constexpr int b_pitch = columns;
  static constexpr int a_elements = portion * a_pitch;
  static constexpr int stage_elements = a_elements + portion * b_pitch;
  static constexpr std::size_t bytes = sizeof(T) * stages * stage_elements;
  static_assert(own_rows % vector == 0 && own_columns % vector == 0 && block_depth % portion == 0);
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

/// Multiplies `depth` columns of A by `depth` rows of B, all in shared memory, and adds the products to the sums. `a`
/// and `b` point to the thread's first row and column. a_pitch and b_pitch are the distances from one k to the next. A
/// thread has groups of neighbouring rows and groups of neighbouring columns. Each group is one vector. The distance
/// between groups is a_apart for rows and b_apart for columns. Operands are loaded one k ahead of their use.
template <int depth, int a_pitch, int b_pitch, int a_apart, int b_apart, class T, int rows, int columns>
__device__ __forceinline__ void add_products(T (&sums)[rows][columns], const T* a, const T* b) {
  constexpr int vector = vector_length<T>;
  Vector<T> here[2][rows / vector];
  Vector<T> there[2][columns / vector];
  const auto load = [&](int inner) {
#pragma unroll
    for (int group = 0; group < rows / vector; ++group)
      here[inner % 2][group] = load_vector(a + inner * a_pitch + group * a_apart);
#pragma unroll
    for (int group = 0; group < columns / vector; ++group)
      there[inner % 2][group] = load_vector(b + inner * b_pitch + group * b_apart);
  };
  load(0);
#pragma unroll
  for (int inner = 0; inner < depth; ++inner) {
    if (inner + 1 < depth) load(inner + 1);
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int turn = 0; turn < columns; ++turn) {
        const int c = r % 2 == 0 ? turn : columns - 1 - turn;  // consecutive products share an operand
        sums[r][c] =
            fma(here[inner % 2][r / vector].at[r % vector], there[inner % 2][c / vector].at[c % vector], sums[r][c]);
      }
  }
}

// Launch shape: one block per tile of C. If k is split, each part of k has a separate block.
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
  const int row =
      warp / Shape::warps_across * (Shape::lanes_down * Shape::own_rows) + lane / Shape::lanes_across * vector;
  const int column =
      warp % Shape::warps_across * (Shape::lanes_across * Shape::own_columns) + lane % Shape::lanes_across * vector;

  const std::int64_t first = share.first_block * block_depth;
  const std::int64_t end = min(share.end_block * block_depth, product.k);
  const auto portions = static_cast<int>((end - first + Shape::portion - 1) / Shape::portion);
  Copies<T, Shape> copies(product, top, left, first, wide);
#pragma unroll
  for (int ahead = 0; ahead < stages - 1; ++ahead) {
    if (ahead < portions) copies.order(shared + ahead * Shape::stage_elements);
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
    __syncthreads();  // this portion has arrived, and the previous portion may be overwritten
    if (const int next = now + stages - 1; next < portions)
      copies.order(shared + next % stages * Shape::stage_elements);
    cuda::end_group();
    const T* const operands = shared + now % stages * Shape::stage_elements;
    add_products<Shape::portion, Shape::a_pitch, Shape::b_pitch, Shape::lanes_down * vector,
                 Shape::lanes_across * vector>(sums, operands + row, operands + Shape::a_elements + column);
    if ((now + 1) % portions_of_a_block != 0 && now + 1 != portions) continue;
    // A block of k ends here.
    if (split.sums != nullptr) {
      T* const slice = split.slice(share.first_block + now / portions_of_a_block, product.m * product.n, share.batch);
#pragma unroll
      for (int r = 0; r < Shape::own_rows; ++r)
#pragma unroll
        for (int c = 0; c < Shape::own_columns; ++c) {
          const std::int64_t to_row = top + row + r / vector * (Shape::lanes_down * vector) + r % vector;
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
      finish_along_row(product, top + row + r / vector * (Shape::lanes_down * vector) + r % vector,
                       left + column + group * (Shape::lanes_across * vector), all, wide.c);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Large products: packed operands

/// Packing order: for each k, the elements of all 128 lines are contiguous.
struct ByK {
  static constexpr int depth = 16;
  __device__ static int line(int place) { return place % panel_lines; }
  __device__ static int k(int place) { return place / panel_lines; }
};

/// Consumer for multiply_panels(): eight warps of 4 x 8 threads, each with 8 x 8 elements.
class RegisterTile {
 public:
  static constexpr bool loads_ahead = false;
  static constexpr int stages = 3;
  static constexpr int tile_bytes = plain_tile_bytes<float>;
  static constexpr int stage_bytes = 2 * tile_bytes;
  static constexpr std::size_t own_shared_bytes = 0;
  using Job = PackedProduct<float>;

  __device__ RegisterTile(const Job& job, unsigned char*) : job_(job) {
    const int thread = static_cast<int>(threadIdx.x) - copying_threads;
    const int lane = thread % 32;
    row_ = thread / 64 * 32 + lane / 8 * vector;
    column_ = thread / 32 % 2 * 64 + lane % 8 * vector;
#pragma unroll
    for (int r = 0; r < own; ++r)
#pragma unroll
      for (int c = 0; c < own; ++c) {
        sums_[r][c] = 0;
        totals_[r][c] = -0.0f;
      }
  }
  __device__ __forceinline__ void multiply(const unsigned char* tile, std::int64_t) {
    const float* const a = reinterpret_cast<const float*>(tile);
    const float* const b = reinterpret_cast<const float*>(tile + tile_bytes);
    add_products<plain_tile_depth<float>, panel_lines, panel_lines, rows_apart, columns_apart>(sums_, a + row_,
                                                                                               b + column_);
  }
  __device__ __forceinline__ void add(std::int64_t tile, bool is_last) {
    constexpr std::int64_t tiles_of_a_block = block_depth / plain_tile_depth<float>;
    if ((tile + 1) % tiles_of_a_block != 0 && !is_last) return;
#pragma unroll
    for (int r = 0; r < own; ++r)
#pragma unroll
      for (int c = 0; c < own; ++c) {
        totals_[r][c] += sums_[r][c];
        sums_[r][c] = 0;
      }
  }
  __device__ void finish(const Tiles::Place& place) {
    Product<float> product = job_.product;
    product.select(place.batch);
    const bool wide = has_vectors(product.c);
#pragma unroll
    for (int r = 0; r < own; ++r)
#pragma unroll
      for (int group = 0; group < own / vector; ++group) {
        Vector<float> all;
#pragma unroll
        for (int index = 0; index < vector; ++index) all.at[index] = totals_[r][group * vector + index];
        finish_along_row(product, place.row * panel_lines + row_ + r / vector * rows_apart + r % vector,
                         place.column * panel_lines + column_ + group * columns_apart, all, wide);
      }
  }

 private:
  static constexpr int vector = vector_length<float>;
  static constexpr int own = 8;
  static constexpr int rows_apart = 4 * vector;
  static constexpr int columns_apart = 8 * vector;

  const Job& job_;
  int row_;
  int column_;
  float sums_[own][own];
  float totals_[own][own];
};

// ---------------------------------------------------------------------------------------------------------------------
// Sums of blocks to totals

// Launch shape: one thread per element of C, over all products. If `are_first` is false, the array `totals` holds the
// totals of the preceding blocks of k. The kernel adds the sums of the available blocks. If `are_last` is true, the
// kernel stores the result in C, otherwise in `totals`.
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
  const Wide wide{has_vectors(product.b), has_vectors(product.c)};
  switch (kernel) {
    case Kernel::rows: multiply_rows<<<blocks, line_threads, 0, stream>>>(product, tiles, split); break;
    case Kernel::long_rows: multiply_long_rows<<<blocks, LongRows::threads, 0, stream>>>(product, tiles, split); break;
    case Kernel::columns: multiply_columns<<<blocks, line_threads, 0, stream>>>(product, tiles, split, wide.b); break;
    case Kernel::large: launch_tiles<T, Kernel::large>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::medium: launch_tiles<T, Kernel::medium>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::small: launch_tiles<T, Kernel::small>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::tall: launch_tiles<T, Kernel::tall>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::wide: launch_tiles<T, Kernel::wide>(product, tiles, split, wide, blocks, stream); break;
    case Kernel::cells: break;  // handled by multiply_in_cells()
  }
  cuda::check_launch("multiply");
}

bool has_copy_engine(const cuda::Job& job) {
  return execution::has_warpgroup_code(execution::require_gpu(execution::this_machine(), job.gpu()));
}

template <class T>
void multiply_in_cells(const Problem<T>& problem, const Execution& execution) {
  constexpr int threads = 256;
  const std::int64_t elements = problem.batches * problem.m * problem.n;
  const cuda::Stream& stream = problem.gpu->stream();
  cuda::Portions(problem.stop, first_portion<T>())
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
  const cuda::Stream& stream = problem.gpu->stream();
  if constexpr (sizeof(T) == sizeof(float)) {
    if (packing_pays(shape) && has_copy_engine(*problem.gpu)) {
      multiply_packed<RegisterTile>(packed_product<float, ByK, ByK>(problem, problem.gpu->memory(), stream), execution,
                                    problem.stop, problem.batches, stream);
      stream.wait();
      return {};
    }
  }
  Plan plan = plan_of(shape);
  if (plan.kernel == Kernel::rows && has_long_rows(problem) && has_copy_engine(*problem.gpu))
    plan = by_long_rows(plan, shape);
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
  cuda::Portions portions(problem.stop, first_portion<T>());
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
    // Without this wait, short launches would be queued long before they run. A stop request could not prevent a launch
    // that is already queued.
    if (split.end < blocks) stream.wait();
  }
  stream.wait();
  return {};
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

extern constinit const Variant cuda_pipelined_rung{
    .name = "cuda_pipelined",
    .summary = "copies ahead of the arithmetic; a kernel for each kind of shape, long k split by its blocks",
    .change = "copies overlap the arithmetic; small C with long k, vectors and batches occupy the GPU",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = pipelined_on_gpu,
    .memory = pipelined_memory,
    .run = GRADUS_CUDA_RUNS(cuda_pipelined<float>, cuda_pipelined<double>),
};

}  // namespace gradus::matmul_detail
