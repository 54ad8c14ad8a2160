// A checked call of matmul().
#pragma once

#include <cstdint>
#include <string>

#include "execution/request.hpp"
#include "matmul/gpu/operands.hpp"
#include "matmul/input.hpp"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

template <class T>
std::string size_of(MatmulView<T> view) {
  return std::to_string(view.rows()) + " x " + std::to_string(view.columns());
}

/// Returns the number of products in the batch. Throws UsageError if A and B cannot be multiplied.
template <class A, class B>
std::int64_t batches_of(MatmulView<const A> a, MatmulView<const B> b) {
  if (a.columns() != b.rows())
    throw UsageError("A (" + size_of(a) + ") has " + std::to_string(a.columns()) + " columns, and B (" + size_of(b) +
                     ") " + std::to_string(b.rows()) + " rows; these numbers must be the same");
  if (a.batches() == b.batches() || b.batches() == 1) return a.batches();
  if (a.batches() == 1) return b.batches();
  throw UsageError("A is a batch of " + std::to_string(a.batches()) + " matrices and B one of " +
                   std::to_string(b.batches()) + "; these numbers must be the same, or one of them 1");
}

/// Replaces a batch by one product with the same result, in two cases. In the first case, all products share one B, the
/// matrices A are stacked vertically in memory, and so are the matrices C. In the second case, all products share one
/// A, the matrices B are adjacent horizontally, and so are the matrices C.
template <class T>
void join_batch(Problem<T>& problem) {
  // The product of the sizes of a nonempty matrix fits in 64 bits. If one size is 0, the other sizes may be too large
  // to multiply.
  if (problem.batches <= 1 || problem.m == 0 || problem.n == 0 || problem.k == 0) return;
  const auto below = [&](const auto& operand) { return operand.batch_stride == problem.m * operand.row_stride; };
  const auto beside = [&](const auto& operand) { return operand.batch_stride == problem.n * operand.column_stride; };
  if (problem.b.batch_stride == 0 && below(problem.a) && below(problem.c)) problem.m *= problem.batches;
  else if (problem.a.batch_stride == 0 && beside(problem.b) && beside(problem.c)) problem.n *= problem.batches;
  else return;
  problem.batches = 1;
}

template <class T, class A, class B>
struct Call {
  const MatmulOptions& options;
  Input<T, A> a;
  Input<T, B> b;
  MatmulView<T> c;
  bool given = false;  ///< true if C is in memory that the caller passed
  bool reads = false;  ///< true if the call reads A and B; otherwise their contents may be arbitrary
  std::int64_t batches = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  execution::NamedPlace places[3] = {};
  Execution execution = {};
  OnGpu there = {};

  /// Returns the whole operand, or an empty view if the call does not read the operand.
  template <class From>
  MatmulView<const T> read(const Input<T, From>& input) const {
    return reads ? input.view() : MatmulView<const T>();
  }

  Problem<T> problem() const {
    Problem<T> of = problem_of<T>(a.view(), b.view(), c, options.alpha, options.beta);
    of.stop = execution.stop;
    return of;
  }

  Problem<T> joined_problem() const {
    Problem<T> of = problem();
    join_batch(of);
    return of;
  }
};

/// Throws UsageError or UnsupportedError if the product is not defined or its result does not fit in memory.
template <class T, class A, class B>
Call<T, A, B> check(MatmulView<const A> a, MatmulView<const B> b, const MatmulOptions& options,
                    const MatmulMemory<T>& memory, const Execution& asked) {
  Call<T, A, B> call{.options = options, .a = {a, "A"}, .b = {b, "B"}, .c = memory.product};
  call.batches = batches_of(a, b);
  call.m = a.rows();
  call.n = b.columns();
  execution::check_size({call.batches, call.m, call.n, static_cast<std::int64_t>(sizeof(T))}, "C");
  call.reads = static_cast<T>(options.alpha) != 0 && call.batches > 0 && call.m > 0 && call.n > 0;
  call.given = call.c.data() != nullptr || call.c.rows() != 0 || call.c.columns() != 0;
  if (call.given) {
    check_result(call.c, call.batches, call.m, call.n);
    check_apart(call.c, a, "A");
    check_apart(call.c, b, "B");
  } else if (static_cast<T>(options.beta) != 0) {
    throw UsageError("beta is " + std::to_string(options.beta) + ", but there is no C to be multiplied by it");
  }
  call.places[0] = {a.place(), "A"};
  call.places[1] = {b.place(), "B"};
  call.places[2] = {call.c.place(), "C"};
  call.execution = execution::run_on_gpu_of_views<Variant>(call.places, variants(), Room::name, asked);
  call.there = {!a.place().is_host(), !b.place().is_host(), !call.c.place().is_host()};
  if (!call.given) call.c = MatmulView<T>(nullptr, call.m, call.n, call.n, 1).batch(call.batches, call.m * call.n);
  return call;
}

}  // namespace gradus::matmul_detail
