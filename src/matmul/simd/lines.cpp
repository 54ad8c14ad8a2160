#include "matmul/simd/lines.hpp"

#include <algorithm>

#include "core/stop.hpp"
#include "execution/machine.hpp"

namespace gradus::matmul_detail {

namespace {

constexpr std::int64_t granule = 32;   // number of lines in flight at once
constexpr std::int64_t portion = 512;  // number of lines whose sums are held at a time

}  // namespace

std::int64_t lines_of_a_piece(std::int64_t lines, int threads) { return lines < granule * threads ? 8 : granule; }

template <class T>
void multiply_lines(const Problem<T>& problem, cpu::Range own) {
  T totals[Lines<T>::most_few * portion];
  // Limits the work between two polls of the stop request.
  const std::int64_t most_lines =
      std::clamp(core::operations_between_polls / problem.k / granule * granule, granule, portion);
  for (std::int64_t row = own.begin; row < own.end; row += most_lines) {
    Lines<T> lines;
    lines.line_stride = problem.a.row_stride;
    lines.count = std::min(most_lines, own.end - row);
    lines.few_stride = problem.b.column_stride;
    lines.few_step = problem.b.row_stride;
    lines.few_count = problem.n;
    lines.block = block_depth;
    lines.far = static_cast<double>(problem.m) * static_cast<double>(problem.k) * sizeof(T) >
                static_cast<double>(execution::this_machine().layout().l2_bytes);
    lines.totals = totals;
    lines.totals_line = lines.count;
    const std::int64_t most_steps =
        std::max(core::operations_between_polls / most_lines / block_depth, std::int64_t{1}) * block_depth;
    for (std::int64_t step = 0; step < problem.k; step += most_steps) {
      if (problem.stop.stop_requested()) return;
      lines.lines = &problem.a(row, step);
      lines.few = &problem.b(step, 0);
      lines.steps = std::min(most_steps, problem.k - step);
      lines.first = step == 0;
      add_lines(lines);
    }
    const std::int64_t line_stride = problem.c.row_stride;
    if (problem.alpha == 1 && problem.beta == 0 && problem.c.column_stride == 1 && line_stride == problem.n) {
      interleave(Interleaving<T>{totals, problem.n, lines.count, &problem.c(row, 0)});
      continue;
    }
    for (std::int64_t column = 0; column < problem.n; ++column) {
      const T* const of_column = totals + column * lines.count;
      T* const to = &problem.c(row, column);
      if (problem.alpha == 1 && problem.beta == 0) {
        for (std::int64_t line = 0; line < lines.count; ++line)
          to[line * line_stride] = finished(of_column[line], T{1}, T{0}, T{0});
      } else {
        for (std::int64_t line = 0; line < lines.count; ++line)
          to[line * line_stride] =
              finished(of_column[line], problem.alpha, problem.beta, problem.beta == 0 ? T{0} : to[line * line_stride]);
      }
    }
  }
}

template void multiply_lines(const Problem<float>&, cpu::Range);
template void multiply_lines(const Problem<double>&, cpu::Range);

}  // namespace gradus::matmul_detail
