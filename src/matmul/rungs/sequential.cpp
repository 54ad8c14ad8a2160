// sequential: the textbook's three loops. Each element of C is the inner product of a row of A and a column of B.
//
// Work: m n k multiplications and additions. Each element of C reads a row of A and a column of B. Consecutive elements
// of a column are a whole row apart in memory, so each comes from a different cache line. Once B outgrows the caches,
// each line is evicted before its other elements are used. Each addition waits about four clocks for the previous
// addition. The rate is therefore one product per four clocks, however wide the vector registers are.
// Limits: none. Runs on one core. Rounds every product and every sum, in the order of k.
// Source: the definition.
#include <algorithm>

#include "core/phases.hpp"
#include "matmul/problem.hpp"
#include "matmul/textbook.hpp"

namespace gradus::matmul_detail {

template <class T>
Done sequential(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "multiply");
  const std::int64_t columns = core::chunk_length(problem.n, problem.k);
  const std::int64_t rows = core::chunk_length(problem.m, problem.n * problem.k);
  for_blocks(problem, execution, rows, columns, [&](auto a, auto b, auto c, const Block& block) {
    for (std::int64_t row = block.row; row < block.end_row(); ++row)
      for (std::int64_t column = block.column; column < block.end_column(); ++column) {
        T total = 0;
        for_depths(problem, 1, [&](std::int64_t first, std::int64_t end) {
          for (std::int64_t inner = first; inner < end; ++inner) total += a(row, inner) * b(inner, column);
        });
        T& result = c(row, column);
        result = finished(total, problem.alpha, problem.beta, problem.beta == 0 ? T{0} : result);
      }
  });
  return {};
}

extern constinit const Variant sequential_rung{
    .name = "sequential",
    .summary = "the textbook's three loops on one core",
    .contract = textbook,
    .backend = core::Backend::sequential,
    .run = {sequential<float>, sequential<double>},
};

}  // namespace gradus::matmul_detail
