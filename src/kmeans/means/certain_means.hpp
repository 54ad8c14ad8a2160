// Computes the rounded means of integer sums with vectors of doubles. If the precision of doubles does not suffice to
// round a mean correctly, core::certified_quotient computes this mean with 128-bit integers, at ten times the cost.
//
// A sum is S = high 2^bits + low, in units of one step of the grid. S differs from the sum of the points by less than
// `count` steps. Let a be `high` rounded to a double, b the rounding error high - a, and c be `low` rounded to a
// double. Then S = a 2^bits + t with t = b 2^bits + c, up to the rounding of c and t. Knuth's sum gives a 2^bits + t as
// a sum of two doubles, s + e. Let q be s / count, rounded. A fused multiply-add gives the remainder s - q count. With
// r = (remainder + e) / count, the mean is q + r. Its error is at most
//
//   1 + (2^10 + 2^-51 |t|) / count + 2^-100 |q|
//
// steps. The code uses twice this bound. The error is 0 if three conditions hold: no point lost anything to the grid,
// count is a power of two, and no operation above rounded its result. An error of 0 decides ties, which are common in
// small clusters.
//
// Let T be the type of the means. Suppose that both ends of the error interval around q + r round to the same number of
// T, and that this number is neither zero nor near the ends of T's range. Then the exact mean also rounds to this
// number, because rounding is monotone.
#pragma once

#include <cstdint>

namespace gradus::kmeans_detail {

/// The sums of a cluster whose points have no weights. The struct is plain data, because code compiled for other
/// instruction sets reads it.
struct ClusterSums {
  const std::int64_t* high;  ///< per column, raw: each of the `count` addends includes the bits of the magic number
  const std::int64_t* low;
  std::int64_t count;
  std::int64_t columns;
  double to_low;          ///< 2^bits
  const double* to_high;  ///< per column: the scale to the high limb, see core::Grid
  bool exact;             ///< true if no point lost anything to the grid
};

/// Writes the means of all columns. Stores the indices of the columns with uncertain means in `open`, in ascending
/// order, and returns how many there are. `open` must have space for the indices of all columns and for 16 more
/// indices.
template <class T>
std::int64_t certain_means(const ClusterSums& sums, T* means, std::int32_t* open);

/// Converts each column's sum by core::two_doubles(), and applies core::quotient_less() to the result, `count` and
/// `middle`. Uses vectors, but the results have the same bits as with these functions. If the machine has no suitable
/// vectors, or if they cannot represent a column's step, returns false and writes nothing.
bool means_from_middle(const ClusterSums& sums, const double* middle, double* out);

}  // namespace gradus::kmeans_detail
