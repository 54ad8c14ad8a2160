// Of simd_packed: a single row of A times a B that comes from memory, row after row, and is read once: the memory's
// bandwidth is all that counts.
//
// The chains of 256 terms do not wait for each other. So a piece of work is one chain of each of some columns, 256 rows
// of B long, and threads take the next piece whenever they are ready: processors that share a core, or a memory
// channel with a neighbour, are not equally fast. Sums of chains, 1/256 of B, are added in order at the end.
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
  /// Whether a product is one of a row: m = 1, rows of B in memory that the second cache does not hold.
  static bool suits(const Problem<T>& problem, Geometry geometry);

  /// `sums`: sums_of() elements.
  RowProduct(const Problem<T>& problem, T* sums, int threads)
      : problem_(problem), sums_(sums), blocks_((problem.k + block_depth - 1) / block_depth),
        strips_((problem.n + columns_of_a_piece - 1) / columns_of_a_piece), pieces_(blocks_ * strips_, threads, 1) {}

  /// Sums of chains that wait to be added.
  static std::int64_t sums_of(std::int64_t n, std::int64_t k) { return (k + block_depth - 1) / block_depth * n; }

  /// By each thread of the team: chains until there are none left. Returns early after a stop request.
  void chain(int thread);
  /// By each, when all have done that: adds the sums of these columns.
  void add(cpu::Range columns) const;

 private:
  static constexpr std::int64_t columns_of_a_piece = 16384 / sizeof(T);  ///< chains of them stay in the first cache

  const Problem<T>& problem_;
  T* sums_;
  std::int64_t blocks_;
  std::int64_t strips_;
  cpu::SharedWork pieces_;
};

}  // namespace gradus::matmul_detail
