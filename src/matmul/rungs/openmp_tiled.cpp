// openmp_tiled: C is computed in tiles. A tile of C is a sum of products of a tile of A and a tile of B, which stay in
// the caches until every product that needs them is done.
//
// What changes from `openmp`: there, each row of C reads all of B. Here, a thread computes 64 rows by 256 columns of C
// at a time. 64 x 256 elements of A and 256 x 256 elements of B serve 64 x 256 x 256 products. Each load of an element
// of B from memory therefore serves 64 products, and each load of an element of A serves 256. The tile of B is copied
// so that its rows are contiguous whatever the strides of B. Without the copy, rows whose distance is a power of two
// would map to a few sets of a cache and evict each other. Four rows of A are processed together, so each element of B
// that is loaded from the tile serves four sums.
//
// Work: m n k multiplications and additions. Bytes: m n k / 64 elements of B from memory or the last-level cache.
// Limits: each thread needs a tile of B and a tile of sums in addition to the matrices (320 KiB in float). Rounds every
// product and every sum, in the order of k.
// Source: M. S. Lam, E. E. Rothberg, M. E. Wolf, "The cache performance and optimizations of blocked algorithms"
// (1991).
#include <algorithm>

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "matmul/problem.hpp"
#include "matmul/textbook.hpp"

namespace gradus::matmul_detail {

namespace {

constexpr std::int64_t tile_rows = 64;
constexpr std::int64_t tile_columns = 256;
constexpr std::int64_t tile_depth = 256;

template <class T>
struct Tiles {
  Buffer<T> b = Buffer<T>(tile_depth * tile_columns);
  Buffer<T> totals = Buffer<T>(tile_rows * tile_columns);
};

/// Multiplies a block of A (rows x depth elements) by the copy of B, and adds the product to the totals.
template <class T>
void add_product(const Operand<const T>& a, std::int64_t first_row, std::int64_t rows, std::int64_t first_inner,
                 std::int64_t depth, Tiles<T>& tiles) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    T* const total = tiles.totals.data() + row * tile_columns;
    for (std::int64_t inner = 0; inner < depth; ++inner) {
      const T* const b = tiles.b.data() + inner * tile_columns;
      const T factor_0 = a(first_row + row, first_inner + inner);
      const T factor_1 = a(first_row + row + 1, first_inner + inner);
      const T factor_2 = a(first_row + row + 2, first_inner + inner);
      const T factor_3 = a(first_row + row + 3, first_inner + inner);
#pragma omp simd
      for (std::int64_t column = 0; column < tile_columns; ++column) {
        const T element = b[column];
        total[column] += factor_0 * element;
        total[tile_columns + column] += factor_1 * element;
        total[2 * tile_columns + column] += factor_2 * element;
        total[3 * tile_columns + column] += factor_3 * element;
      }
    }
  }
  for (; row < rows; ++row) {
    T* const total = tiles.totals.data() + row * tile_columns;
    for (std::int64_t inner = 0; inner < depth; ++inner) {
      const T* const b = tiles.b.data() + inner * tile_columns;
      const T factor = a(first_row + row, first_inner + inner);
      for (std::int64_t column = 0; column < tile_columns; ++column) total[column] += factor * b[column];
    }
  }
}

/// Computes the tile of C whose first element is (first_row, first_column).
template <class T>
void multiply_tile(const Problem<T>& problem, std::int64_t batch, std::int64_t first_row, std::int64_t first_column,
                   Tiles<T>& tiles) {
  const auto a = problem.a.at(batch);
  const auto b = problem.b.at(batch);
  const auto c = problem.c.at(batch);
  const std::int64_t rows = std::min(tile_rows, problem.m - first_row);
  const std::int64_t columns = std::min(tile_columns, problem.n - first_column);
  std::fill_n(tiles.totals.data(), tile_rows * tile_columns, T{0});
  for (std::int64_t inner = 0; inner < problem.k && !problem.stop.stop_requested(); inner += tile_depth) {
    const std::int64_t depth = std::min(tile_depth, problem.k - inner);
    for (std::int64_t line = 0; line < depth; ++line) {
      T* const copy = tiles.b.data() + line * tile_columns;
      for (std::int64_t column = 0; column < columns; ++column) copy[column] = b(inner + line, first_column + column);
      std::fill(copy + columns, copy + tile_columns, T{0});
    }
    add_product(a, first_row, rows, inner, depth, tiles);
  }
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      T& result = c(first_row + row, first_column + column);
      result = finished(tiles.totals[row * tile_columns + column], problem.alpha, problem.beta,
                        problem.beta == 0 ? T{0} : result);
    }
}

}  // namespace

template <class T>
Done openmp_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "multiply");
  const int threads = cpu::thread_count(execution);
  const std::int64_t down = (problem.m + tile_rows - 1) / tile_rows;
  const std::int64_t across = (problem.n + tile_columns - 1) / tile_columns;
  const std::int64_t of_a_product = down * across;
  const std::int64_t count = problem.batches * of_a_product;
  // If k is so small that scheduling would cost more than one tile, a thread receives several tiles at a time.
  const std::int64_t stretch =
      core::chunk_length(count, tile_rows * tile_columns * std::min(problem.k, tile_depth), threads);
#pragma omp parallel num_threads(threads)
  {
    Tiles<T> tiles;
#pragma omp for schedule(dynamic)
    for (std::int64_t first = 0; first < count; first += stretch) {
      if (problem.stop.stop_requested()) continue;
      for (std::int64_t tile = first; tile < std::min(first + stretch, count); ++tile)
        multiply_tile(problem, tile / of_a_product, tile / across % down * tile_rows, tile % across * tile_columns,
                      tiles);
    }
  }
  core::honour_stop(problem.stop, "stopped while multiplying");
  if (execution.progress) execution.progress({"multiply", problem.m, problem.m, {}});
  return {};
}

namespace {

core::Memory tiles_of_threads(const Shape& shape, int threads) {
  constexpr std::uint64_t elements = std::uint64_t{64 + 256} * 256;
  return {.host = elements * static_cast<std::uint64_t>(shape.element_bytes) * static_cast<std::uint64_t>(threads)};
}

}  // namespace

extern constinit const Variant openmp_tiled_rung{
    .name = "openmp_tiled",
    .summary = "tiles that stay in the caches until all their products are done",
    .change = "an element comes from memory once per 64 or 256 products; four rows share a load of B and the sums",
    .contract = textbook,
    .backend = core::Backend::openmp,
    .memory = tiles_of_threads,
    .run = {openmp_tiled<float>, openmp_tiled<double>},
};

}  // namespace gradus::matmul_detail
