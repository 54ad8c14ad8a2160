// Chooses the kernel of cuda_pipelined, and decides whether blocks of k are summed in parallel. This file is plain C++.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "cuda/sizes.hpp"
#include "matmul/gpu/panels.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

inline std::int64_t pieces(std::int64_t whole, std::int64_t piece) { return (whole + piece - 1) / piece; }

enum class Kernel : std::uint8_t {
  cells,      ///< one thread per element, for products of a few elements each
  rows,       ///< matrix times column
  long_rows,  ///< matrix times column, with the copy engine
  columns,    ///< row times matrix
  large,      ///< tiled; tile sizes are in PipelineShape
  medium,
  small,
  tall,  ///< tiled, for products with few columns
  wide   ///< tiled, for products with few rows
};

struct TileSize {
  std::int64_t rows;
  std::int64_t columns;
};
/// Returns the part of C that a block of threads computes.
constexpr TileSize tile_of(Kernel kernel, int element_bytes) {
  switch (kernel) {
    case Kernel::cells: return {1, 256};  // elements are counted in row-major order over all products
    case Kernel::rows: return {128, 1};
    case Kernel::long_rows: return {32, 1};
    case Kernel::columns: return {1, 128 * 16 / element_bytes};
    case Kernel::large: return {element_bytes == 4 ? 128 : 64, 128};
    case Kernel::medium: return {64, 64};
    case Kernel::small: return {32, 32};
    case Kernel::tall: return {128, 16};
    case Kernel::wide: return {16, 128};
  }
  return {};
}

/// Properties of a large GPU: the number of its multiprocessors, and the number of threads that hides its memory
/// latency. The memory estimate and the job must use the same plan, so constants replace the properties of the job's
/// GPU. The result of a product does not depend on these constants.
inline constexpr std::int64_t multiprocessors = 132;
inline constexpr std::int64_t many_threads = 256 * multiprocessors;
/// The largest number of elements of C for which k is split. The tiles of a larger C occupy the GPU without splitting.
inline constexpr std::int64_t most_split_elements = std::int64_t{1} << 21;
/// The sums of blocks of k may take at most this number of bytes of memory.
inline constexpr std::uint64_t most_sum_bytes = std::uint64_t{64} << 20;

inline std::int64_t blocks_of_k(const Shape& shape) { return pieces(shape.k, block_depth); }

/// If blocks of k are summed in parallel, returns the number of blocks whose sums are in memory at a time. Returns 0 if
/// k is never split for this shape. The result is the same for the transposed product and for a batch that is joined to
/// one product.
inline std::int64_t slices_of(const Shape& shape) {
  const std::int64_t blocks = blocks_of_k(shape);
  if (blocks < 2 || static_cast<double>(shape.batches) * static_cast<double>(shape.m) * static_cast<double>(shape.n) >
                        static_cast<double>(most_split_elements))
    return 0;
  const std::int64_t elements = std::max<std::int64_t>(shape.batches * shape.m * shape.n, 1);
  const auto most = static_cast<std::int64_t>(most_sum_bytes / static_cast<std::uint64_t>(shape.element_bytes));
  const std::int64_t slices = std::min(blocks, most / elements);
  return slices < 2 ? 0 : slices;
}

struct Plan {
  Kernel kernel = Kernel::large;
  /// The number of blocks of k that are summed in parallel and then added in order. If 0, one thread sums all blocks of
  /// an element.
  std::int64_t slices = 0;
  std::int64_t blocks_at_once = 1;  ///< number of blocks of k that a block of threads sums in sequence
};

/// Upper bound of the shared memory that any kernel uses per block of threads.
inline constexpr std::uint64_t most_shared_bytes = std::uint64_t{88} << 10;

/// Returns true if packing A and B for the copy engine saves more time than the packing takes. Packing copies each
/// element once. The product uses an element of A n times and an element of B m times.
inline bool packing_pays(const Shape& shape) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  constexpr double least_side = 1500;
  return 2 * m * n / (m + n) >= least_side && shape.k >= 2 * block_depth;
}

constexpr int threads_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::cells:
    case Kernel::large: return 256;
    case Kernel::long_rows:
    case Kernel::small: return 64;
    default: return 128;
  }
}

