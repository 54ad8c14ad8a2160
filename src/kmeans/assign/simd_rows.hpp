// Vectorised steps around the assignment, shared by the production variants.
#pragma once

#include "core/exact_total.hpp"
#include "cpu/threads.hpp"
#include "kmeans/means/exact_sums.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::int64_t block_points = 1024;  ///< the vectorised variants take points in blocks of so many

/// Writes the indices at which `now` and `before` differ, ascending, and returns how many there are. There is room for
/// `count` of them.
std::int64_t find_changed(const std::int32_t* now, const std::int32_t* before, std::int64_t count, std::int32_t* out);

/// For each of the `count` indices: the point `first + index` leaves cluster before[index] (if that is not negative)
/// and joins now[index].
template <class T>
void move_rows(const Problem<T>& problem, std::int64_t first, const std::int32_t* indices, std::int64_t count,
               const std::int32_t* before, const std::int32_t* now, ExactSums<T>& sums);

/// Exact sums of columns in the making, three raw limbs each (core::TotalGrid). Plain data: it crosses into code
/// compiled for other instruction sets.
struct ColumnLimbs {
  std::int64_t columns;
  const double* to_high;  ///< per column
  double to_low;
  const double* exact_from;  ///< per column: the limbs hold every bit of values that are not smaller
  std::int64_t stride;       ///< from the high limbs to the middle ones, and from those to the low ones
  std::uint64_t* limbs;
};

struct AddedRows {
  std::int64_t count;
  std::int64_t doubtful;  ///< so many of the last of them may have values but zero which the limbs do not hold
};

/// Adds rows to them, up to the first few of which one has values but zero that the limbs do not hold: in their place
/// it adds zeros.
template <class T>
AddedRows add_to_columns(const T* rows, std::int64_t row_stride, std::int64_t count, const ColumnLimbs& columns);

/// Adds the products w * D(x, c_label) of a block of at most block_points, each rounded to 53 bits.
template <class T>
void add_inertia(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels, cpu::Range block,
                 core::ExactTotal& total);

/// Such a sum, rounded once. On ranks it is only a part, which goes to Problem::rank_inertia.
template <class T>
double round_inertia(const Problem<T>& problem, const core::ExactTotal& total) {
  if (problem.rank_inertia != nullptr) {
    *problem.rank_inertia = total.sum(problem.statistics.inertia, problem.statistics.weight_exponent);
    return 0;
  }
  return total.sum(problem.statistics.inertia, problem.statistics.weight_exponent).template round<double>();
}

/// The same over all points.
template <class T>
double total_inertia(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels, int threads);

}  // namespace gradus::kmeans_detail
