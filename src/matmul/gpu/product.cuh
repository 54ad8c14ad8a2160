// Common code of the CUDA rungs: a product as kernels see it, the numbering of its tiles, and the launches.
//
// Signed zeros. In the canonical result, each chain starts from +0, and the total starts as the sum of the first chain.
// The kernels may start the total from -0 and add every chain, because -0 + x is x for every x. Past its borders A is
// padded with -0 and B with +0. Their product is -0, which changes no sum, so a chain may continue to the end of a
// tile. If both were padded with +0, the product +0 would turn a sum of -0 into +0.
#pragma once

#include "core/phases.hpp"
#include "cuda/check.hpp"
#include "cuda/job.hpp"
#include "cuda/launch.hpp"
#include "cuda/portions.hpp"
#include "matmul/gpu/first_portion.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// The part of a Problem that kernels need.
template <class T>
struct Product {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  Operand<const T> a;
  Operand<const T> b;
  Operand<T> c;
  T alpha;
  T beta;

  explicit Product(const Problem<T>& problem)
      : m(problem.m), n(problem.n), k(problem.k), a(problem.a), b(problem.b), c(problem.c), alpha(problem.alpha),
        beta(problem.beta) {}

  __device__ void select(std::int64_t batch) {
    a = a.at(batch);
    b = b.at(batch);
    c = c.at(batch);
  }
  /// Loads an element. Past the borders, returns a value that changes no sum.
  __device__ T load_a(std::int64_t row, std::int64_t inner) const {
    return row < m && inner < k ? a(row, inner) : T(-0.0);
  }
  __device__ T load_b(std::int64_t inner, std::int64_t column) const {
    return inner < k && column < n ? b(inner, column) : T(0);
  }
  __device__ void finish(std::int64_t row, std::int64_t column, T total) const {
    if (row < m && column < n) finish(c(row, column), total);
  }
  __device__ void finish(T& cell, T total) const { cell = finished(total, alpha, beta, beta == 0 ? T(0) : cell); }
};

/// The tiles of C for a batch, numbered row by row, one product after another. A block computes one tile.
struct Tiles {
  std::int64_t across = 1;        ///< number of tiles in a row of tiles
  std::int64_t of_a_product = 1;  ///< number of tiles in a product
  std::int64_t first = 0;         ///< first tile of the launch

  struct Place {
    std::int64_t batch;
    std::int64_t row;  ///< row of tiles
    std::int64_t column;
  };
  __device__ Place place() const {
    const std::int64_t tile = first + blockIdx.x;
    const std::int64_t within = tile % of_a_product;
    return {tile / of_a_product, within / across, within % across};
  }
  /// Returns the position of the tile with this number. Eight rows of tiles form a strip. The strips are numbered one
  /// after another, and the tiles of a strip column by column. Consecutive tiles run concurrently and, in this order,
  /// share A and B in the L2 cache.
  __device__ Place place_in_strips(std::int64_t tile) const {
    constexpr std::int64_t rows_at_once = 8;
    const std::int64_t within = tile % of_a_product;
    const std::int64_t first_row = within / (rows_at_once * across) * rows_at_once;
    const std::int64_t rows = min(rows_at_once, of_a_product / across - first_row);
    const std::int64_t place = within - first_row * across;
    return {tile / of_a_product, first_row + place % rows, place / rows};
  }
};

template <class T>
Tiles tiles_of(const Problem<T>& problem, std::int64_t rows, std::int64_t columns) {
  Tiles tiles;
  tiles.across = (problem.n + columns - 1) / columns;
  tiles.of_a_product = (problem.m + rows - 1) / rows * tiles.across;
  return tiles;
}

/// Calls launch(product, tiles, blocks) until all tiles of rows x columns elements are computed. Each call must launch
/// `blocks` blocks. Long work is divided into several launches so that a stop request takes effect in time.
template <class T, class Launch>
void for_tiles(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases, std::int64_t rows,
               std::int64_t columns, const Launch& launch) {
  const core::PhaseTimer timer(phases, "multiply");
  Tiles tiles = tiles_of(problem, rows, columns);
  const std::int64_t count = problem.batches * tiles.of_a_product;
  const double operations = static_cast<double>(rows * columns) * static_cast<double>(problem.k);
  const cuda::Stream& stream = problem.gpu->stream();
  cuda::Portions(problem.stop, first_portion<T>())
      .run(count, operations, 1, stream, [&](std::int64_t first, std::int64_t number) {
        if (execution.progress) execution.progress({"multiply", first, count, {}});
        tiles.first = first;
        launch(Product<T>(problem), tiles, static_cast<unsigned int>(number));
      });
  stream.wait();
}

}  // namespace gradus::matmul_detail
