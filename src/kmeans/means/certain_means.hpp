// Computes means of integer sums by vectors of doubles, in the cases in which doubles decide the rounding of the exact
// mean. 128-bit integers (core::certified_quotient) decide the other cases at ten times the cost.
//
// A sum is S = high 2^bits + low in steps of the grid. Let a be `high` rounded to a double, b its rest, and c be `low`
// rounded. Then S = a 2^bits + (b 2^bits + c), up to the rounding of c and of t, the sum in brackets. S differs from
// the sum of the points by less than `count` steps. The mean is q + r, where s + e is the sum as two doubles (Knuth), q
// = s / count rounded, `remainder` the remainder of q by fused multiply-add, and r = (remainder + e) / count. Its error
// is at most
//
//   1 + (2^10 + 2^-51 |t|) / count + 2^-100 |q|
//
// steps; the code doubles this. The error is 0 if no point lost anything to the grid, count is a power of two and no
// operation above rounded its result. An error of 0 decides ties, which are common in small clusters. Suppose that q
// plus each end of the error interval rounds to the same number of T, and that this number is neither zero nor near the
// ends of T's range. Then the exact mean also rounds to this number, because rounding is monotone.
#pragma once

#include <cstdint>

namespace gradus::kmeans_detail {

/// The sums of a cluster without weights. Plain data, because code compiled for other instruction sets reads it.
struct ClusterSums {
  const std::int64_t* high;  ///< per column, raw: each of `count` addends includes the bits of the magic number
  const std::int64_t* low;
  std::int64_t count;
  std::int64_t columns;
  double to_low;          ///< 2^bits
  const double* to_high;  ///< scale to the high limb of each column: see core::Grid
  bool exact;             ///< true if no point lost anything to the grid
};

/// Writes the means. Stores the columns whose means are not certain in `open`, in ascending order, and returns their
/// number. `open` needs room for all columns and 16 more.
template <class T>
std::int64_t certain_means(const ClusterSums& sums, T* means, std::int32_t* open);

/// Converts each column's sum by core::two_doubles() and computes core::quotient_less() of the result, `count` and
/// `middle`, with the same bits but by vectors. Returns false and writes nothing if the machine has no suitable vectors
/// or a column's step is out of their range.
bool means_from_middle(const ClusterSums& sums, const double* middle, double* out);

}  // namespace gradus::kmeans_detail
