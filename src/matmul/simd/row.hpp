// Part of simd_packed: multiplies a single row of A by a matrix B that is read once from memory, row by row. Memory
// bandwidth alone limits the speed.
//
// The chains of 256 terms are independent. A piece of work is one chain for each of several columns, and it reads 256
// rows of B. A thread takes the next piece when it has finished its previous piece, because cores that share execution
// units or a memory channel are not equally fast. The sums of the chains take 1/256 of the memory of B. They are added
// in order at the end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/threads.hpp"
#include "matmul/problem.hpp"
#include "matmul/simd/kernels.hpp"

namespace gradus::matmul_detail {

template <class T>
class RowProduct {
 public:
  /// Returns true if the product has a single row of A, B is contiguous along rows, and B exceeds the L2 cache.
  static bool suits(const Problem<T>& problem, Geometry geometry);

  /// `sums` must have space for sums_of() elements.
  RowProduct(const Problem<T>& problem, T* sums, int threads)
      : problem_(problem), sums_(sums), blocks_((problem.k + block_depth - 1) / block_depth),
        strips_((problem.n + columns_of_a_piece - 1) / columns_of_a_piece), pieces_(blocks_ * strips_, threads, 1) {}

  /// Returns the number of chain sums.
  static std::int64_t sums_of(std::int64_t n, std::int64_t k) { return (k + block_depth - 1) / block_depth * n; }

  /// Computes chains until none are left. Every thread of the team must call it. Returns early after a stop request.
  void chain(int thread);
  /// Adds the chain sums of these columns. Every thread must call it, after all threads have returned from chain().
  void add(cpu::Range columns) const;

 private:
  static constexpr std::int64_t columns_of_a_piece = 16384 / sizeof(T);  ///< the chains of a piece fit in the L1 cache

  const Problem<T>& problem_;
  T* sums_;
  std::int64_t blocks_;
  std::int64_t strips_;
  cpu::SharedWork pieces_;
};

}  // namespace gradus::matmul_detail
