/// Pair counts in two dimensions, as astronomers count pairs of galaxies: across and along the line of sight (r_p, pi),
/// or by separation and direction (s, mu). The counts are exact.
///
/// Canonical result. All quantities are real numbers, computed without rounding from the stored coordinates. Let
/// d = x_i - x_j. In a periodic box with the lengths L, |d_k| is replaced by min(|d_k|, L_k - |d_k|), the separation of
/// the nearest images.
///
/// * With a fixed line of sight z (or x or y): pi = |d_z|, r_p^2 = d_x^2 + d_y^2, s^2 = r_p^2 + pi^2, mu = pi / s.
/// * With the line of sight through the midpoint, seen from an observer at the origin: let l = x_i + x_j. Then
///   pi = |d . l| / |l|, s = |d|, r_p^2 = s^2 - pi^2, mu = pi / s. If l = 0, pi = 0.
/// * If s = 0, mu = 0.
/// * Bin (i, k) holds the pairs with edges[i] <= r_p (or s) < edges[i + 1] and second_edges[k] <= pi (or mu) <
///   second_edges[k + 1]. Edges are the given doubles. A pair exactly on an edge belongs to the bin above the edge, so
///   a pair with mu = 1 is in no bin if the last edge of mu is 1.
///
/// A filter in single precision decides the pairs that are farther from all edges than its error bound. Exact
/// arithmetic decides the others. The result therefore depends neither on the number of threads and ranks nor on the
/// instruction set. Weighted sums are exact and rounded once, as for pair_histogram().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/names.hpp"
#include "gradus/pair_histogram.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

enum class PairCountsKind : std::uint8_t {
  rp_pi,  ///< across and along the line of sight
  s_mu,   ///< separation, and cosine of the angle to the line of sight
  theta   ///< angle on the sky, in degrees; points are unit vectors (see sky_vectors()), and there is one bin of mu
};

enum class LineOfSight : std::uint8_t { x, y, z, midpoint };

}  // namespace gradus

template <>
inline constexpr auto gradus::enum_names<gradus::PairCountsKind> =
    std::to_array<gradus::EnumName<gradus::PairCountsKind>>({{gradus::PairCountsKind::rp_pi, "rp_pi"},
                                                             {gradus::PairCountsKind::s_mu, "s_mu"},
                                                             {gradus::PairCountsKind::theta, "theta"}});

template <>
inline constexpr auto gradus::enum_names<gradus::LineOfSight> =
    std::to_array<gradus::EnumName<gradus::LineOfSight>>({{gradus::LineOfSight::x, "x"},
                                                          {gradus::LineOfSight::y, "y"},
                                                          {gradus::LineOfSight::z, "z"},
                                                          {gradus::LineOfSight::midpoint, "midpoint"}});

namespace gradus {

struct PairCountsOptions {
  PairCountsKind kind = PairCountsKind::rp_pi;
  /// Edges of the bins of r_p, s or theta: at least two, non-negative, strictly increasing. The last edge of r_p, pi
  /// and s is at least 2^-960. Angles are in degrees, at most 180, and the last one is at least 2^-400. The square of
  /// an angle's chord, 4 sin^2(theta / 2), is rounded to double and compared with s^2.
  std::vector<double> edges = {};
  /// Edges of the bins of pi or mu, as `edges`. `theta` has none.
  std::vector<double> second_edges = {};
  LineOfSight line_of_sight = LineOfSight::z;  ///< not used by `theta`
  /// Three lengths of a periodic box, with a fixed line of sight. Empty: open space. The points may be anywhere within
  /// one length of each other in each column, so the box needs no origin.
  std::vector<double> box = {};
};

/// Optional inputs, in addition to the points. PairHistogramMemory describes `others` and the weights.
template <class T>
struct PairCountsMemory : PairHistogramMemory<T> {
  /// The region of each point and of each row of `others`, from 0 on, or empty. With `others`, both are given or none.
  VectorView<const std::int32_t> regions = {};
  VectorView<const std::int32_t> other_regions = {};
};

/// Counts per bin (i, k) are at i * columns + k.
struct PairCountsResult {
  std::int64_t rows = 0;     ///< number of bins of r_p, s or theta
  std::int64_t columns = 0;  ///< number of bins of pi or mu; 1 for theta
  std::int64_t regions = 0;  ///< greatest region plus one; 0 without regions
  std::vector<std::uint64_t> counts;
  std::vector<double> weighted;  ///< sums of the products of weights; empty without weights
  /// For each region, the counts of all pairs with a point in the region (or both), one table after the other.
  std::vector<std::uint64_t> region_counts;
  std::vector<double> region_weighted;
  std::uint64_t pairs = 0;  ///< total number of pairs: n (n - 1) / 2, or n m
  RunReport report;         ///< `rechecked` is the share of all pairs that the filter left to exact arithmetic
};

namespace detail {

// The template below calls this function. libgradus instantiates it for float and double.
template <class T>
GRADUS_EXPORT PairCountsResult pair_counts(MatrixView<const T> points, const PairCountsOptions& options,
                                           const PairCountsMemory<T>& memory, const Execution& execution);

}  // namespace detail

/// Counts the pairs of rows of `points` (n x 3), or the pairs of a row of `points` and a row of `memory.others`. Each
/// pair counts once. Runs on the CPU. Supports ranks (Execution::communicator): every rank passes the same arguments
/// and receives the whole result.
///
/// Throws UsageError for invalid edges, options and views, and if the bins reach past half of the box. Throws
/// InputError for coordinates that are NaN, infinite or above 2^500, for points farther apart than the box, for
/// coordinates beyond 2^40 times the reach of the bins with the line of sight through the midpoint, and for negative
/// regions. Throws UnsupportedError if a GPU is requested or holds the data, OutOfMemoryError if memory does not
/// suffice, and InterruptedError after a stop request.
///
/// Complexity: O(n) times the number of points within reach of a point. Memory: 40 bytes per point, and 8 bytes per
/// bin, region and thread.
template <RowsOf<float, double> Points>
PairCountsResult pair_counts(const Points& points, const PairCountsOptions& options,
                             const PairCountsMemory<ElementOf<Points>>& memory = {}, const Execution& execution = {}) {
  return detail::pair_counts<ElementOf<Points>>(view_of(points), options, memory, execution);
}

/// Returns the unit vectors (x, y, z) of directions (right ascension, declination) in degrees, n x 2, as n x 3 values:
/// x = cos(dec) cos(ra), y = cos(dec) sin(ra), z = sin(dec). The multiples of 90 degrees are exact. Each sine and
/// cosine has an error of less than 0.51 units in the last place and the same bits on every machine. Throws InputError
/// if a value is not finite or if a declination is beyond 90 degrees.
GRADUS_EXPORT std::vector<double> sky_vectors(MatrixView<const double> directions);

}  // namespace gradus
