// openmp: the rows of C are shared among threads, and the two inner loops are swapped. A row of C becomes the sum of
// all rows of B, each multiplied by an element of A.
//
// What changes from `sequential`: the rows of C are independent, so each thread computes some of them. The innermost
// loop runs over columns, so it accesses contiguous elements of a row of B and contiguous sums. Every byte of a cache
// line is used, and the compiler puts several columns into one vector register. The sums of different columns do not
// wait for each other.
//
// Work: m n k multiplications and additions. Bytes: each multiply-add loads an element of B and a sum, and stores the
// sum. If B fits in a cache, these accesses stay in the cache. Each row of C reads all of B.
// Limits: each thread needs a row of sums in addition to the matrices. Rounds every product and every sum, in the order
// of k.
// Source: G. H. Golub, C. F. Van Loan, "Matrix Computations", the "ikj" order, by rows (saxpy).
#include <algorithm>

#include "core/checked.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "matmul/problem.hpp"
#include "matmul/textbook.hpp"

namespace gradus::matmul_detail {

template <class T>
Done openmp(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "multiply");
  const int threads = cpu::thread_count(execution);
  const std::int64_t columns = core::chunk_length(problem.n, 1);
  const std::int64_t rows = threads * core::chunk_length(problem.m, problem.n * problem.k, threads);
  for_blocks(problem, execution, rows, columns, [&](auto a, auto b, auto c, const Block& block) {
#pragma omp parallel num_threads(threads)
    {
      Buffer<T> totals(block.columns);
#pragma omp for schedule(static)
      for (std::int64_t row = block.row; row < block.end_row(); ++row) {
        std::fill_n(totals.data(), block.columns, T{0});
        for_depths(problem, block.columns, [&](std::int64_t first, std::int64_t end) {
          for (std::int64_t inner = first; inner < end; ++inner) {
            const T factor = a(row, inner);
            if (b.column_stride == 1) {
              const T* const row_of_b = &b(inner, block.column);
              for (std::int64_t column = 0; column < block.columns; ++column)
                totals[column] += factor * row_of_b[column];
            } else {
              for (std::int64_t column = 0; column < block.columns; ++column)
                totals[column] += factor * b(inner, block.column + column);
            }
          }
        });
        for (std::int64_t column = 0; column < block.columns; ++column) {
          T& result = c(row, block.column + column);
          result = finished(totals[column], problem.alpha, problem.beta, problem.beta == 0 ? T{0} : result);
        }
      }
    }
  });
  return {};
}

namespace {

core::Memory row_of_sums(const Shape& shape, int threads) {
  const std::int64_t columns = std::min(shape.n, core::chunk_length(shape.n, 1));
  return {.host = core::checked_multiply(
              core::checked_multiply(static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(threads), "sums"),
              static_cast<std::uint64_t>(shape.element_bytes), "sums")};
}

}  // namespace

extern constinit const Variant openmp_rung{
    .name = "openmp",
    .summary = "rows among threads; columns innermost, side by side in memory",
    .change = "neighbouring columns share vectors and cache lines, and their sums do not wait",
    .contract = textbook,
    .backend = core::Backend::openmp,
    .memory = row_of_sums,
    .run = {openmp<float>, openmp<double>},
};

}  // namespace gradus::matmul_detail
