// What the CUDA rungs share: a product as kernels see it, the numbers of its tiles, and the launches.
//
// Two zeros. A chain of the canonical result starts from +0, and the total of its chains from the first of them; a
// total that starts from -0 is the same, for -0 + x is x, whatever x. Beyond its borders A is -0 and B is +0: the
// product of these is -0, which changes no sum, so that chains may run on to the end of a tile. With +0 in both a sum
// of -0 would become +0.
#pragma once

#include "core/phases.hpp"
#include "cuda/check.hpp"
#include "cuda/job.hpp"
#include "cuda/launch.hpp"
#include "cuda/portions.hpp"
#include "matmul/gpu/first_portion.hpp"
#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

/// A Problem without what is of no use to a kernel.
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

  /// Moves to one of the batch.
  __device__ void select(std::int64_t batch) {
    a = a.at(batch);
    b = b.at(batch);
    c = c.at(batch);
  }
  /// Elements as if the matrices had no borders.
  __device__ T load_a(std::int64_t row, std::int64_t inner) const {
    return row < m && inner < k ? a(row, inner) : T(-0.0);
  }
  __device__ T load_b(std::int64_t inner, std::int64_t column) const {
    return inner < k && column < n ? b(inner, column) : T(0);
  }
  /// The end of an element's computation.
  __device__ void finish(std::int64_t row, std::int64_t column, T total) const {
    if (row < m && column < n) finish(c(row, column), total);
  }
  __device__ void finish(T& cell, T total) const { cell = finished(total, alpha, beta, beta == 0 ? T(0) : cell); }
};

/// The tiles of C for all products of a batch, numbered along the rows of tiles, product after product. A block has
/// one.
struct Tiles {
  std::int64_t across = 1;        ///< side by side
  std::int64_t of_a_product = 1;  ///< altogether
  std::int64_t first = 0;         ///< of the launch

  struct Place {
    std::int64_t batch;
    std::int64_t row;  ///< counted in tiles
    std::int64_t column;
  };
  /// Where the block's tile lies.
  __device__ Place place() const {
    const std::int64_t tile = first + blockIdx.x;
    const std::int64_t within = tile % of_a_product;
    return {tile / of_a_product, within / across, within % across};
  }
  /// Where a tile lies if eight rows of tiles are taken at a time, column after column of them: those that follow each
  /// other, which are worked on together, share A and B in the second-level cache.
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

/// Calls launch(product, tiles, blocks), which launches so many blocks, until all tiles of rows x columns were worked
/// on; long work is cut where a stop request is honoured.
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
