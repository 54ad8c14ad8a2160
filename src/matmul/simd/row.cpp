#include "matmul/simd/row.hpp"

#include "execution/machine.hpp"

namespace gradus::matmul_detail {

template <class T>
bool RowProduct<T>::suits(const Problem<T>& problem, Geometry geometry) {
  const double bytes = static_cast<double>(problem.k) * static_cast<double>(problem.n) * sizeof(T);
  return geometry.masks && problem.m == 1 && problem.b.column_stride == 1 && problem.n >= geometry.vector &&
         bytes > static_cast<double>(execution::this_machine().layout().l2_bytes);
}

template <class T>
void RowProduct<T>::chain(int thread) {
  for (cpu::Range own = pieces_.next(thread); own.size() > 0; own = pieces_.next(thread)) {
    if (problem_.stop.stop_requested()) return;
    const std::int64_t block = own.begin / strips_;
    const std::int64_t column = own.begin % strips_ * columns_of_a_piece;
    RowChains<T> job;
    job.row = &problem_.a(0, block * block_depth);
    job.row_step = problem_.a.column_stride;
    job.b = &problem_.b(block * block_depth, column);
    job.b_step = problem_.b.row_stride;
    job.steps = std::min(block_depth, problem_.k - block * block_depth);
    job.columns = std::min(columns_of_a_piece, problem_.n - column);
    job.sums = sums_ + block * problem_.n + column;
    chain_row(job);
  }
}

template <class T>
void RowProduct<T>::add(cpu::Range columns) const {
  if (problem_.stop.stop_requested()) return;
  for (std::int64_t block = 1; block < blocks_; ++block) {
    const T* const next = sums_ + block * problem_.n;
    for (std::int64_t column = columns.begin; column < columns.end; ++column)
      sums_[column] = sums_[column] + next[column];
  }
  for (std::int64_t column = columns.begin; column < columns.end; ++column) {
    T& result = problem_.c(0, column);
    result = finished(sums_[column], problem_.alpha, problem_.beta, problem_.beta == 0 ? T{0} : result);
  }
}

template class RowProduct<float>;
template class RowProduct<double>;

}  // namespace gradus::matmul_detail
