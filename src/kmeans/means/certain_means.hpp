// Means of integer sums by vectors of doubles, where those tell what the exact mean rounds to. Integers of 128 bits
// have the last word elsewhere (core::certified_quotient), at ten times the price.
//
// A sum is S = high 2^bits + low, in steps of the grid. With a = high rounded to a double, b the rest of it and c = low
// rounded, S is a 2^bits + (b 2^bits + c) but for the roundings of c and of the sum in brackets, which is t; and S
// differs from the sum of the points by less than `count` steps. A sum s + e of two doubles (Knuth), the quotient q = s
// / count rounded, its remainder by a fused multiply-add, and r = (remainder + e) / count give the mean as q + r, with
// an error of at most
//
//   1 + (2^10 + 2^-51 |t|) / count + 2^-100 |q|
//
// steps. That is doubled. It is 0 where no point lost anything to the grid, count is a power of two and nothing above
// was rounded: so ties are decided, which small clusters often have. Where the sums of q and of both ends of what is
// left all round to one number of T, which is neither zero nor near the ends of T's range, the exact mean rounds to it
// as well, for rounding is monotone.
#pragma once

#include <cstdint>

namespace gradus::kmeans_detail {

/// The sums of a cluster without weights. Plain data: it crosses into code compiled for other instruction sets.
struct ClusterSums {
  const std::int64_t* high;  ///< per column, raw: with the magic number's bits `count` times
  const std::int64_t* low;
  std::int64_t count;
  std::int64_t columns;
  double to_low;          ///< 2^bits
  const double* to_high;  ///< per column: see core::Grid
  bool exact;             ///< whether no point lost anything to the grid
};

/// Writes the means, and the columns in which they are not certain, ascending, to `open`, which has room for all of
/// them and 16 more; returns how many those are.
template <class T>
std::int64_t certain_means(const ClusterSums& sums, T* means, std::int32_t* open);

/// core::quotient_less() of each column's sum by core::two_doubles() and `count`, less `middle`, to the bit, by
/// vectors. False, and nothing written, where the machine has none that are fit for it, or a column's step is out of
/// their range.
bool means_from_middle(const ClusterSums& sums, const double* middle, double* out);

}  // namespace gradus::kmeans_detail