// Returns the kernel with the least estimated time for a shape. For tiled kernels, a multiprocessor processes its tiles
// in sequence. Every tile takes the same time, even if the matrices do not fill it. If k is split, storing and adding
// the sums takes an additional fifth of the time. The kernels for few rows or columns are limited by memory latency and
// need many threads.
inline Plan plan_of(const Shape& shape) {
  Plan plan;
  const auto tiles = [&](Kernel kernel) {
    const TileSize size = tile_of(kernel, shape.element_bytes);
    return static_cast<double>(shape.batches) * static_cast<double>(pieces(shape.m, size.rows)) *
           static_cast<double>(pieces(shape.n, size.columns));
  };
  const std::int64_t most_slices = slices_of(shape);
  constexpr std::int64_t few = 16;
  if (shape.n == 1) plan.kernel = Kernel::rows;
  else if (shape.m == 1) plan.kernel = Kernel::columns;
  else if (shape.m <= few && shape.n <= few && shape.k <= 4 * few) plan.kernel = Kernel::cells;
  else if (shape.n <= few) plan.kernel = Kernel::tall;
  else if (shape.m <= few) plan.kernel = Kernel::wide;
  else {
    double least = std::numeric_limits<double>::infinity();
    constexpr std::pair<Kernel, double> kinds[] = {{Kernel::large, 1}, {Kernel::medium, 1.2}, {Kernel::small, 1.7}};
    for (const auto& [kernel, cost_of_an_element] : kinds)
      for (const std::int64_t slices : {std::int64_t{0}, most_slices}) {
        const TileSize size = tile_of(kernel, shape.element_bytes);
        const double parts = slices == 0 ? 1 : static_cast<double>(slices);
        const double of_a_multiprocessor = std::ceil(tiles(kernel) * parts / static_cast<double>(multiprocessors));
        const double cost = of_a_multiprocessor * static_cast<double>(size.rows * size.columns) / parts *
                            cost_of_an_element * (slices == 0 ? 1 : 1.2);
        if (cost >= least) continue;
        least = cost;
        plan.kernel = kernel;
        plan.slices = slices;
      }
  }
  const double threads = tiles(plan.kernel) * threads_of(plan.kernel);
  const bool waits_for_memory = plan.kernel == Kernel::rows || plan.kernel == Kernel::columns ||
                                plan.kernel == Kernel::tall || plan.kernel == Kernel::wide;
  if (waits_for_memory && threads < static_cast<double>(many_threads)) plan.slices = most_slices;
  const double side_by_side = threads * static_cast<double>(plan.slices);
  plan.blocks_at_once =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(side_by_side / (8 * static_cast<double>(many_threads))));
  return plan;
}

/// Returns the plan for a matrix times a column if the copy engine can fetch both. Splits k into as many parts as can
/// run concurrently, but never into more parts than `plan` has slices.
inline Plan by_long_rows(Plan plan, const Shape& shape) {
  constexpr std::int64_t at_once = 6 * multiprocessors;
  plan.kernel = Kernel::long_rows;
  const std::int64_t parts =
      at_once / (shape.batches * pieces(shape.m, tile_of(plan.kernel, shape.element_bytes).rows));
  if (parts < 2) plan.slices = 0;
  if (plan.slices > 0) plan.blocks_at_once = pieces(plan.slices, parts);
  return plan;
}

/// Returns an upper bound of the GPU memory for the sums of blocks of k and their running total. The bound also holds
/// for the transposed product and for a batch that is joined to one product.
inline std::uint64_t sum_bytes(const Shape& shape) {
  Shape transposed = shape;
  std::swap(transposed.m, transposed.n);
  const std::int64_t slices = slices_of(shape);
  if (slices == 0 || (shape.batches == 1 && plan_of(shape).slices == 0 && plan_of(transposed).slices == 0)) return 0;
  const std::int64_t elements = shape.batches * shape.m * shape.n;
  const auto element = static_cast<std::size_t>(shape.element_bytes);
  return cuda::part_bytes(slices * elements, element) +
         (slices < blocks_of_k(shape) ? cuda::part_bytes(elements, element) : 0);
}

}  // namespace gradus::matmul_detail
