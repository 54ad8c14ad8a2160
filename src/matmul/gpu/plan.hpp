// How cuda_pipelined works on a product: by which kernel, and whether the sums of its blocks of k are found side by
// side. Plain C++: also in builds without CUDA, for the estimate of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cuda/sizes.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

enum class Kernel : std::uint8_t {
  cells,    ///< a thread for each element: products of a few elements each
  rows,     ///< a matrix times a column
  columns,  ///< a row times a matrix
  large,    ///< tiles; their sizes are in PipelineShape
  medium,
  small,
  tall,  ///< for few columns
  wide   ///< for few rows
};

struct TileSize {
  std::int64_t rows;
  std::int64_t columns;
};
/// Of C, that a block has.
constexpr TileSize tile_of(Kernel kernel, int element_bytes) {
  switch (kernel) {
    case Kernel::cells: return {1, 256};  // of all elements in a row
    case Kernel::rows: return {128, 1};
    case Kernel::columns: return {1, 128};
    case Kernel::large: return {element_bytes == 4 ? 128 : 64, 128};
    case Kernel::medium: return {64, 64};
    case Kernel::small: return {32, 32};
    case Kernel::tall: return {128, 16};
    case Kernel::wide: return {16, 128};
  }
  return {};
}

/// Threads that keep a large GPU busy: how many there are there does not change what is right, and the plan is to be
/// the same for the estimate and for the job.
inline constexpr std::int64_t many_threads = 132 * 1024;
/// Where C has more elements than this, its tiles alone occupy a GPU.
inline constexpr std::int64_t most_split_elements = std::int64_t{1} << 21;
/// For sums of blocks, at most.
inline constexpr std::uint64_t most_sum_bytes = std::uint64_t{64} << 20;

inline std::int64_t blocks_of_k(const Shape& shape) { return (shape.k + block_depth - 1) / block_depth; }

/// The blocks of k whose sums are in memory at a time where they are found side by side; 0 where they never are. The
/// same for the transposed product, and for a batch joined to one.
inline std::int64_t slices_of(const Shape& shape) {
  const std::int64_t blocks = blocks_of_k(shape);
  if (blocks < 2 || static_cast<double>(shape.batches) * static_cast<double>(shape.m) * static_cast<double>(shape.n) >
                        static_cast<double>(most_split_elements))
    return 0;
  const std::int64_t elements = std::max<std::int64_t>(shape.batches * shape.m * shape.n, 1);
  const auto most = static_cast<std::int64_t>(most_sum_bytes / static_cast<std::uint64_t>(shape.element_bytes));
  return std::min(blocks, most / elements);
}

/// GPU memory for these sums, and for the total of those before.
inline std::uint64_t sum_bytes(const Shape& shape) {
  const std::int64_t slices = slices_of(shape);
  if (slices == 0) return 0;
  const std::int64_t elements = shape.batches * shape.m * shape.n;
  const auto element = static_cast<std::size_t>(shape.element_bytes);
  return cuda::part_bytes(slices * elements, element) +
         (slices < blocks_of_k(shape) ? cuda::part_bytes(elements, element) : 0);
}

struct Plan {
  Kernel kernel = Kernel::large;
  /// Blocks of k whose sums are found side by side, then added in their order; 0: one thread has all blocks of an
  /// element.
  std::int64_t slices = 0;
  std::int64_t blocks_at_once = 1;  ///< of `slices`, that a block of threads finds one after the other
};

/// Of a block, by any of the kernels.
inline constexpr std::uint64_t most_shared_bytes = std::uint64_t{88} << 10;

/// Threads of a block.
constexpr int threads_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::cells:
    case Kernel::large: return 256;
    case Kernel::small: return 64;
    default: return 128;
  }
}

// Which kernel is the fastest for a shape is estimated: each does a tile's elements at the cost of its kind, whether or
// not the matrices fill it, and is slower where its threads are too few to occupy the GPU.
inline Plan plan_of(const Shape& shape) {
  Plan plan;
  const auto tiles = [&](Kernel kernel) {
    const TileSize size = tile_of(kernel, shape.element_bytes);
    return static_cast<double>(shape.batches) * static_cast<double>((shape.m + size.rows - 1) / size.rows) *
           static_cast<double>((shape.n + size.columns - 1) / size.columns);
  };
  const std::int64_t most_slices = slices_of(shape);
  const auto threads = [&](Kernel kernel) { return tiles(kernel) * threads_of(kernel); };
  constexpr std::int64_t few = 16;
  if (shape.n == 1) plan.kernel = Kernel::rows;
  else if (shape.m == 1) plan.kernel = Kernel::columns;
  else if (shape.m <= few && shape.n <= few && shape.k <= 4 * few) plan.kernel = Kernel::cells;
  else if (shape.n <= few) plan.kernel = Kernel::tall;
  else if (shape.m <= few) plan.kernel = Kernel::wide;
  else {
    double least = 0;
    constexpr std::pair<Kernel, double> kinds[] = {{Kernel::large, 1}, {Kernel::medium, 1.3}, {Kernel::small, 2.2}};
    for (const auto& [kernel, cost_of_an_element] : kinds) {
      const TileSize size = tile_of(kernel, shape.element_bytes);
      const double side_by_side = threads(kernel) * static_cast<double>(std::max<std::int64_t>(most_slices, 1));
      const double busy = std::min(1.0, side_by_side / (many_threads / 4));  // large tiles have few threads and suffice
      const double cost = tiles(kernel) * static_cast<double>(size.rows * size.columns) * cost_of_an_element / busy;
      if (kernel != Kernel::large && cost >= least) continue;
      least = cost;
      plan.kernel = kernel;
    }
  }
  if (plan.kernel == Kernel::cells || most_slices < 2 || threads(plan.kernel) >= many_threads / 4) return plan;
  plan.slices = most_slices;
  const double side_by_side = threads(plan.kernel) * static_cast<double>(most_slices);
  plan.blocks_at_once = std::max<std::int64_t>(1, static_cast<std::int64_t>(side_by_side / (2.0 * many_threads)));
  return plan;
}

}  // namespace gradus::matmul_detail
